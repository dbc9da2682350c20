// GroupReport: writes what the schedulers of one process were told to a file, a line for each event
// as it happens. GroupEvents: what several reports say.
#ifndef BERTH_TESTS_FAULT_GROUPS_GROUP_REPORT_H_
#define BERTH_TESTS_FAULT_GROUPS_GROUP_REPORT_H_

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "placement/ground/mutex.h"
#include "tests/fault/groups/group_history.h"

namespace berth::fault {

// A member that came to a host, as a scheduler was told.
struct GroupArrival {
  std::string instance, group, host;
};

struct GroupEvents {
  std::vector<GroupArrival> placed;     // by a claim
  std::vector<GroupArrival> moved;      // by the end of a move, which may be the host that it left
  std::vector<std::string> released;    // instances
  std::vector<std::string> not_placed;  // instances whose claim was refused
  std::vector<GroupRefusal> refusals;
  std::vector<std::string> complaints;  // what breaks a promise, or is not understood
  int64_t left_open = 0;                // calls whose outcome was not known
};

// Thread-safe.
class GroupReport {
 public:
  // Ends the program if the file cannot be written.
  explicit GroupReport(const std::string& path);

  void Placed(const GroupArrival& arrival);
  void Moved(const GroupArrival& arrival);
  void Released(const std::string& instance);
  void NotPlaced(const std::string& instance);
  void Refused(const GroupRefusal& refusal);
  void Complain(const std::string& text);
  void LeftOpen();
  // Nothing more comes. A report without this is one of a process that ended too early.
  void End();

 private:
  void Write(const std::string& line);

  placement::Mutex mutex_;
  std::ofstream file_ ABSL_GUARDED_BY(mutex_);
};

// Adds what the report says to `events`. Fails with kNotFound if there is none, and kDataLoss if it
// does not end with End or has a line that no report has; the lines before that are added.
absl::Status ReadReport(const std::string& path, GroupEvents* events);

}  // namespace berth::fault

#endif  // BERTH_TESTS_FAULT_GROUPS_GROUP_REPORT_H_
