// Schedule: what a scheduler does before it claims an instance from the tracker of a host.
#ifndef BERTH_TESTS_PROCESSES_SCHEDULED_H_
#define BERTH_TESTS_PROCESSES_SCHEDULED_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <chrono>
#include <memory>
#include <string>

#include "berth/placement/v1/allocation.grpc.pb.h"

namespace berth::e2e {

// Allocates 1 MiB of the node's memory to the instance, so that the instance holds something there.
// REQUIRES: the instance holds nothing.
inline grpc::Status Schedule(const std::shared_ptr<grpc::Channel>& placement,
                             const std::string& instance, const std::string& node) {
  placement::v1::SetAllocationsRequest request;
  placement::v1::ConsumerAllocations* const consumer = request.add_consumers();
  consumer->set_consumer_uuid(instance);
  consumer->mutable_new_consumer();
  consumer->set_project_id("p");
  consumer->set_user_id("u");
  consumer->set_consumer_type("INSTANCE");
  placement::v1::ProviderAllocation* const allocation = consumer->add_allocations();
  allocation->set_provider_uuid(node);
  (*allocation->mutable_resources())["MEMORY_MB"] = 1;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  placement::v1::SetAllocationsResponse response;
  return placement::v1::AllocationService::NewStub(placement)->SetAllocations(&context, request,
                                                                              &response);
}

}  // namespace berth::e2e

#endif  // BERTH_TESTS_PROCESSES_SCHEDULED_H_
