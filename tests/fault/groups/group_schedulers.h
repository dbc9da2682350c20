// GroupSchedulers: a process of berth-group-schedulers that lives as long as this object.
//
// For the thread that made it: the process ends with that thread.
#ifndef BERTH_TESTS_FAULT_GROUPS_GROUP_SCHEDULERS_H_
#define BERTH_TESTS_FAULT_GROUPS_GROUP_SCHEDULERS_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "tests/fault/groups/group_report.h"

namespace berth::fault {

class GroupSchedulers {
 public:
  // Starts process `number` of the plan in `directory`. Ends the program if that fails.
  GroupSchedulers(const std::string& directory, int number, uint64_t seed);
  // Sends SIGKILL if the process still runs.
  ~GroupSchedulers();
  GroupSchedulers(const GroupSchedulers&) = delete;
  GroupSchedulers& operator=(const GroupSchedulers&) = delete;

  bool IsRunning() const;
  // The exit code, 128 + n after signal n; -1 if the process still runs.
  int AwaitEnd(absl::Duration limit);
  // What its schedulers have reported; see ReadReport.
  absl::Status Read(GroupEvents* events) const;
  std::string Log() const;

 private:
  const std::string report_path_, log_path_;
  pid_t pid_ = -1;
};

}  // namespace berth::fault

#endif  // BERTH_TESTS_FAULT_GROUPS_GROUP_SCHEDULERS_H_
