#include "services/cli/session/json.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/type_resolver.h"
#include "google/protobuf/util/type_resolver_util.h"
#include "placement/ground/check.h"

namespace berth::cli {
namespace {

constexpr char kUrlPrefix[] = "type.googleapis.com";

// Serializes with sorted map entries.
std::string Deterministic(const google::protobuf::Message& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializePartialToCodedStream(&coded);
  }
  return bytes;
}

}  // namespace

std::string ToJson(const google::protobuf::Message& message, JsonForm form) {
  const google::protobuf::Descriptor* type = message.GetDescriptor();
  const std::unique_ptr<google::protobuf::util::TypeResolver> resolver(
      google::protobuf::util::NewTypeResolverForDescriptorPool(kUrlPrefix, type->file()->pool()));
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = form == JsonForm::kIndented;
  options.always_print_primitive_fields = true;
  std::string json;
  const auto status = google::protobuf::util::BinaryToJsonString(
      resolver.get(), absl::StrCat(kUrlPrefix, "/", std::string(type->full_name())),
      Deterministic(message), &json, options);
  // This can happen only if the message contains an Any of an unknown type.
  if (!status.ok()) return absl::StrCat("{\"error\":\"this message has no JSON form\"}\n");
  if (json.empty() || json.back() != '\n') json += '\n';
  return json;
}

absl::Status FromJson(absl::string_view json, google::protobuf::Message* message) {
  const google::protobuf::Descriptor* type = message->GetDescriptor();
  const std::unique_ptr<google::protobuf::util::TypeResolver> resolver(
      google::protobuf::util::NewTypeResolverForDescriptorPool(kUrlPrefix, type->file()->pool()));
  std::string bytes;
  const auto status = google::protobuf::util::JsonToBinaryString(
      resolver.get(), absl::StrCat(kUrlPrefix, "/", std::string(type->full_name())),
      std::string(json), &bytes);
  if (!status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("this is not a valid ",
                                                   std::string(type->full_name()),
                                                   " in JSON: ", std::string(status.message())));
  }
  if (!message->ParseFromString(bytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("this is not a valid ", std::string(type->full_name())));
  }
  return absl::OkStatus();
}

}  // namespace berth::cli
