// AccessService: tells callers who they are for this server, and what they may do.
//
// Reads only the call's own connection and AccessTable. Thread-safe.
#ifndef BERTH_SERVICES_PROCESS_ACCESS_SERVICE_H_
#define BERTH_SERVICES_PROCESS_ACCESS_SERVICE_H_

#include <memory>

#include "absl/status/status.h"
#include "berth/access/v1/access_service.pb.h"
#include "services/process/caller.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace berth::services {

// Answers `request` of `caller`. Fails with INVALID_ARGUMENT / INVALID_FIELD if not exactly one
// method has a name of the request.
absl::Status AnswerWhoAmI(const Caller& caller, const access::v1::WhoAmIRequest& request,
                          access::v1::WhoAmIResponse* response);

std::unique_ptr<grpc::Service> MakeAccessService();

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_ACCESS_SERVICE_H_
