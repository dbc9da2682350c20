// Connection: one channel to one server, over which any call is made as bytes.
//
// The only part of the command line that includes gRPC. Owns the channel. Calls block; they end by
// their deadline, or at once when the process is interrupted (SIGINT, SIGTERM). One thread.
#ifndef BERTH_SERVICES_CLI_SESSION_CONNECTION_H_
#define BERTH_SERVICES_CLI_SESSION_CONNECTION_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace berth::cli {

// From now on SIGINT and SIGTERM end the call that is running instead of the process; the second one
// ends the process.
void CatchInterrupts();

class Connection {
 public:
  // `endpoint`: HOST:PORT, [IPV6]:PORT or unix:PATH. Does not connect yet.
  explicit Connection(const std::string& endpoint);
  ~Connection();

  // Connects, unless it is. kUnavailable / UNREACHABLE naming the endpoint: nothing was sent.
  absl::Status Connect(absl::Duration timeout);

  // One request, one answer. `method`: "/package.Service/Method". The server's own error with its
  // details, kUnavailable like Connect, or kCancelled / INTERRUPTED.
  absl::StatusOr<std::string> Call(const std::string& method, const std::string& request,
                                   absl::Duration timeout);

  // Any number of requests, all sent before the first answer is read; each answer goes to
  // `receive`, whose error ends the call and is returned. `sent` (may be empty) hears how many
  // requests are sent. No timeout: as long as it takes. Fails like Call.
  absl::Status Stream(const std::string& method, const std::vector<std::string>& requests,
                      std::optional<absl::Duration> timeout,
                      const std::function<absl::Status(const std::string&)>& receive,
                      const std::function<void(size_t)>& sent = nullptr);

  // From now on called several times a second while a call waits; empty: nobody is.
  void WhileWaiting(std::function<void()> tick) { tick_ = std::move(tick); }

  const std::string& endpoint() const { return endpoint_; }

 private:
  class Impl;
  const std::string endpoint_;
  std::function<void()> tick_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_SESSION_CONNECTION_H_
