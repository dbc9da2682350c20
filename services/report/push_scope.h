// PushScope: the names of everything that the next push for one node must contain.
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
  bool complete = false;  // push the node's whole tree, all its consumers and all its records
  std::set<placement::ProviderId> providers;
  std::set<placement::ConsumerId> consumers;
  std::set<placement::InstanceId> instances;
  std::set<placement::MigrationId> migrations;
  bool service = false;

  size_t size() const {
    return providers.size() + consumers.size() + instances.size() + migrations.size();
  }
  bool empty() const { return !complete && !service && size() == 0; }
  // Adds everything that `other` names.
  void Add(PushScope other) {
    complete |= other.complete;
    service |= other.service;
    providers.merge(other.providers);
    consumers.merge(other.consumers);
    instances.merge(other.instances);
    migrations.merge(other.migrations);
    Limit();
  }
  // If there are more than kNamesMax names, removes all names and makes the push complete instead.
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
