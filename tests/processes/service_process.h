// ServiceProcess: one start of a real program of ours, for as long as this lives.
//
// For the thread that made it: the program ends with that thread.
#ifndef BERTH_TESTS_PROCESSES_SERVICE_PROCESS_H_
#define BERTH_TESTS_PROCESSES_SERVICE_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace berth::e2e {

// Ends with SIGKILL unless it ended before.
class ServiceProcess {
 public:
  // Starts `command` with a port that the system chooses and without metrics; does not wait for it to
  // answer. `directory` gets its log and its address, both named after `name`.
  ServiceProcess(const std::string& directory, const std::string& name,
                 std::vector<std::string> command);
  ~ServiceProcess();
  ServiceProcess(const ServiceProcess&) = delete;
  ServiceProcess& operator=(const ServiceProcess&) = delete;

  // Waits until it has told its address. kUnavailable with its log where it ended instead.
  absl::Status AwaitAddress();
  const std::string& address() const { return address_; }
  pid_t pid() const { return pid_; }

  void Signal(int signal) const;
  // Its exit code, 128 + n after signal n; -1 where it runs on.
  int AwaitEnd(absl::Duration limit);
  std::string Log() const;

 private:
  const std::string address_path_;
  const std::string log_path_;
  std::string address_;
  pid_t pid_ = -1;
};

}  // namespace berth::e2e

#endif  // BERTH_TESTS_PROCESSES_SERVICE_PROCESS_H_
