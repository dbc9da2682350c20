#include "services/process/digest.h"

#include <memory>

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "placement/ground/sha256.h"

namespace berth::services {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using placement::Sha256;

namespace {

// Encodes a message. Equal messages give equal bytes.
void AppendBytesOf(const Message& message, std::string* to) {
  google::protobuf::io::StringOutputStream stream(to);
  google::protobuf::io::CodedOutputStream output(&stream);
  output.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&output);
}

}  // namespace

std::string MessageDigest(const Message& message,
                          std::initializer_list<absl::string_view> left_out) {
  const std::unique_ptr<Message> copy(message.New());
  copy->CopyFrom(message);
  for (const absl::string_view name : left_out) {
    const FieldDescriptor* field = copy->GetDescriptor()->FindFieldByName(std::string(name));
    if (field != nullptr) copy->GetReflection()->ClearField(copy.get(), field);
  }
  std::string bytes = copy->GetDescriptor()->full_name();
  bytes.push_back('\0');
  AppendBytesOf(*copy, &bytes);
  return Sha256(bytes);
}

std::string ChainedDigest(absl::string_view before, const Message& message) {
  std::string bytes(before);
  AppendBytesOf(message, &bytes);
  return Sha256(bytes);
}

}  // namespace berth::services
