// The records of instances and migrations in the pushes to trackers. Pure functions.
//
// A record concerns a node if its host and node are this node, before or after a move: an instance
// concerns the node that it is on, and the nodes of its migrations that may hold resources. A
// record that names only a host concerns all nodes of this host.
#ifndef BERTH_SERVICES_REPORT_RECORD_PUSH_H_
#define BERTH_SERVICES_REPORT_RECORD_PUSH_H_

#include <string>

#include "berth/placement/v1/report.pb.h"
#include "placement/state/state.h"
#include "placement/values/change.h"
#include "services/report/push_scope.h"

namespace berth::services {

namespace pb = ::berth::placement::v1;

// Adds the ids of the records that may concern a node otherwise after `change` than before it.
void AddRecord(const placement::Change& change, PushScope* scope);

// Fills in the records that `scope` names: those that concern the node, with their values in
// `state`, and the ids of those that do not concern it any more. A complete scope names all records
// that concern the node.
void FillRecords(const placement::State& state, const std::string& host, placement::ProviderId node,
                 const PushScope& scope, pb::Push* to);

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_RECORD_PUSH_H_
