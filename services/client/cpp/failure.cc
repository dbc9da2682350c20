#include "services/client/cpp/failure.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace berth::client {
namespace {

constexpr char kDomainPrefix[] = "berth.";  // of placement, and of trackers
constexpr absl::Duration kRetryDelayMax = absl::Seconds(60);

// gRPC passes on whatever number a server sends.
absl::StatusCode CanonicalOf(int code) {
  const bool is_known = code >= grpc::StatusCode::OK && code <= grpc::StatusCode::UNAUTHENTICATED;
  return is_known ? static_cast<absl::StatusCode>(code) : absl::StatusCode::kUnknown;
}

}  // namespace

Failure FailureOf(const grpc::Status& status) {
  Failure failure;
  failure.code = CanonicalOf(status.error_code());
  failure.message = status.error_message();
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return failure;
  for (const auto& any : details.details()) {
    google::rpc::ErrorInfo info;
    if (!any.UnpackTo(&info) || !absl::StartsWith(info.domain(), kDomainPrefix)) continue;
    if (failure.reason.empty()) failure.reason = info.reason();
    if (info.metadata().empty()) continue;
    failure.items.emplace_back(info.metadata().begin(), info.metadata().end());
    const auto said = failure.items.back().find("retry_delay_ms");
    int64_t delay_ms = 0;
    if (said == failure.items.back().end() || !absl::SimpleAtoi(said->second, &delay_ms)) continue;
    failure.retry_delay =
        std::clamp(absl::Milliseconds(delay_ms), absl::ZeroDuration(), kRetryDelayMax);
  }
  return failure;
}

std::string InWords(const Failure& failure) {
  return absl::StrCat(absl::StatusCodeToString(failure.code), failure.reason.empty() ? "" : " / ",
                      failure.reason, failure.message.empty() ? "" : ": ", failure.message);
}

absl::Status StatusOf(const Failure& failure) {
  return failure.ok() ? absl::OkStatus() : absl::Status(failure.code, InWords(failure));
}

}  // namespace berth::client
