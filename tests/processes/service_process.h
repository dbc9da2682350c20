// ServiceProcess: a process of berth-placement or berth-tracker that lives as long as this object.
//
// For the thread that made it: the process ends with that thread.
#ifndef BERTH_TESTS_PROCESSES_SERVICE_PROCESS_H_
#define BERTH_TESTS_PROCESSES_SERVICE_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace berth::e2e {

// The destructor sends SIGKILL if the process still runs.
class ServiceProcess {
 public:
  // Starts `command` on a port that the system chooses, and without metrics unless the command has
  // --metrics-listen; does not wait for an answer. Where the test program has certificates
  // (identity.h), a command without --tls-certificate gets one: a tracker that of its --host,
  // placement that of placement/one. The log and the address are in `directory`, in files named
  // after `name`.
  ServiceProcess(const std::string& directory, const std::string& name,
                 std::vector<std::string> command);
  ~ServiceProcess();
  ServiceProcess(const ServiceProcess&) = delete;
  ServiceProcess& operator=(const ServiceProcess&) = delete;

  // Waits until the process has written its address. kUnavailable with its log if it ended instead.
  absl::Status AwaitAddress();
  const std::string& address() const { return address_; }
  pid_t pid() const { return pid_; }

  void Signal(int signal) const;
  // The exit code, 128 + n after signal n; -1 if the process still runs.
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
