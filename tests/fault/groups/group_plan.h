// GroupPlan: what the test tells its two processes of schedulers, in a file. GroupProgress: what the
// test and these processes count together, in a file that each of them maps into its memory.
#ifndef BERTH_TESTS_FAULT_GROUPS_GROUP_PLAN_H_
#define BERTH_TESTS_FAULT_GROUPS_GROUP_PLAN_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace berth::fault {

inline constexpr int kGroupServers = 2;
inline constexpr int kGroupProcesses = 2;    // of schedulers
inline constexpr int kGroupSchedulers = 16;  // in each process

// The files of one run, all in one directory.
std::string PlanPath(const std::string& directory);
std::string ProgressPath(const std::string& directory);
// What the schedulers of process `number` were told.
std::string ReportPath(const std::string& directory, int number);

struct GroupPlan {
  // Each holds the address of a placement process, which has another one when it is started again.
  std::array<std::string, kGroupServers> address_files;
  std::vector<std::string> groups;                  // in the order of the members
  std::map<std::string, std::string> node_of_host;  // uuids of nodes, which are roots
  int64_t members = 0;                              // of all groups
  absl::Time until;                                 // then schedulers end, to the millisecond
};

// The address in such a file; empty while the process does not take calls yet.
std::string AddressIn(const std::string& address_file);

// Both end the program if they fail.
void WritePlan(const GroupPlan& plan, const std::string& path);
GroupPlan ReadPlan(const std::string& path);

// Zero at first. Thread-safe, across processes too.
struct GroupCounts {
  std::atomic<int64_t> next;     // members that a scheduler has taken, or more at the end
  std::atomic<int64_t> allowed;  // members that schedulers may begin with now
  std::atomic<int64_t> settled;  // members with which a scheduler is done
  std::atomic<bool> stop;        // schedulers have to end
};
static_assert(std::atomic<int64_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

class GroupProgress {
 public:
  // Makes the file if there is none. Ends the program if that fails.
  explicit GroupProgress(const std::string& path);
  ~GroupProgress();
  GroupProgress(const GroupProgress&) = delete;
  GroupProgress& operator=(const GroupProgress&) = delete;

  GroupCounts* operator->() const { return counts_; }

 private:
  GroupCounts* counts_ = nullptr;
};

}  // namespace berth::fault

#endif  // BERTH_TESTS_FAULT_GROUPS_GROUP_PLAN_H_
