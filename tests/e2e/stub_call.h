// TryCall and MustCall: calls of a stub's method, with a deadline of a minute. Reasons: why a call
// failed. Thread-safe.
//
//   MustCall<pb::FleetService>(channel, &pb::FleetService::Stub::ListNodes, request).nodes()
#ifndef BERTH_TESTS_E2E_STUB_CALL_H_
#define BERTH_TESTS_E2E_STUB_CALL_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "tests/processes/identity.h"
#include "tests/processes/service_process.h"

namespace berth::e2e {

inline std::shared_ptr<grpc::Channel> ConnectTo(const ServiceProcess& process) {
  return grpc::CreateChannel(process.address(), CredentialsOf());
}

template <typename Service, typename Request, typename Response>
grpc::Status TryCall(const std::shared_ptr<grpc::Channel>& channel,
                     grpc::Status (Service::Stub::*method)(grpc::ClientContext*, const Request&,
                                                           Response*),
                     const Request& request, Response* response) {
  const auto stub = Service::NewStub(channel);
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Minutes(1)));
  return (stub.get()->*method)(&context, request, response);
}

// The test fails if the call fails.
template <typename Service, typename Request, typename Response>
Response MustCall(const std::shared_ptr<grpc::Channel>& channel,
                  grpc::Status (Service::Stub::*method)(grpc::ClientContext*, const Request&,
                                                        Response*),
                  const Request& request) {
  Response response;
  const grpc::Status status = TryCall<Service>(channel, method, request, &response);
  EXPECT_TRUE(status.ok()) << request.GetTypeName() << ": " << status.error_message();
  return response;
}

// The reason and the value of `key` of each ErrorInfo of the status.
inline std::vector<std::string> Reasons(const grpc::Status& status, const std::string& key = "") {
  google::rpc::Status details;
  details.ParseFromString(status.error_details());
  std::vector<std::string> reasons;
  for (const auto& detail : details.details()) {
    google::rpc::ErrorInfo info;
    if (!detail.UnpackTo(&info)) continue;
    const auto value = info.metadata().find(key);
    reasons.push_back(value == info.metadata().end() ? info.reason()
                                                     : info.reason() + " " + value->second);
  }
  return reasons;
}

}  // namespace berth::e2e

#endif  // BERTH_TESTS_E2E_STUB_CALL_H_
