#include "services/cli/session/reflection.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.pb.h"
#include "grpc/reflection/v1alpha/reflection.pb.h"
#include "services/cli/session/failure.h"

namespace berth::cli {
namespace {

namespace wire = ::grpc::reflection::v1alpha;

constexpr char kMethod[] = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
constexpr size_t kFilesMax = 1000;

}  // namespace

class Reflection::Impl {
 public:
  explicit Impl(Session& in_session) : session(in_session) {}

  absl::StatusOr<wire::ServerReflectionResponse> Ask(const wire::ServerReflectionRequest& request) {
    wire::ServerReflectionResponse answer;
    const absl::Status asked = session.Server().Stream(
        kMethod, {request.SerializeAsString()}, session.Timeout(),
        [&answer](const std::string& bytes) {
          if (answer.ParseFromString(bytes)) return absl::OkStatus();
          return absl::InternalError("the server's reflection answer cannot be read");
        });
    if (asked.code() == absl::StatusCode::kUnimplemented) {
      return absl::UnimplementedError(absl::StrCat(
          session.settings.endpoint, " does not offer reflection, so its calls are not known"));
    }
    if (!asked.ok()) return asked;
    if (answer.has_error_response()) {
      return absl::Status(static_cast<absl::StatusCode>(answer.error_response().error_code()),
                          answer.error_response().error_message());
    }
    return answer;
  }

  // Stores the files of an answer. Fails if a file is unreadable, or if there are too many files.
  absl::Status Take(const wire::FileDescriptorResponse& answer) {
    for (const std::string& bytes : answer.file_descriptor_proto()) {
      google::protobuf::FileDescriptorProto file;
      if (!file.ParseFromString(bytes)) {
        return absl::InternalError("the server's reflection answer holds an unreadable file");
      }
      if (files.size() >= kFilesMax) {
        return absl::InternalError("the server describes more files than berth accepts");
      }
      const std::string name = file.name();
      files.emplace(name, std::move(file));
    }
    return absl::OkStatus();
  }

  absl::Status FetchFile(const std::string& name) {
    wire::ServerReflectionRequest request;
    request.set_file_by_filename(name);
    BERTH_ASSIGN_OR_RETURN(const auto answer, Ask(request));
    const absl::Status taken = Take(answer.file_descriptor_response());
    if (taken.ok() && !files.contains(name)) {
      return absl::NotFoundError(absl::StrCat("the server does not have the proto file ", name));
    }
    return taken;
  }

  // Adds the file `name` to the pool, and before it the files that it imports.
  absl::Status Build(const std::string& name, std::set<std::string>* under_way) {
    if (pool.FindFileByName(name) != nullptr) return absl::OkStatus();
    if (!under_way->insert(name).second) {
      return absl::InternalError("the server's proto files import each other in a circle");
    }
    if (!files.contains(name)) {
      BERTH_RETURN_IF_ERROR(FetchFile(name));
    }
    const google::protobuf::FileDescriptorProto file = files.at(name);
    for (const std::string& import : file.dependency()) {
      BERTH_RETURN_IF_ERROR(Build(import, under_way));
    }
    if (pool.BuildFile(file) == nullptr) {
      return absl::InternalError(absl::StrCat("the server's proto file ", name, " is not valid"));
    }
    return absl::OkStatus();
  }

  Session& session;
  google::protobuf::DescriptorPool pool;
  std::map<std::string, google::protobuf::FileDescriptorProto> files;
};

Reflection::Reflection(Session& session) : impl_(std::make_unique<Impl>(session)) {}
Reflection::~Reflection() = default;

absl::StatusOr<std::vector<std::string>> Reflection::Services() {
  wire::ServerReflectionRequest request;
  request.set_list_services("*");
  BERTH_ASSIGN_OR_RETURN(const auto answer, impl_->Ask(request));
  std::vector<std::string> names;
  for (const auto& service : answer.list_services_response().service()) {
    names.push_back(service.name());
  }
  std::sort(names.begin(), names.end());
  return names;
}

absl::Status Reflection::Load(const std::string& symbol) {
  wire::ServerReflectionRequest request;
  request.set_file_containing_symbol(symbol);
  const auto answer = impl_->Ask(request);
  if (answer.status().code() == absl::StatusCode::kNotFound) {
    return Refused(
        absl::StatusCode::kNotFound, "SYMBOL_NOT_FOUND",
        absl::StrCat("the server has no '", symbol, "'; `berth list` shows its services"),
        {{{"symbol", symbol}}});
  }
  if (!answer.ok()) return answer.status();
  BERTH_RETURN_IF_ERROR(impl_->Take(answer->file_descriptor_response()));
  for (const std::string& bytes : answer->file_descriptor_response().file_descriptor_proto()) {
    google::protobuf::FileDescriptorProto file;
    if (!file.ParseFromString(bytes)) continue;
    std::set<std::string> under_way;
    BERTH_RETURN_IF_ERROR(impl_->Build(file.name(), &under_way));
  }
  return absl::OkStatus();
}

const google::protobuf::ServiceDescriptor* Reflection::Service(const std::string& name) const {
  return impl_->pool.FindServiceByName(name);
}
const google::protobuf::Descriptor* Reflection::Message(const std::string& name) const {
  return impl_->pool.FindMessageTypeByName(name);
}
const google::protobuf::EnumDescriptor* Reflection::Enum(const std::string& name) const {
  return impl_->pool.FindEnumTypeByName(name);
}
const google::protobuf::MethodDescriptor* Reflection::Method(const std::string& name) const {
  return impl_->pool.FindMethodByName(name);
}

}  // namespace berth::cli
