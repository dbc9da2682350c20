// Failure: why a call failed, in the form on which a program can branch. The manual of reasons and
// items is proto/berth/placement/v1/error.proto.
//
// A plain value and pure functions.
#ifndef BERTH_SERVICES_CLIENT_CPP_FAILURE_H_
#define BERTH_SERVICES_CLIENT_CPP_FAILURE_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "grpcpp/support/status.h"

namespace berth::client {

struct Failure {
  // The canonical status; kOk: there is no failure. A status that gRPC does not know is kUnknown.
  absl::StatusCode code = absl::StatusCode::kOk;
  // A name of ErrorReason without its prefix, such as CAPACITY_EXCEEDED. A newer server may send a
  // name that this release does not know: judge it by the code. Empty: the error is none of
  // Berth's, for example because gRPC made it.
  std::string reason;
  std::string message;  // for people
  // The metadata of each item at fault. Items without metadata are left out.
  std::vector<std::map<std::string, std::string>> items;
  // How long the server asks to wait before the call is sent again, 0 to 60 s. Absent: the server
  // does not say.
  std::optional<absl::Duration> retry_delay;

  bool ok() const { return code == absl::StatusCode::kOk; }
};

// Reads `status` with its details. Details that cannot be read, and those of others than Berth, are
// left out.
Failure FailureOf(const grpc::Status& status);

// "UNAVAILABLE / STALE: the process has not heard of the database": for a log.
std::string InWords(const Failure& failure);

// The status and InWords, for a program that needs no reasons.
absl::Status StatusOf(const Failure& failure);

}  // namespace berth::client

#endif  // BERTH_SERVICES_CLIENT_CPP_FAILURE_H_
