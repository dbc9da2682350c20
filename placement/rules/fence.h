// What a tracker may write of the records of instances and migrations.
//
// A tracker writes only as the newest process of its host, and only about instances that are on its
// host, that move from or to it, or that nobody has placed and that hold something there. A share
// of a sharing provider is held on no host. What is held of the root of a node is held on the
// node's host, unless it is disk of a root that is a sharing provider. A tracker with a certificate
// is told nothing of other records, not even whether there are any. Every rule by which a tracker
// writes a record asks these functions. Pure functions of the state.
#ifndef BERTH_PLACEMENT_RULES_FENCE_H_
#define BERTH_PLACEMENT_RULES_FENCE_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "placement/commands/record.h"
#include "placement/state/state.h"
#include "placement/values/faults.h"

namespace berth::placement {

// Adds a fault for each malformed field of the writing tracker, if one is given. The incarnation is
// malformed if it consists of zeros only.
void TrackerFields(Faults& faults, const std::optional<TrackerProcess>& tracker);

// FAILED_PRECONDITION / SERVICE_NOT_REGISTERED if the host has no tracker, or if its service was
// imported and no process has said Hello since. ABORTED / TRACKER_FENCED
// if a newer process has registered as the tracker of the host (T-14). `field`: the path of the
// tracker in the request, followed by a dot; empty if the request itself has the fields.
absl::Status CheckProcess(const State& state, const TrackerProcess& tracker,
                          absl::string_view field);
// The same for the `tracker` of a command. OK if there is none.
absl::Status CheckProcess(const State& state, const std::optional<TrackerProcess>& tracker);

// POLICY_DENIED: the tracker may not change the record of the `kind` with the id, for the reason
// `why`.
absl::Status DenyRecord(const TrackerProcess& tracker, const std::string& kind,
                        const std::string& id, absl::string_view why);

// The next two functions decide what a tracker with a certificate may know of: the records that
// concern its host. They return OK if `tracker` is none or is not identified. Else they return
// PERMISSION_DENIED / POLICY_DENIED for a record that does not concern the host, and the same, word
// for word, for an id that no record has. So they come before every check whose refusal tells
// whether there is a record, or what is in it.

// An instance concerns the host if it is there, if a migration that still holds resources moves it
// from or to the host, or if its consumer holds something of a node of the host. It also concerns
// the host if it is the instance of `move`, a migration that concerns the host. Null: there is none.
absl::Status CheckConcern(const State& state, const std::optional<TrackerProcess>& tracker,
                          InstanceId id, const MigrationPtr& move = nullptr);
// A migration concerns its source and its destination. While it has no destination, it also
// concerns the host on which its instance is, and each host on whose nodes the instance's consumer
// holds something.
absl::Status CheckConcern(const State& state, const std::optional<TrackerProcess>& tracker,
                          MigrationId id);

// The next functions return OK if `tracker` is none, else PERMISSION_DENIED / POLICY_DENIED unless
// the tracker may replace the record `before` by `after`. A null `before` means that there is no
// record yet.

// A tracker may write the record of an instance
// - whose host is the tracker's host;
// - that moves from or to the tracker's host, by a migration that still holds resources;
// - or that has no host or is shelved_offloaded, and whose consumer holds something of a node of
//   the tracker's host.
// Afterwards the instance is on the tracker's host, on the other host of one of these migrations,
// or on no host. If the write changes host or node, and there is a host afterwards, then the node is
// an active one of this host, or host and node are a side of one of these migrations and the node
// is not one of another host. A tracker creates no record of an instance, and changes neither its
// name nor its project nor its user nor its server group. `ending`: the migration that the command ends; it counts as
// one that still holds resources. Null: the command ends none.
absl::Status CheckInstanceWrite(const State& state, const std::optional<TrackerProcess>& tracker,
                                const InstancePtr& before, const InstanceRecord& after,
                                const MigrationPtr& ending = nullptr);

// A tracker may change a migration from or to its host. It may create one, or become the
// destination of one that has none, if the instance is on its host or if the instance's consumer
// holds something of a node of its host. The source of the one that it creates is the instance's
// host and node, as far as the instance has them. It may name only a new destination host that has
// a tracker, and only a new destination node that is an active one of the destination host.
// REQUIRES: the instance has a record.
absl::Status CheckMigrationWrite(const State& state, const std::optional<TrackerProcess>& tracker,
                                 const MigrationPtr& before, const MigrationRecord& after);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_RULES_FENCE_H_
