#include "services/process/access_service.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/access/v1/access_service.grpc.pb.h"
#include "grpcpp/support/server_callback.h"
#include "placement/ground/status_macros.h"
#include "placement/values/refusal.h"
#include "services/access/table.h"
#include "services/process/status.h"

namespace berth::services {
namespace {

namespace acl = access::v1;

constexpr int kMethodsMax = 200;

absl::Status WrongMethods(absl::string_view why, const std::string& name) {
  return placement::Refuse(absl::StatusCode::kInvalidArgument, "INVALID_FIELD",
                           absl::StrCat("methods: ", why),
                           {{{"field", "methods"}, {"method", name}}});
}

absl::StatusOr<const MethodAccess*> FindMethod(const std::string& name) {
  const std::vector<const MethodAccess*> found = AccessTable::Get().FindByName(name);
  if (found.size() == 1) return found.front();
  if (found.empty()) return WrongMethods(absl::StrCat("no method is called '", name, "'"), name);
  const auto add = [](std::string* out, const MethodAccess* method) {
    absl::StrAppend(out, method->method);
  };
  return WrongMethods(absl::StrCat("'", name, "' may be ", absl::StrJoin(found, " or ", add)),
                      name);
}

void FillPermission(const Caller& caller, const MethodAccess& method, acl::MethodPermission* to) {
  const acl::Role role = RoleOf(caller.role);
  to->set_method(method.method);
  to->set_permitted(!caller.identified() || method.Permit(role).ok());
  for (int each = acl::Role_MIN; each <= acl::Role_MAX; ++each) {
    if (method.roles.Has(static_cast<acl::Role>(each))) {
      to->add_roles(static_cast<acl::Role>(each));
    }
  }
  if (!caller.identified() || role == acl::ROLE_ADMIN) return;
  for (const std::string& field : method.admin_fields) to->add_forbidden_fields(field);
}

class AccessService final : public acl::AccessService::CallbackService {
 public:
  grpc::ServerUnaryReactor* WhoAmI(grpc::CallbackServerContext* context,
                                   const acl::WhoAmIRequest* request,
                                   acl::WhoAmIResponse* response) override {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(PlacementStatus(AnswerWhoAmI(CallerOf(*context), *request, response)));
    return reactor;
  }
};

}  // namespace

absl::Status AnswerWhoAmI(const Caller& caller, const acl::WhoAmIRequest& request,
                          acl::WhoAmIResponse* response) {
  if (request.methods_size() > kMethodsMax) {
    return WrongMethods(absl::StrCat("must be ", kMethodsMax, " at most"), "");
  }
  response->set_identified(caller.identified());
  if (caller.identified()) {
    response->set_trust_domain(caller.domain);
    response->set_role(RoleOf(caller.role));
    response->set_name(caller.name);
    response->mutable_expire_time()->set_seconds(absl::ToUnixSeconds(caller.not_after));
  }
  for (const std::string& name : request.methods()) {
    BERTH_ASSIGN_OR_RETURN(const MethodAccess* const method, FindMethod(name));
    FillPermission(caller, *method, response->add_methods());
  }
  return absl::OkStatus();
}

std::unique_ptr<grpc::Service> MakeAccessService() { return std::make_unique<AccessService>(); }

}  // namespace berth::services
