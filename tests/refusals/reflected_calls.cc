#include "tests/refusals/reflected_calls.h"

#include <google/protobuf/descriptor.pb.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "grpc/reflection/v1alpha/reflection.pb.h"
#include "tests/fault/call_within.h"

namespace berth::refusals {
namespace {

namespace wire = ::grpc::reflection::v1alpha;
using fault::CallWithin;
using google::protobuf::FieldDescriptor;

constexpr char kReflection[] = "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
constexpr absl::Duration kCallMax = absl::Seconds(60);  // bounds a failure alone

// Sends one message and waits for the first answer, or for the status.
grpc::Status Send(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                  const std::string& bytes, std::string* answer) {
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  const std::unique_ptr<grpc::ClientContext> context = CallWithin(kCallMax);
  const auto call = stub.PrepareCall(context.get(), "/" + method, &queue);
  const auto done = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    return ok;
  };
  call->StartCall(context.get());
  const grpc::Slice slice(bytes);
  if (done()) {
    call->WriteLast(grpc::ByteBuffer(&slice, 1), {}, context.get());
    done();
  }
  grpc::ByteBuffer received;
  call->Read(&received, context.get());
  const bool is_answered = done();
  if (is_answered && answer != nullptr) {
    std::vector<grpc::Slice> slices;
    EXPECT_TRUE(received.Dump(&slices).ok());
    for (const grpc::Slice& one : slices) {
      answer->append(reinterpret_cast<const char*>(one.begin()), one.size());
    }
  }
  if (is_answered) context->TryCancel();
  grpc::Status status;
  call->Finish(&status, context.get());
  done();
  queue.Shutdown();
  while (done()) continue;
  return is_answered ? grpc::Status::OK : status;
}

wire::ServerReflectionResponse Ask(const std::shared_ptr<grpc::Channel>& channel,
                                   const wire::ServerReflectionRequest& request) {
  std::string bytes;
  const grpc::Status status = Send(channel, kReflection, request.SerializeAsString(), &bytes);
  EXPECT_TRUE(status.ok()) << status.error_message();
  wire::ServerReflectionResponse answer;
  EXPECT_TRUE(answer.ParseFromString(bytes));
  EXPECT_FALSE(answer.has_error_response()) << request.ShortDebugString();
  return answer;
}

}  // namespace

ReflectedCalls::ReflectedCalls(const std::shared_ptr<grpc::Channel>& channel) {
  wire::ServerReflectionRequest request;
  request.set_list_services("*");
  const wire::ServerReflectionResponse listed = Ask(channel, request);
  std::set<std::string> known;
  for (const auto& service : listed.list_services_response().service()) {
    request.set_file_containing_symbol(service.name());
    // The file of the service comes with all those that it imports.
    const wire::ServerReflectionResponse described = Ask(channel, request);
    for (const std::string& bytes : described.file_descriptor_response().file_descriptor_proto()) {
      google::protobuf::FileDescriptorProto file;
      EXPECT_TRUE(file.ParseFromString(bytes)) << service.name();
      const bool is_new = known.insert(file.name()).second;
      EXPECT_TRUE(!is_new || files_.Add(file)) << file.name();
    }
    const auto* const found = pool_.FindServiceByName(service.name());
    EXPECT_NE(found, nullptr) << service.name();
    for (int i = 0; found != nullptr && i < found->method_count(); ++i) {
      methods_[absl::StrCat(found->full_name(), "/", found->method(i)->name())] = found->method(i);
    }
  }
}

std::vector<std::string> ReflectedCalls::methods() const {
  std::vector<std::string> names;
  for (const auto& [name, method] : methods_) names.push_back(name);
  return names;
}

std::string ReflectedCalls::RequestOf(const std::string& method, const std::string& uuid) const {
  const auto* const type = methods_.at(method)->input_type();
  const std::unique_ptr<google::protobuf::Message> request(factory_.GetPrototype(type)->New());
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* const field = type->field(i);
    const bool is_uuid =
        absl::EndsWith(field->name(), "uuid") || absl::EndsWith(field->name(), "uuids");
    if (field->type() != FieldDescriptor::TYPE_STRING || !is_uuid) continue;
    if (field->is_repeated()) request->GetReflection()->AddString(request.get(), field, uuid);
    if (!field->is_repeated()) request->GetReflection()->SetString(request.get(), field, uuid);
  }
  return request->SerializeAsString();
}

grpc::Status ReflectedCalls::Call(const std::shared_ptr<grpc::Channel>& channel,
                                  const std::string& method, const std::string& uuid) const {
  return Send(channel, method, RequestOf(method, uuid), nullptr);
}

}  // namespace berth::refusals
