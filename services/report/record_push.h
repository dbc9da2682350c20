// The records of instances and migrations in the pushes to trackers. Pure functions.
//
// A record concerns a node if it names the node and the node's host, before or after a move: an
// instance concerns the node that it is on, and the nodes of its migrations that concern them. A
// migration concerns its nodes as long as it may hold resources. An evacuation that is `done` still
// concerns its source, which may still have the guest (T-146); but the source is not told of changes
// that concern only the instance. A record that names a host and no node concerns all nodes of this
// host.
#ifndef BERTH_SERVICES_REPORT_RECORD_PUSH_H_
#define BERTH_SERVICES_REPORT_RECORD_PUSH_H_

#include <string>

#include "placement/state/state.h"
#include "placement/values/change.h"
#include "services/report/push_scope.h"

namespace berth::services {

// Adds the id of the record that `change` changes and, for a migration, that of its instance.
void AddRecord(const placement::Change& change, PushScope* scope);

// Adds the ids of all records that may concern a node of `host`.
void NameRecords(const placement::Records& records, const std::string& host, PushScope* scope);

// One node of a tracker.
struct TrackedNode {
  const std::string& host;
  placement::ProviderId id;
};
// Return the record with this id if it concerns the node; otherwise null.
placement::InstancePtr FindFor(const TrackedNode& node, const placement::Records& records,
                               placement::InstanceId id);
placement::MigrationPtr FindFor(const TrackedNode& node, const placement::Records& records,
                                placement::MigrationId id);

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_RECORD_PUSH_H_
