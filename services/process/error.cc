#include "services/process/error.h"

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
#include "placement/ground/boot_clock.h"
#include "services/log/log.h"

namespace berth::services {
namespace {

struct PublicWords {
  absl::StatusCode code;
  const char* reason;
  const char* message;
};

// The codes, reasons and messages for failures that did not come from a rule.
constexpr PublicWords kPublicWords[] = {
    {absl::StatusCode::kUnavailable, "STORE_UNAVAILABLE",
     "the database is not available: nothing was done, try again"},
    {absl::StatusCode::kDeadlineExceeded, "OUTCOME_UNKNOWN",
     "the deadline passed before the outcome was known: GetRequest with the request id tells it"},
    {absl::StatusCode::kCancelled, "CANCELLED", "the call was cancelled: nothing was done"},
};
constexpr char kTypeUrl[] = "type.googleapis.com/";
// The maximum size of the details in bytes. By default a gRPC client accepts 8 KiB of trailers, and
// replaces a larger error by one of its own. The trailers contain the details in base64, which is
// longer, and the message with escapes, which make it up to three times as long.
constexpr size_t kDetailsMax = 4096;
constexpr size_t kMessageMax = 512;
constexpr char kInfoUrl[] = "type.googleapis.com/google.rpc.ErrorInfo";
constexpr size_t kOmittedBytes = 32;  // the entry `omitted` of the last item
constexpr size_t kEnvelope = 16;      // a detail needs at most this many bytes beside its own
constexpr PublicWords kInternal = {absl::StatusCode::kInternal, "INTERNAL",
                                   "the server failed: its log says why"};

// The maximum number of lines about failures in the log within a second.
constexpr size_t kFailureLinesMax = 10;

const PublicWords& WordsFor(absl::StatusCode code) {
  for (const PublicWords& words : kPublicWords) {
    if (words.code == code) return words;
  }
  return kInternal;
}

// Tells the operator what the caller is not told. If the database is away, many calls fail with the
// same text. Failures with another text get lines of their own, as long as there are few texts: a
// text may name what the call was about.
void TellFailure(const char* reason, const absl::Status& status) {
  static auto& pace = *new LinePace(absl::Seconds(1), kFailureLinesMax);
  int64_t omitted = 0;
  const std::string key = absl::StrCat(reason, " ", status.message());
  if (!pace.Lets(key, placement::BootNow(), &omitted)) return;
  Log(LogLevel::kWarning, "a call failed, and the caller is not at fault",
      {{"reason", reason}, {"detail", status.ToString()}, {"omitted", omitted}});
}

// Returns `message`. If it is too long, cuts it to kMessageMax bytes, between two UTF-8 characters.
std::string Shortened(absl::string_view message) {
  if (message.size() <= kMessageMax) return std::string(message);
  size_t end = kMessageMax;
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xC0) == 0x80) --end;
  return absl::StrCat(message.substr(0, end), "...");
}

bool HasRoom(const google::rpc::Status& details, size_t bytes) {
  return details.ByteSizeLong() + bytes + kEnvelope <= kDetailsMax;
}

// Adds one copy of `info` for each item of `refusal` that fits. The last item that fits says how
// many items do not fit.
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

// Adds the messages that WithDetail attached to `status`. A message that does not fit is left out.
void AddAttached(const absl::Status& status, google::rpc::Status* error) {
  status.ForEachPayload([error](absl::string_view url, const absl::Cord& bytes) {
    if (!absl::StartsWith(url, kTypeUrl) || !HasRoom(*error, url.size() + bytes.size())) return;
    google::protobuf::Any* any = error->add_details();
    any->set_type_url(std::string(url));
    any->set_value(std::string(bytes));
  });
}

}  // namespace

absl::Status WithDetail(absl::Status status, const google::protobuf::Message& detail) {
  status.SetPayload(absl::StrCat(kTypeUrl, std::string(detail.GetDescriptor()->full_name())),
                    absl::Cord(detail.SerializeAsString()));
  return status;
}

google::rpc::Status ErrorOf(absl::StatusCode code, absl::string_view message,
                            absl::string_view domain, const placement::Refusal& refusal) {
  google::rpc::Status error;
  error.set_code(static_cast<int>(code));
  error.set_message(Shortened(message));
  google::rpc::ErrorInfo info;
  info.set_reason(refusal.reason);
  info.set_domain(std::string(domain));
  if (refusal.retry_after) {
    (*info.mutable_metadata())["retry_delay_ms"] =
        absl::StrCat(absl::ToInt64Milliseconds(*refusal.retry_after));
  }
  AddInfos(info, refusal, &error);
  if (refusal.items.empty()) error.add_details()->PackFrom(info);
  return error;
}

google::rpc::Status PlacementError(const absl::Status& status) {
  if (status.ok()) return google::rpc::Status();
  if (const std::optional<placement::Refusal> refusal = placement::RefusalOf(status)) {
    google::rpc::Status error =
        ErrorOf(status.code(), status.message(), kPlacementDomain, *refusal);
    AddAttached(status, &error);
    return error;
  }
  const PublicWords& words = WordsFor(status.code());
  if (words.code != absl::StatusCode::kCancelled) TellFailure(words.reason, status);
  placement::Refusal in_words;
  in_words.reason = words.reason;
  return ErrorOf(words.code, words.message, kPlacementDomain, in_words);
}

}  // namespace berth::services
