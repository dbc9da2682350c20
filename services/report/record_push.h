// The records of instances and migrations in the pushes to trackers. Pure functions.
//
// A record names a place by a host and a node, or by a host alone, which then means all nodes of
// this host. A migration that may hold resources (HoldsResources) concerns its source and its
// destination. An evacuation that is `done` still concerns its source, which may still have the
// guest (T-146). An instance concerns the place where it is, and each node that one of its
// migrations concerns. If a command puts only the instance of a `done` evacuation, the evacuation
// causes no push to its source, though (Concerned::hosts).
#ifndef BERTH_SERVICES_REPORT_RECORD_PUSH_H_
#define BERTH_SERVICES_REPORT_RECORD_PUSH_H_

#include <string>

#include "placement/state/state.h"
#include "placement/values/change.h"
#include "services/report/push_scope.h"

namespace berth::services {

// Adds the id of the instance or migration that `change` puts or removes. If `change` puts a
// migration, also adds the id of its instance. Does nothing for changes of other kinds.
void AddRecord(const placement::Change& change, PushScope* scope);

// Adds the ids of all instances and migrations that may concern a node of `host`.
void NameRecords(const placement::Records& records, const std::string& host, PushScope* scope);

// One node of a tracker. The host's name must outlive the value.
struct TrackedNode {
  const std::string& host;
  placement::ProviderId id;
};
// Return the record `id` if there is one and it concerns `node`; otherwise null.
placement::InstancePtr FindFor(const TrackedNode& node, const placement::Records& records,
                               placement::InstanceId id);
placement::MigrationPtr FindFor(const TrackedNode& node, const placement::Records& records,
                                placement::MigrationId id);

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_RECORD_PUSH_H_
