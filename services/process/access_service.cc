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
#include "services/access/daily_allowance.h"
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

void FillLimits(const AccessRules& rules, acl::GetAccessRulesResponse* response) {
  if (rules.withheld != nullptr) {
    for (const std::string& trait : rules.withheld->traits) response->add_withheld_traits(trait);
    for (const std::string& name : rules.withheld->resource_classes) {
      response->add_withheld_resource_classes(name);
    }
  }
  for (const auto& [identity, totals] : rules.ceilings) {
    acl::TrackerCeilings* const limited = response->add_ceilings();
    limited->set_identity(identity);
    limited->mutable_totals()->insert(totals.begin(), totals.end());
  }
}

void FillDaily(const std::string& identity, const DailyAmounts& limits, acl::DailyLimits* to) {
  to->set_identity(identity);
  if (limits.fact_bytes != kNoDailyLimit) to->set_facts_mib(limits.fact_bytes / kBytesOfMib);
  if (limits.names != kNoDailyLimit) to->set_names(limits.names);
  if (limits.providers != kNoDailyLimit) to->set_providers(limits.providers);
  if (limits.nodes != kNoDailyLimit) to->set_nodes(limits.nodes);
  if (limits.services != kNoDailyLimit) to->set_services(limits.services);
}

class AccessService final : public acl::AccessService::CallbackService {
 public:
  explicit AccessService(const AccessPolicy* policy) : policy_(policy) {}

  grpc::ServerUnaryReactor* WhoAmI(grpc::CallbackServerContext* context,
                                   const acl::WhoAmIRequest* request,
                                   acl::WhoAmIResponse* response) override {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(PlacementStatus(AnswerWhoAmI(CallerOf(*context), *request, response)));
    return reactor;
  }

  grpc::ServerUnaryReactor* GetAccessRules(grpc::CallbackServerContext* context,
                                           const acl::GetAccessRulesRequest* /*request*/,
                                           acl::GetAccessRulesResponse* response) override {
    if (policy_ != nullptr) FillAccessRules(*policy_, response);
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

 private:
  const AccessPolicy* const policy_;
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

void FillAccessRules(const AccessPolicy& policy, acl::GetAccessRulesResponse* response) {
  const RulesInForcePtr in_force = policy.rules();
  response->set_fault(policy.fault());
  response->set_file(in_force->file);
  response->set_digest(in_force->digest);
  if (!in_force->file.empty()) {
    response->mutable_since()->set_seconds(absl::ToUnixSeconds(in_force->since));
  }
  for (const auto& [identity, reason] : in_force->rules.denied) {
    acl::DeniedIdentity* const denied = response->add_denied();
    denied->set_identity(identity);
    denied->set_reason(reason);
  }
  for (const auto& [name, projects] : in_force->rules.projects) {
    acl::SchedulerProjects* const scheduler = response->add_schedulers();
    scheduler->set_identity(absl::StrCat("scheduler/", name));
    for (const std::string& project : *projects) scheduler->add_projects(project);
  }
  for (const auto& [identity, rate] : in_force->rules.rates) {
    acl::IdentityRate* const limited = response->add_rates();
    limited->set_identity(identity);
    limited->set_calls_per_second(rate.calls_per_second);
    limited->set_burst(rate.burst);
  }
  FillLimits(in_force->rules, response);
  for (const auto& [identity, limits] : in_force->rules.daily) {
    FillDaily(identity, limits, response->add_daily());
  }
}

std::unique_ptr<grpc::Service> MakeAccessService(const AccessPolicy* policy) {
  return std::make_unique<AccessService>(policy);
}

}  // namespace berth::services
