// Child processes: starts programs under another account and looks at processes through /proc.
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
  std::string output_path;  // standard output and standard error are appended to this file
  int death_signal = 0;     // sent to the child when the thread that called Spawn ends; 0: none
};

// Starts a program with "/" as its working directory and only PATH and LC_ALL in its environment.
// Fails with kUnavailable if the output file cannot be opened or fork fails. If the program cannot
// be executed, the child ends with exit code 127.
absl::StatusOr<pid_t> Spawn(const ChildOptions& options);

// Waits at most `limit` for our child `pid` to end. Returns the child's exit code, or 128 + n if
// signal n ended the child. Fails with kDeadlineExceeded if the child still runs after `limit`; the
// child is not stopped.
absl::StatusOr<int> WaitForChild(pid_t pid, absl::Duration limit);

// Whether process `pid` exists and is not a zombie.
bool IsRunning(pid_t pid);
// The processes that run a program called `program` in the working directory `directory`.
std::vector<pid_t> ProcessesIn(const std::string& directory, absl::string_view program);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STORE_CHILD_PROCESS_H_
