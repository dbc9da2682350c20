// Connection: one channel to one server, for calls with serialized messages.
//
// No other part of the command line includes gRPC. Owns the channel. Calls block until they are
// answered, their deadline passes, or the process is interrupted (SIGINT, SIGTERM). For one thread.
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
#include "services/client/cpp/own_certificate.h"

namespace berth::cli {

// From now on SIGINT and SIGTERM cancel the running call instead of ending the process. The second
// signal ends the process.
void CatchInterrupts();

class Connection {
 public:
  // `endpoint`: HOST:PORT, [IPV6]:PORT or unix:PATH. Does not connect yet.
  // Without `tls` settings the connection is neither encrypted nor are the two sides identified.
  explicit Connection(const std::string& endpoint, const client::TlsSettings& tls = {});
  ~Connection();

  // Connects for calls of `method`, unless the connection is open already. With TLS the certificate
  // of the server must have the role that serves the method. Fails with kUnavailable / UNREACHABLE
  // (the message names the endpoint), with kCancelled / INTERRUPTED, or with kInvalidArgument if own
  // certificates are wrong. If it fails, nothing was sent.
  absl::Status Connect(const std::string& method, absl::Duration timeout);

  // Sends one request and returns the answer. `method`: "/package.Service/Method". Fails with the
  // server's error and its details, with kUnavailable like Connect, or with kCancelled /
  // INTERRUPTED.
  absl::StatusOr<std::string> Call(const std::string& method, const std::string& request,
                                   absl::Duration timeout);

  // Sends all requests before it reads the first answer. Passes each answer to `receive`; an error
  // of `receive` ends the call and is returned. Calls `sent`, which may be empty, with the number
  // of requests sent so far. Without a timeout the call has no deadline. Fails like Call.
  absl::Status Stream(const std::string& method, const std::vector<std::string>& requests,
                      std::optional<absl::Duration> timeout,
                      const std::function<absl::Status(const std::string&)>& receive,
                      const std::function<void(size_t)>& sent = nullptr);

  // Looks at the files of the own certificate. Returns whether the certificate is another one than
  // that of the open connection; then the next call opens a new connection. False without TLS.
  bool TakeRenewal();

  // Sets the function that is called several times a second while a call waits. Empty: none is.
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
