#include "tests/oracle/grpc_subject.h"

#include <chrono>
#include <utility>
#include <variant>
#include <vector>

#include "berth/placement/v1/allocation.grpc.pb.h"
#include "berth/placement/v1/association.grpc.pb.h"
#include "berth/placement/v1/candidate.grpc.pb.h"
#include "berth/placement/v1/catalog.grpc.pb.h"
#include "berth/placement/v1/inventory.grpc.pb.h"
#include "berth/placement/v1/provider.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/grpcpp.h"
#include "placement/ground/check.h"
#include "placement/values/refusal.h"
#include "tests/oracle/grpc_message.h"

namespace berth::oracle {
namespace {

constexpr auto kDeadline = std::chrono::seconds(20);

// A refusal as the domain writes it: reason and items out of the ErrorInfos.
absl::Status StatusOf(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const auto code = static_cast<absl::StatusCode>(status.error_code());
  google::rpc::Status details;
  std::string reason;
  std::vector<placement::FaultItem> items;
  if (details.ParseFromString(status.error_details())) {
    for (const auto& any : details.details()) {
      google::rpc::ErrorInfo info;
      if (!any.UnpackTo(&info)) continue;
      reason = info.reason();
      items.emplace_back(info.metadata().begin(), info.metadata().end());
    }
  }
  if (reason.empty()) return absl::Status(code, status.error_message());
  return placement::Refuse(code, reason, status.error_message(), std::move(items));
}

// Calls `method` of `stub`. Never waits for ever.
template <typename Stub, typename Method, typename Request, typename Response>
absl::Status Call(const std::unique_ptr<Stub>& stub, Method method, const Request& request,
                  Response& response) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  return StatusOf(((*stub).*method)(&context, request, &response));
}

template <typename Request>
void SetGeneration(const std::optional<Generation>& generation, Request& request) {
  if (generation) request.set_expected_generation(generation->value);
}

}  // namespace

struct GrpcSubject::Stubs {
  std::unique_ptr<pb::ProviderService::Stub> provider;
  std::unique_ptr<pb::InventoryService::Stub> inventory;
  std::unique_ptr<pb::AssociationService::Stub> association;
  std::unique_ptr<pb::CatalogService::Stub> catalog;
  std::unique_ptr<pb::AllocationService::Stub> allocation;
  std::unique_ptr<pb::CandidateService::Stub> candidate;

