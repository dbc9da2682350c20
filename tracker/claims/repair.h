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

#include "tracker/account/account.h"
#include "tracker/account/records.h"

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
// A record that could not be read completely is left alone, because the write would lose the rest.
std::vector<Repair> FindRepairs(const NodeAccount& account, const std::set<std::string>& guests);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_CLAIMS_REPAIR_H_
