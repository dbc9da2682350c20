#include "services/access/table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "berth/placement/v1/record.pb.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/message.h"
#include "placement/ground/check.h"
#include "placement/values/refusal.h"
#include "services/access/protos.h"

namespace berth::services {
namespace {

namespace acl = access::v1;
namespace place = placement::v1;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr absl::string_view kRolePrefix = "ROLE_";

// The RPCs of the services that gRPC brings, and the role that may do least of those that may call
// them. Reflection shows only what the protos say.
struct ForeignMethod {
  const char* name;
  acl::Role least;
  bool servers;  // whether servers may call it, too
};
constexpr ForeignMethod kForeignMethods[] = {
    {"grpc.health.v1.Health/Check", acl::ROLE_TRACKER, true},
    {"grpc.health.v1.Health/Watch", acl::ROLE_TRACKER, true},
    {"grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", acl::ROLE_TRACKER, false},
    {"grpc.channelz.v1.Channelz/GetTopChannels", acl::ROLE_ADMIN, false},
    {"grpc.channelz.v1.Channelz/GetServers", acl::ROLE_ADMIN, false},
    {"grpc.channelz.v1.Channelz/GetServer", acl::ROLE_ADMIN, false},
    {"grpc.channelz.v1.Channelz/GetServerSockets", acl::ROLE_ADMIN, false},
    {"grpc.channelz.v1.Channelz/GetChannel", acl::ROLE_ADMIN, false},
    {"grpc.channelz.v1.Channelz/GetSubchannel", acl::ROLE_ADMIN, false},
    {"grpc.channelz.v1.Channelz/GetSocket", acl::ROLE_ADMIN, false},
};

MethodAccess AccessOf(absl::string_view method, const acl::Access& option) {
  MethodAccess access;
  access.method = std::string(method);
  for (const int role : option.roles()) access.roles.Add(static_cast<acl::Role>(role));
  access.admin_fields.assign(option.admin_fields().begin(), option.admin_fields().end());
  return access;
}

MethodAccess AccessOf(const ForeignMethod& method) {
  MethodAccess access;
  access.method = method.name;
  for (int role = method.least; role <= acl::ROLE_ADMIN; ++role) {
    access.roles.Add(static_cast<acl::Role>(role));
  }
  if (method.servers) access.roles.Add(acl::ROLE_PLACEMENT);
  return access;
}

// Whether `request` names the process of a tracker on `host`.
bool IsFromHost(const Message& request, absl::string_view host) {
  const FieldDescriptor* tracker = request.GetDescriptor()->FindFieldByName("tracker");
  if (tracker == nullptr || tracker->message_type() != place::TrackerProcess::descriptor()) {
    return false;
  }
  const Message& process = request.GetReflection()->GetMessage(request, tracker);
  const FieldDescriptor* named = process.GetDescriptor()->FindFieldByName("host");
  return process.GetReflection()->GetString(process, named) == host;
}

bool IsSet(const Message& request, const std::string& name) {
  const FieldDescriptor* field = request.GetDescriptor()->FindFieldByName(name);
  if (field == nullptr) return false;
  std::vector<const FieldDescriptor*> set;
  request.GetReflection()->ListFields(request, &set);
  return std::find(set.begin(), set.end(), field) != set.end();
}

}  // namespace

std::string RoleSet::ToString() const {
  std::vector<std::string> names;
  for (int role = acl::Role_MIN; role <= acl::Role_MAX; ++role) {
    if (Has(static_cast<acl::Role>(role))) names.push_back(NameOf(static_cast<acl::Role>(role)));
  }
  return absl::StrJoin(names, ", ");
}

acl::Role RoleOf(absl::string_view role) {
  // Each call asks this, so no text is built.
  if (role == "tracker") return acl::ROLE_TRACKER;
  if (role == "reader") return acl::ROLE_READER;
  if (role == "scheduler") return acl::ROLE_SCHEDULER;
  if (role == "operator") return acl::ROLE_OPERATOR;
  if (role == "admin") return acl::ROLE_ADMIN;
  if (role == "placement") return acl::ROLE_PLACEMENT;
  return acl::ROLE_UNSPECIFIED;
}

std::string NameOf(acl::Role role) {
  return absl::AsciiStrToLower(absl::StripPrefix(acl::Role_Name(role), kRolePrefix));
}

std::string NamesOfRoles() {
  RoleSet all;
  for (int role = acl::Role_MIN + 1; role <= acl::Role_MAX; ++role) {
    all.Add(static_cast<acl::Role>(role));
  }
  return all.ToString();
}

absl::Status MethodAccess::Permit(acl::Role role) const {
  if (role != acl::ROLE_UNSPECIFIED && roles.Has(role)) return absl::OkStatus();
  return placement::Refuse(
      absl::StatusCode::kPermissionDenied, "ROLE_NOT_PERMITTED",
      absl::StrCat("the role ", NameOf(role), " may not call ", method,
                   ": only these roles may: ", roles.ToString()),
      {{{"method", method}, {"role", NameOf(role)}, {"roles", roles.ToString()}}});
}

absl::Status MethodAccess::PermitRequest(acl::Role role, absl::string_view name,
                                         const Message& request) const {
  if (role == acl::ROLE_TRACKER && !IsFromHost(request, name)) {
    return placement::Refuse(
        absl::StatusCode::kPermissionDenied, "POLICY_DENIED",
        absl::StrCat("the field tracker does not name the host ", name,
                     ", which the tracker's certificate names"),
        {{{"method", method}, {"field", "tracker.host"}, {"host", std::string(name)}}});
  }
  if (role == acl::ROLE_ADMIN) return absl::OkStatus();
  for (const std::string& field : admin_fields) {
    if (!IsSet(request, field)) continue;
    return placement::Refuse(absl::StatusCode::kPermissionDenied, "ROLE_NOT_PERMITTED",
                             absl::StrCat("only the role admin may set ", field, " of ", method),
                             {{{"method", method},
                               {"field", field},
                               {"role", NameOf(role)},
                               {"roles", NameOf(acl::ROLE_ADMIN)}}});
  }
  return absl::OkStatus();
}

AccessTable::AccessTable() {
  google::protobuf::FileDescriptorSet protos;
  const absl::string_view bytes = EmbeddedProtos();  // as protoc wrote them
  BERTH_CHECK(protos.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  for (const auto& file : protos.file()) {
    for (const auto& service : file.service()) {
      for (const auto& method : service.method()) {
        const std::string name =
            absl::StrCat(file.package(), ".", service.name(), "/", method.name());
        methods_.emplace(absl::StrCat("/", name),
                         AccessOf(name, method.options().GetExtension(acl::access)));
      }
    }
  }
  for (const ForeignMethod& method : kForeignMethods) {
    methods_.emplace(absl::StrCat("/", method.name), AccessOf(method));
  }
}

const AccessTable& AccessTable::Get() {
  static const auto* const table = new AccessTable();
  return *table;
}

const MethodAccess* AccessTable::Find(absl::string_view path) const {
  const auto found = methods_.find(path);
  return found == methods_.end() ? nullptr : &found->second;
}

std::vector<const MethodAccess*> AccessTable::FindByName(absl::string_view name) const {
  const std::string wanted = absl::StrReplaceAll(name, {{"/", "."}});
  std::vector<const MethodAccess*> found;
  for (const MethodAccess* method : All()) {
    const std::string whole = absl::StrCat(".", absl::StrReplaceAll(method->method, {{"/", "."}}));
    if (absl::EndsWith(whole, absl::StrCat(".", absl::StripPrefix(wanted, ".")))) {
      found.push_back(method);
    }
  }
  return found;
}

std::vector<const MethodAccess*> AccessTable::All() const {
  std::vector<const MethodAccess*> all;
  for (const auto& [path, method] : methods_) all.push_back(&method);
  std::sort(all.begin(), all.end(),
            [](const auto* a, const auto* b) { return a->method < b->method; });
  return all;
}

}  // namespace berth::services