  absl::Status Write(const placement::CreateProvider& command) {
    pb::CreateProviderRequest request;
    pb::CreateProviderResponse response;
    if (command.id) request.set_uuid(command.id->ToString());
    request.set_name(command.name);
    if (command.parent) request.set_parent_uuid(command.parent->ToString());
    return Call(provider, &pb::ProviderService::Stub::CreateProvider, request, response);
  }
  absl::Status Write(const placement::UpdateProvider& command) {
    pb::UpdateProviderRequest request;
    pb::UpdateProviderResponse response;
    request.set_provider_uuid(command.id.ToString());
    if (command.name) request.set_name(*command.name);
    if (command.parent && *command.parent) request.set_parent_uuid((*command.parent)->ToString());
    if (command.parent && !*command.parent) request.mutable_no_parent();
    return Call(provider, &pb::ProviderService::Stub::UpdateProvider, request, response);
  }
  absl::Status Write(const placement::DeleteProvider& command) {
    pb::DeleteProviderRequest request;
    pb::DeleteProviderResponse response;
    request.set_provider_uuid(command.id.ToString());
    return Call(provider, &pb::ProviderService::Stub::DeleteProvider, request, response);
  }
  absl::Status Write(const placement::SetInventories& command) {
    pb::SetInventoriesRequest request;
    pb::SetInventoriesResponse response;
    request.set_provider_uuid(command.provider.ToString());
    SetGeneration(command.expected_generation, request);
    for (const placement::NamedInventory& each : command.inventories) {
      (*request.mutable_inventories())[each.resource_class] = MessageOf(each.inventory);
    }
    return Call(inventory, &pb::InventoryService::Stub::SetInventories, request, response);
  }
  absl::Status Write(const placement::DeleteInventory& command) {
    BERTH_CHECK(!command.resource_class);  // the oracle deletes all of them or none
    pb::DeleteAllInventoriesRequest request;
    pb::DeleteAllInventoriesResponse response;
    request.set_provider_uuid(command.provider.ToString());
    SetGeneration(command.expected_generation, request);
    return Call(inventory, &pb::InventoryService::Stub::DeleteAllInventories, request, response);
  }
  absl::Status Write(const placement::SetProviderTraits& command) {
    pb::SetProviderTraitsRequest request;
    pb::SetProviderTraitsResponse response;
    request.set_provider_uuid(command.provider.ToString());
    SetGeneration(command.expected_generation, request);
    for (const std::string& trait : command.traits) request.add_traits(trait);
    return Call(association, &pb::AssociationService::Stub::SetProviderTraits, request, response);
  }
  absl::Status Write(const placement::SetProviderAggregates& command) {
    pb::SetProviderAggregatesRequest request;
    pb::SetProviderAggregatesResponse response;
    request.set_provider_uuid(command.provider.ToString());
    SetGeneration(command.expected_generation, request);
    for (AggregateId id : command.aggregates) request.add_aggregate_uuids(id.ToString());
    return Call(association, &pb::AssociationService::Stub::SetProviderAggregates, request,
                response);
  }
  absl::Status Write(const placement::CreateClass& command) {
    pb::EnsureClassRequest request;
    pb::EnsureClassResponse response;
    request.set_name(command.name);
    return Call(catalog, &pb::CatalogService::Stub::EnsureClass, request, response);
  }
  absl::Status Write(const placement::EnsureTrait& command) {
    pb::EnsureTraitRequest request;
    pb::EnsureTraitResponse response;
    request.set_name(command.name);
    return Call(catalog, &pb::CatalogService::Stub::EnsureTrait, request, response);
  }
  absl::Status Write(const placement::SetAllocations& command) {
    pb::SetAllocationsRequest request;
    pb::SetAllocationsResponse response;
    for (const auto& claim : command.consumers) *request.add_consumers() = MessageOf(claim);
    return Call(allocation, &pb::AllocationService::Stub::SetAllocations, request, response);
  }
  absl::Status Write(const placement::DeleteAllocations& command) {
    pb::DeleteAllocationsRequest request;
    pb::DeleteAllocationsResponse response;
    request.set_consumer_uuid(command.consumer.ToString());
    SetGeneration(command.expected_generation, request);
    return Call(allocation, &pb::AllocationService::Stub::DeleteAllocations, request, response);
  }
  template <typename Other>
  absl::Status Write(const Other&) {
    return absl::UnimplementedError("no recording has this operation");
  }
};

GrpcSubject::GrpcSubject(const std::string& address) : stubs_(std::make_unique<Stubs>()) {
  const auto channel = grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
  stubs_->provider = pb::ProviderService::NewStub(channel);
  stubs_->inventory = pb::InventoryService::NewStub(channel);
  stubs_->association = pb::AssociationService::NewStub(channel);
  stubs_->catalog = pb::CatalogService::NewStub(channel);
  stubs_->allocation = pb::AllocationService::NewStub(channel);
  stubs_->candidate = pb::CandidateService::NewStub(channel);
}

GrpcSubject::~GrpcSubject() = default;

absl::Status GrpcSubject::Write(const CommandBody& command) {
  return std::visit([this](const auto& body) { return stubs_->Write(body); }, command);
}

absl::StatusOr<Found> GrpcSubject::Find(const CandidateRequest& request) {
  pb::FindCandidatesRequest message;
  pb::FindCandidatesResponse response;
  *message.mutable_query() = MessageOf(request);
  const absl::Status status =
      Call(stubs_->candidate, &pb::CandidateService::Stub::FindCandidates, message, response);
  if (!status.ok()) return status;
  if (response.truncated()) return absl::InternalError("the answer was cut");
  return FoundIn(response);
}

std::optional<ProviderView> GrpcSubject::Provider(ProviderId id) {
  pb::GetProviderRequest request;
  pb::GetProviderResponse response;
  request.set_provider_uuid(id.ToString());
  request.set_view(pb::PROVIDER_VIEW_FULL);
  const absl::Status status =
      Call(stubs_->provider, &pb::ProviderService::Stub::GetProvider, request, response);
  if (!status.ok()) return std::nullopt;
  return ViewOf(response.provider());
}

std::optional<ConsumerView> GrpcSubject::Consumer(ConsumerId id) {
  pb::GetAllocationsRequest request;
  pb::GetAllocationsResponse response;
  request.set_consumer_uuid(id.ToString());
  const absl::Status status =
      Call(stubs_->allocation, &pb::AllocationService::Stub::GetAllocations, request, response);
  if (!status.ok() || response.consumer().allocations().empty()) return std::nullopt;
  return ViewOf(response.consumer());
}

}  // namespace berth::oracle
