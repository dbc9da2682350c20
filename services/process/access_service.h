// AccessService: tells callers who they are for this server, what they may do, and what the access
// file says.
//
// Reads only the call's own connection, AccessTable and AccessPolicy. Thread-safe.
#ifndef BERTH_SERVICES_PROCESS_ACCESS_SERVICE_H_
#define BERTH_SERVICES_PROCESS_ACCESS_SERVICE_H_

#include <memory>

#include "absl/status/status.h"
#include "berth/access/v1/access_service.pb.h"
#include "services/access/policy.h"
#include "services/process/caller.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace berth::services {

// Answers `request` of `caller`. Fails with INVALID_ARGUMENT / INVALID_FIELD if not exactly one
// method has a name of the request.
absl::Status AnswerWhoAmI(const Caller& caller, const access::v1::WhoAmIRequest& request,
                          access::v1::WhoAmIResponse* response);

// Fills in the rules that are in force in `policy`.
void FillAccessRules(const AccessPolicy& policy, access::v1::GetAccessRulesResponse* response);

// `policy` must outlive the service. Null: nothing is limited.
std::unique_ptr<grpc::Service> MakeAccessService(const AccessPolicy* policy);

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_ACCESS_SERVICE_H_
