// ModelState: the same knowledge as a State in plain maps, kept in the most obvious way.
//
// Tests drive both with the same commands and compare them. It works out everything that a State
// keeps ready (use, consumers of a provider, sums of owners, counts, trees) when it is asked.
#ifndef BERTH_TESTS_WORLDS_MODEL_STATE_H_
#define BERTH_TESTS_WORLDS_MODEL_STATE_H_

#include <map>
#include <string>
#include <utility>

#include "placement/state/state.h"
#include "placement/values/change.h"

namespace berth::placement {

struct ModelState {
  std::map<ClassId, std::string> classes;
  std::map<TraitId, std::string> traits;
  std::map<ProviderId, ProviderConfig> providers;
  std::map<ProviderId, Generation> allocation_generations;
  std::map<ConsumerId, Consumer> consumers;
  std::map<std::pair<std::string, std::string>, ServiceRecord> services;
  std::map<ProviderId, NodeRecord> nodes;
  std::map<AggregateId, Aggregate> aggregates;
  std::map<ServerGroupId, ServerGroup> groups;
  std::map<InstanceId, InstanceRecord> instances;
  std::map<MigrationId, MigrationRecord> migrations;

  void Apply(const Changes& changes);
  Amount UsedOf(ProviderId provider, ClassId resource_class) const;
  ProviderId RootOf(ProviderId provider) const;
};

// Fails the running test where `state` tells another story than `model` in anything that can be
// read of it, its columns included.
void ExpectSame(const State& state, const ModelState& model);

}  // namespace berth::placement

#endif  // BERTH_TESTS_WORLDS_MODEL_STATE_H_
