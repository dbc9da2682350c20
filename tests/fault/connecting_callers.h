// ConnectingCallers: schedulers that open a new connection for each claim, 50 a second, and release
// what they claimed over the same connection.
//
// Owns the threads of the callers. Each connection uses the certificate and the CAs that the callers
// have at its begin. No call is repeated. Thread-safe.
#ifndef BERTH_TESTS_FAULT_CONNECTING_CALLERS_H_
#define BERTH_TESTS_FAULT_CONNECTING_CALLERS_H_

#include <grpcpp/channel.h>

#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "placement/ground/mutex.h"
#include "tests/processes/certificate_authority.h"

namespace berth::fault {

class ConnectingCallers {
 public:
  static constexpr int kConnectionsPerSecond = 50;

  // What a caller has: its own certificate, and the CAs with which it judges the server.
  struct Files {
    testing::IssuedCertificate own;
    std::string cas;
  };

  // Starts the callers, which claim at the server of `address`.
  ConnectingCallers(std::string address, Files files);
  // Stops like Stop.
  ~ConnectingCallers();
  ConnectingCallers(const ConnectingCallers&) = delete;
  ConnectingCallers& operator=(const ConnectingCallers&) = delete;

  // Waits until all connections have ended. No other begins.
  void Stop();
  // What connections use that begin from now on.
  void Use(Files files);
  // From now on each failure is told with these words before it.
  void Name(const std::string& moment);

  // These wait, at most two minutes. False: it did not come to this.
  // Until a connection that began after this call has ended.
  bool AwaitOne() const;
  // Until all connections that began before this call have ended.
  bool AwaitThoseBefore() const;
  // Until the server has answered a connection with `certificate`, PEM, and no other since then.
  bool AwaitServed(const std::string& certificate) const;

  // The connections that have ended.
  int64_t connections() const;
  // The longest time from the begin of a connection to the answer to its claim.
  absl::Duration slowest() const;
  // One line for each call that failed.
  std::vector<std::string> failures() const;

 private:
  void Run(int caller);
  // Begins a connection. False: the callers stop.
  bool Begin(int64_t* number, Files* files);
  void ConnectOnce(int64_t number, const Files& files);
  // Waits for a change. False: none came until `until`.
  bool AwaitChange(absl::Time until) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string address_;
  const absl::Time begun_at_ = absl::Now();
  mutable placement::Mutex mutex_;
  mutable placement::CondVar changed_;
  Files files_ ABSL_GUARDED_BY(mutex_);
  std::string moment_ ABSL_GUARDED_BY(mutex_);
  std::string served_ ABSL_GUARDED_BY(mutex_);  // the newest certificate that a connection saw
  int64_t begun_ ABSL_GUARDED_BY(mutex_) = 0;
  std::set<int64_t> open_ ABSL_GUARDED_BY(mutex_);  // numbers of connections
  int64_t newest_ended_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Duration slowest_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> failures_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace berth::fault

#endif  // BERTH_TESTS_FAULT_CONNECTING_CALLERS_H_
