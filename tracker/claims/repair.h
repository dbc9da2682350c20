// Finds the records of instances and migrations that a pass has to correct, because no claim and no
// end of a claim does.
//
// Pure functions. Placement writes the returned records; the account changes when they come back.
#ifndef BERTH_TRACKER_CLAIMS_REPAIR_H_
#define BERTH_TRACKER_CLAIMS_REPAIR_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tracker/account/account.h"
#include "tracker/account/records.h"
#include "tracker/facts/facts.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {

// The records of an instance as they should be. An absent migration stays as it is.
struct Repair {
  Instance instance;
  std::optional<Migration> migration;
  bool ends_move = false;  // the migration ends with the status that it has here
  std::string text;        // for the log
};

// Returns at most one repair for each instance. `guests`: the uuids of all guests of the node.
//
// - An instance that names the node's host and no node gets the node, if its guest is there (T-28).
// - A migration gets the status `error` if the instance has the context of another one (T-129).
// - An evacuation that is `done` ends as `completed` if the guest is no longer on its source, and
//   the instance is on its destination. This releases the allocations on the source (T-146).
//
// Records that could not be read completely are left alone, because the write would lose the rest.
std::vector<Repair> FindRepairs(const NodeAccount& account, const std::set<Uuid>& guests);

// What was being done with an instance when its host stopped.
struct Interruption {
  Instance instance;     // as its record should be
  bool changes = false;  // the record differs from `instance`
  std::string text;      // for the log: what was interrupted, and what people have to do
};

// Finds the instances of the node whose records were last changed before `booted_at`, when the host
// was started, and which are in the middle of something (T-33). Whoever worked on them did so on
// this host, and does so no more. The first line that fits decides:
//
//   deleted, soft-deleted, or in error and          nothing
//     neither being deleted nor moving its disks
//   building, or about to be started                the state becomes `error`, the task goes
//   active or stopped, and being rebuilt            the same
//   a snapshot or a backup is taken, or a resize    the task goes, and the last line follows
//     has just begun
//   paused, unpaused or rebooted, and running       the state becomes `active`, the task goes
//   being deleted, rebooted, stopped or started,    people have to go on
//     or moving its disks
//   active without a task, and not running          people have to start the guest
//
// An instance that is being evacuated is left alone, because its new host works on it. A record
// that could not be read completely is not changed.
std::vector<Interruption> FindInterrupted(const NodeAccount& account,
                                          const std::vector<Guest>& guests, absl::Time booted_at);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_CLAIMS_REPAIR_H_
