#include "services/process/status.h"

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/support/status.h"
#include "services/process/log.h"

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
     "the deadline passed before the outcome was known: GetRequest with the request id tells it"},
    {absl::StatusCode::kCancelled, "CANCELLED", "the call was cancelled: nothing was done"},
};
constexpr char kTypeUrl[] = "type.googleapis.com/";
// A client that is set up as usual takes 8 KiB of trailers, and instead of larger ones reports an
// error of its own. Details go there in base64, words up to three times as long as they are.
constexpr size_t kDetailsMax = 4096;
constexpr size_t kMessageMax = 512;
constexpr char kInfoUrl[] = "type.googleapis.com/google.rpc.ErrorInfo";
constexpr size_t kOmittedBytes = 32;  // of the note that items are left out
constexpr size_t kEnvelope = 16;      // what a detail takes beside its own bytes, at most
constexpr PublicWords kInternal = {absl::StatusCode::kInternal, "INTERNAL",
                                   "the server failed: its log says why"};

const PublicWords& WordsFor(absl::StatusCode code) {
  for (const PublicWords& words : kPublicWords) {
    if (words.code == code) return words;
  }
  return kInternal;
}

// `message`, or as much of it as has room.
std::string Shortened(absl::string_view message) {
  if (message.size() <= kMessageMax) return std::string(message);
  size_t end = kMessageMax;
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xC0) == 0x80) --end;
  return absl::StrCat(message.substr(0, end), "...");
}

bool HasRoom(const google::rpc::Status& details, size_t bytes) {
  return details.ByteSizeLong() + bytes + kEnvelope <= kDetailsMax;
}

// Adds `info` once for each item of `refusal`, as far as there is room; the last one says how many
// are not there.
void AddInfos(const google::rpc::ErrorInfo& info, const placement::Refusal& refusal,
              google::rpc::Status* details) {
  const std::vector<placement::FaultItem>& items = refusal.items;
  google::rpc::ErrorInfo last = info;
  size_t added = 0;
  for (; added < items.size(); ++added) {
    google::rpc::ErrorInfo next = info;
    for (const auto& [key, value] : items[added])
      (*next.mutable_metadata())[key] = Shortened(value);
    const size_t bytes = next.ByteSizeLong() + kOmittedBytes + sizeof(kInfoUrl);
    if (added > 0 && !HasRoom(*details, bytes)) break;
    details->add_details()->PackFrom(next);
    last = std::move(next);
  }
  const size_t omitted = items.size() - added + refusal.omitted;
  if (omitted == 0) return;
  (*last.mutable_metadata())["omitted"] = absl::StrCat(omitted);
  details->mutable_details(details->details_size() - 1)->PackFrom(last);
}

// The details of `status`, from `refusal` and, where they have room, from WithDetail.
google::rpc::Status WithFurther(const absl::Status& status, const grpc::Status& wire) {
  google::rpc::Status details;
  details.ParseFromString(wire.error_details());
  status.ForEachPayload([&details](absl::string_view url, const absl::Cord& bytes) {
    if (!absl::StartsWith(url, kTypeUrl) || !HasRoom(details, url.size() + bytes.size())) return;
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
  const std::string words = Shortened(message);
  google::rpc::Status details;
  details.set_code(static_cast<int>(code));
  details.set_message(words);
  google::rpc::ErrorInfo info;
  info.set_reason(refusal.reason);
  info.set_domain(std::string(domain));
  if (refusal.retry_after) {
    (*info.mutable_metadata())["retry_delay_ms"] =
        absl::StrCat(absl::ToInt64Milliseconds(*refusal.retry_after));
  }
  AddInfos(info, refusal, &details);
  if (refusal.items.empty()) details.add_details()->PackFrom(info);
  return {static_cast<grpc::StatusCode>(code), words, details.SerializeAsString()};
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
