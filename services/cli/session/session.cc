#include "services/cli/session/session.h"

#include <array>
#include <cstdint>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "google/protobuf/descriptor.h"
#include "placement/ground/check.h"
#include "services/cli/session/failure.h"
#include "services/cli/session/json.h"

namespace berth::cli {
namespace {

constexpr absl::Duration kTimeout = absl::Seconds(10);
constexpr absl::Duration kStreamTimeout = absl::Minutes(10);

// Returns the call that takes requests of this type. In Berth's protos each call has a request type
// of its own, in the same file as the call.
const google::protobuf::MethodDescriptor* MethodOf(const google::protobuf::Message& request) {
  const google::protobuf::Descriptor* type = request.GetDescriptor();
  for (int i = 0; i < type->file()->service_count(); ++i) {
    const google::protobuf::ServiceDescriptor* service = type->file()->service(i);
    for (int j = 0; j < service->method_count(); ++j) {
      if (service->method(j)->input_type() == type) return service->method(j);
    }
  }
  return nullptr;
}

std::string PathOf(const google::protobuf::MethodDescriptor& method) {
  return absl::StrCat("/", std::string(method.service()->full_name()), "/",
                      std::string(method.name()));
}

// Whether after this error nobody knows if a write that was sent has taken effect.
bool LeavesOpen(const absl::Status& status) {
  const std::string reason = ReasonOf(status);
  if (!reason.empty()) return reason == kInterrupted || reason == "OUTCOME_UNKNOWN";
  return status.code() == absl::StatusCode::kUnavailable ||
         status.code() == absl::StatusCode::kDeadlineExceeded ||
         status.code() == absl::StatusCode::kCancelled ||
         status.code() == absl::StatusCode::kUnknown;
}

}  // namespace

std::string RandomUuid() {
  std::random_device device;
  std::array<uint32_t, 4> words;
  for (uint32_t& word : words) word = device();
  words[1] = (words[1] & 0xFFFF0FFF) | 0x00004000;
  words[2] = (words[2] & 0x3FFFFFFF) | 0x80000000;
  return absl::StrFormat("%08x-%04x-%04x-%04x-%04x%08x", words[0], words[1] >> 16,
                         words[1] & 0xFFFF, words[2] >> 16, words[2] & 0xFFFF, words[3]);
}

Connection& Session::Server() {
  if (connection_ == nullptr)
    connection_ = std::make_unique<Connection>(settings.endpoint, settings.tls);
  return *connection_;
}

absl::Duration Session::Timeout() const { return settings.timeout.value_or(kTimeout); }

std::string Session::Stamp(google::protobuf::Message* request) const {
  const auto* field = request->GetDescriptor()->FindFieldByName("request_id");
  if (field == nullptr) return "";
  const std::string id = request->GetReflection()->GetString(*request, field);
  if (!id.empty()) return id;
  const std::string chosen = settings.request_id.empty() ? RandomUuid() : settings.request_id;
  request->GetReflection()->SetString(request, field, chosen);
  return chosen;
}

absl::Status Session::Call(google::protobuf::Message& request, google::protobuf::Message* answer) {
  const google::protobuf::MethodDescriptor* method = MethodOf(request);
  BERTH_CHECK(method != nullptr && method->output_type() == answer->GetDescriptor());
  // If the connection cannot be opened, nothing was sent, so the outcome of the write is known: it
  // was not done.
  BERTH_RETURN_IF_ERROR(Server().Connect(PathOf(*method), Timeout()));
  const std::string id = Stamp(&request);
  const auto bytes = Server().Call(PathOf(*method), request.SerializeAsString(), Timeout());
  if (!bytes.ok()) {
    return id.empty() ? bytes.status() : OfRequest(bytes.status(), id, LeavesOpen(bytes.status()));
  }
  if (!answer->ParseFromString(*bytes)) {
    return absl::InternalError("the server's answer cannot be read: does it run another release?");
  }
  return absl::OkStatus();
}

absl::Status Session::SendBytes(const google::protobuf::Message& type,
                                const std::vector<std::string>& requests, const std::string& id,
                                Progress* progress, google::protobuf::Message* answer) {
  const google::protobuf::MethodDescriptor* method = MethodOf(type);
  BERTH_CHECK(method != nullptr && method->output_type() == answer->GetDescriptor());
  BERTH_RETURN_IF_ERROR(Server().Connect(PathOf(*method), Timeout()));
  const auto sent = [&](size_t count) {
    progress->Tell("sending", static_cast<int64_t>(count), static_cast<int64_t>(requests.size()));
    if (count == requests.size()) {
      Server().WhileWaiting([progress] { progress->Wait("waiting for the ledger"); });
    }
  };
  const absl::Status streamed = Server().Stream(
      PathOf(*method), requests, settings.timeout.value_or(kStreamTimeout),
      [answer](const std::string& bytes) {
        return answer->ParseFromString(bytes)
                   ? absl::OkStatus()
                   : absl::InternalError(
                         "the server's answer cannot be read: does it run another release?");
      },
      sent);
  Server().WhileWaiting(nullptr);
  return streamed.ok() || id.empty() ? streamed : OfRequest(streamed, id, LeavesOpen(streamed));
}

absl::Status Session::Print(const google::protobuf::Message& answer, Table table,
                            const std::vector<std::string>& names) {
  if (settings.format == Format::kTable) {
    BERTH_RETURN_IF_ERROR(table.Select(settings.columns));
    BERTH_RETURN_IF_ERROR(table.SortBy(settings.sort));
  }
  return Print(answer, table.Render(screen), names);
}

absl::Status Session::Print(const google::protobuf::Message& answer, absl::string_view text,
                            const std::vector<std::string>& names) {
  const bool wanted = settings.format == Format::kJson;
  return PrintJson(wanted ? ToJson(answer, JsonForm::kIndented) : "", text, names);
}

absl::Status Session::PrintJson(absl::string_view json, absl::string_view text,
                                const std::vector<std::string>& names) {
  switch (settings.format) {
    case Format::kTable:
      *data_ << text;
      break;
    case Format::kJson:
      *data_ << json;
      break;
    case Format::kName:
      for (const std::string& name : names) *data_ << name << "\n";
      break;
  }
  data_->flush();
  return absl::OkStatus();
}

void Session::Say(absl::string_view line) {
  if (settings.format == Format::kTable) *talk_ << line << "\n";
}

}  // namespace berth::cli
