// PushScope: what a tracker is still to be told about one node. The ids in a scope are called
// names: they stand for values, which FillSlice (push_slice.h) looks up later.
#ifndef BERTH_SERVICES_REPORT_PUSH_SCOPE_H_
#define BERTH_SERVICES_REPORT_PUSH_SCOPE_H_

#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "placement/values/instance.h"
#include "placement/values/types.h"

namespace berth::services {

struct PushScope {
  bool complete = false;  // the push has all providers, consumers and records of the node
  std::set<placement::ProviderId> providers;
  std::set<placement::ConsumerId> consumers;
  std::set<placement::InstanceId> instances;
  std::set<placement::MigrationId> migrations;
  bool service = false;  // push the record of the tracker's service

  size_t size() const {
    return providers.size() + consumers.size() + instances.size() + migrations.size();
  }
  bool empty() const { return !complete && !service && size() == 0; }
  // Adds everything that `other` has, and calls Limit.
  void Add(PushScope other) {
    complete |= other.complete;
    service |= other.service;
    providers.merge(other.providers);
    consumers.merge(other.consumers);
    instances.merge(other.instances);
    migrations.merge(other.migrations);
    Limit();
  }
  // If there are more than kNamesMax names, removes all names and sets `complete` instead.
  void Limit() {
    if (size() <= kNamesMax) return;
    PushScope all;
    all.complete = true;
    all.service = service;
    *this = std::move(all);
  }

  static constexpr size_t kNamesMax = 4096;
};

// The scopes of a tracker's nodes.
using PushScopes = std::map<placement::ProviderId, PushScope>;

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_PUSH_SCOPE_H_
