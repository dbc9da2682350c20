// Child processes: started under another account, told to end with us, and looked at through /proc.
#ifndef BERTH_PLACEMENT_STORE_CHILD_PROCESS_H_
#define BERTH_PLACEMENT_STORE_CHILD_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace berth::placement {

struct Account {
  uid_t uid = 0;
  gid_t gid = 0;
};

struct ChildOptions {
  std::vector<std::string> arguments;  // the first one is the program's path
  Account account;
  std::string output_path;  // both output streams are appended to it
  int death_signal = 0;     // sent when the thread that spawned it ends; 0: none
};

// Starts a program in the root directory with a plain environment. kUnavailable where the system
// refuses. A program that cannot be executed ends with exit code 127.
absl::StatusOr<pid_t> Spawn(const ChildOptions& options);

// The exit code of our child `pid`, waiting for `limit` at the most; 128 + n where signal n ended
// it. kDeadlineExceeded leaves it running.
absl::StatusOr<int> WaitForChild(pid_t pid, absl::Duration limit);

// Whether `pid` runs: it is there and no zombie.
bool IsRunning(pid_t pid);
// Processes whose parent is `pid`.
std::vector<pid_t> ChildrenOf(pid_t pid);
// Processes that run a program called `program` with `directory` as their working directory.
std::vector<pid_t> ProcessesIn(const std::string& directory, absl::string_view program);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STORE_CHILD_PROCESS_H_
