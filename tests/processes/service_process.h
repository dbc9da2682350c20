// ServiceProcess: a process of berth-placement or berth-tracker that lives as long as this object.
// FetchMetrics: what such a process counts.
//
// For the thread that made it: the process ends with that thread.
#ifndef BERTH_TESTS_PROCESSES_SERVICE_PROCESS_H_
#define BERTH_TESTS_PROCESSES_SERVICE_PROCESS_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
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
  // The file of its address, which is absent until the process takes calls.
  const std::string& address_path() const { return address_path_; }
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

// What is served at /metrics of this address of the loopback interface, with the HTTP header.
// `address` ends with `:PORT`. Empty: nothing answers.
inline std::string FetchMetrics(absl::string_view address) {
  int port = 0;
  if (!absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port)) return "";
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int door = socket(AF_INET, SOCK_STREAM, 0);
  const std::string request = "GET /metrics HTTP/1.0\r\n\r\n";
  std::string text;
  if (connect(door, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0 &&
      send(door, request.data(), request.size(), MSG_NOSIGNAL) > 0) {
    char buffer[65536];
    for (ssize_t n = 0; (n = read(door, buffer, sizeof(buffer))) > 0;) {
      text.append(buffer, static_cast<size_t>(n));
    }
  }
  close(door);
  return text;
}

}  // namespace berth::e2e

#endif  // BERTH_TESTS_PROCESSES_SERVICE_PROCESS_H_
