#include "services/status.h"

#include <optional>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/support/status.h"
#include "services/log.h"

namespace berth::services {
namespace {

struct PublicWords {
  absl::StatusCode code;
  const char* reason;
  const char* message;
};

// For what did not come from a rule.
constexpr PublicWords kPublicWords[] = {
    {absl::StatusCode::kUnavailable, "STORE_UNAVAILABLE",
     "the database is not available: nothing was done, try again"},
    {absl::StatusCode::kDeadlineExceeded, "OUTCOME_UNKNOWN",
     "the deadline passed before the outcome was known: ask GetRequest what became of it"},
    {absl::StatusCode::kCancelled, "CANCELLED", "the call was cancelled: nothing was done"},
};
constexpr char kTypeUrl[] = "type.googleapis.com/";
constexpr PublicWords kInternal = {absl::StatusCode::kInternal, "INTERNAL",
                                   "something went wrong here: the server's log says what"};

const PublicWords& WordsFor(absl::StatusCode code) {
  for (const PublicWords& words : kPublicWords) {
    if (words.code == code) return words;
  }
  return kInternal;
}

// The details of `status`, from `refusal` and from WithDetail.
google::rpc::Status WithFurther(const absl::Status& status, const grpc::Status& wire) {
  google::rpc::Status details;
  details.ParseFromString(wire.error_details());
  status.ForEachPayload([&details](absl::string_view url, const absl::Cord& bytes) {
    if (!absl::StartsWith(url, kTypeUrl)) return;
    google::protobuf::Any* any = details.add_details();
    any->set_type_url(std::string(url));
    any->set_value(std::string(bytes));
  });
  return details;
}

}  // namespace

absl::Status WithDetail(absl::Status status, const google::protobuf::Message& detail) {
  status.SetPayload(absl::StrCat(kTypeUrl, std::string(detail.GetDescriptor()->full_name())),
                    absl::Cord(detail.SerializeAsString()));
  return status;
}

grpc::Status WireStatus(absl::StatusCode code, absl::string_view message, absl::string_view domain,
                        const placement::Refusal& refusal) {
  google::rpc::Status details;
  details.set_code(static_cast<int>(code));
  details.set_message(std::string(message));
  google::rpc::ErrorInfo info;
  info.set_reason(refusal.reason);
  info.set_domain(std::string(domain));
  if (refusal.retry_after) {
    (*info.mutable_metadata())["retry_delay_ms"] =
        absl::StrCat(absl::ToInt64Milliseconds(*refusal.retry_after));
  }
  for (const placement::FaultItem& item : refusal.items) {
    google::rpc::ErrorInfo with_item = info;
    with_item.mutable_metadata()->insert(item.begin(), item.end());
    details.add_details()->PackFrom(with_item);
  }
  if (refusal.items.empty()) details.add_details()->PackFrom(info);
  return {static_cast<grpc::StatusCode>(code), std::string(message), details.SerializeAsString()};
}

grpc::Status PlacementStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const std::optional<placement::Refusal> refusal = placement::RefusalOf(status);
  if (refusal) {
    const grpc::Status wire =
        WireStatus(status.code(), status.message(), kPlacementDomain, *refusal);
    return {wire.error_code(), wire.error_message(), WithFurther(status, wire).SerializeAsString()};
  }
  const PublicWords& words = WordsFor(status.code());
  if (words.code != absl::StatusCode::kCancelled) {
    Log(LogLevel::kWarning, "a call failed for a reason that is not the caller's",
        {{"reason", words.reason}, {"detail", status.ToString()}});
  }
  placement::Refusal in_words;
  in_words.reason = words.reason;
  return WireStatus(words.code, words.message, kPlacementDomain, in_words);
}

}  // namespace berth::services
