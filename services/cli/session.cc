#include "services/cli/session.h"

#include <array>
#include <cstdint>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "google/protobuf/descriptor.h"
#include "placement/check.h"
#include "services/cli/failure.h"
#include "services/cli/json.h"

namespace berth::cli {
namespace {

constexpr absl::Duration kTimeout = absl::Seconds(10);

// The call that takes requests of this type. In our protos each has its own, in the same file.
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

// The id of the write that `request` is, given one if it has none; empty: it is no write.
std::string StampRequestId(const std::string& wanted, google::protobuf::Message* request) {
  const auto* field = request->GetDescriptor()->FindFieldByName("request_id");
  if (field == nullptr) return "";
  const std::string id = request->GetReflection()->GetString(*request, field);
  if (!id.empty()) return id;
  const std::string chosen = wanted.empty() ? RandomUuid() : wanted;
  request->GetReflection()->SetString(request, field, chosen);
  return chosen;
}

// Whether an error without a reason leaves open what became of a write that was sent.
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
  if (connection_ == nullptr) connection_ = std::make_unique<Connection>(settings.endpoint);
  return *connection_;
}

absl::Duration Session::Timeout() const { return settings.timeout.value_or(kTimeout); }

absl::Status Session::Call(google::protobuf::Message& request, google::protobuf::Message* answer) {
  const google::protobuf::MethodDescriptor* method = MethodOf(request);
  BERTH_CHECK(method != nullptr && method->output_type() == answer->GetDescriptor());
  // Without a connection nothing has been sent: no write can be open.
  const absl::Status connected = Server().Connect(Timeout());
  if (!connected.ok()) return connected;
  const std::string id = StampRequestId(settings.request_id, &request);
  const auto bytes = Server().Call(absl::StrCat("/", std::string(method->service()->full_name()),
                                                "/", std::string(method->name())),
                                   request.SerializeAsString(), Timeout());
  if (!bytes.ok()) {
    return id.empty() ? bytes.status() : OfRequest(bytes.status(), id, LeavesOpen(bytes.status()));
  }
  if (!answer->ParseFromString(*bytes)) {
    return absl::InternalError("the server's answer is no message of ours");
  }
  return absl::OkStatus();
}

absl::Status Session::Print(const google::protobuf::Message& answer, Table table,
                            const std::vector<std::string>& names) {
  if (settings.format == Format::kTable) {
    const absl::Status selected = table.Select(settings.columns);
    if (!selected.ok()) return selected;
    const absl::Status sorted = table.SortBy(settings.sort);
    if (!sorted.ok()) return sorted;
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
