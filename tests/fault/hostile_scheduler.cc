#include "tests/fault/hostile_scheduler.h"

#include <grpcpp/client_context.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace berth::fault {
namespace {

namespace tracker_pb = ::berth::tracker::v1;

constexpr absl::Duration kHostileCallMax = absl::Seconds(5);
constexpr absl::Duration kUsageWaitMax =
    absl::Milliseconds(50);  // of a call that waits for a record

}  // namespace

HostileScheduler::HostileScheduler(const HostilePlan& plan, uint64_t seed)
    : plan_(plan),
      random_(static_cast<uint32_t>(seed)),
      words_(plan.knowledge->WordsOf({})),
      service_(Service::NewStub(
          plan.site->Connect("scheduler/hostile", plan.attacked->tracker->address()))) {}

void HostileScheduler::Run() {
  while (plan_.pace->Await()) CallOnce();
}

template <typename Request, typename Response>
void HostileScheduler::Call(const char* kind,
                            grpc::Status (Service::Stub::*method)(grpc::ClientContext*,
                                                                  const Request&, Response*),
                            Request request, absl::Duration limit) {
  const size_t fate = random_() % 8;
  if (fate > 1) mutator_.Spoil(&request);
  if (fate == 1) mutator_.DisguiseUuid(&request);
  Response response;
  const grpc::Status status =
      (service_.get()->*method)(CallWithin(limit).get(), request, &response);
  plan_.tally->Add(kind, AnswerOf(status));
}

void HostileScheduler::CallOnce() {
  switch (random_() % 16) {
    case 0:
      return Call("ListNodes", &Service::Stub::ListNodes, tracker_pb::ListNodesRequest(),
                  kHostileCallMax);
    case 1: {
      tracker_pb::GetNodeViewRequest request;
      request.set_node_uuid(plan_.attacked->node);
      return Call("GetNodeView", &Service::Stub::GetNodeView, request, kHostileCallMax);
    }
    case 2: {
      tracker_pb::UpdateUsageRequest request;
      request.set_node_uuid(plan_.attacked->node);
      *request.mutable_instance() = plan_.knowledge->Any(&random_);
      return Call("UpdateUsage", &Service::Stub::UpdateUsage, request, kUsageWaitMax);
    }
    case 3:
      return Call("SetProviderStatus", &Service::Stub::SetProviderStatus,
                  tracker_pb::SetProviderStatusRequest(), kHostileCallMax);
    case 4:
      return Call("DropMoveClaim", &Service::Stub::DropMoveClaim, MakeDrop(), kHostileCallMax);
    case 5:
    case 6:
    case 7:
      return Call("ClaimMove", &Service::Stub::ClaimMove, MakeMoveClaim(), kHostileCallMax);
    case 8:
    case 9:
    case 10:
      return Call("AbortClaim", &Service::Stub::AbortClaim, MakeAbort(), kHostileCallMax);
    default:
      return Call("ClaimInstance", &Service::Stub::ClaimInstance, MakeClaim(), kHostileCallMax);
  }
}

tracker_pb::ClaimInstanceRequest HostileScheduler::MakeClaim() {
  tracker_pb::ClaimInstanceRequest request;
  if (random_() % 2 == 0) request.set_request_id(absl::StrCat("request-", random_() % 100));
  request.set_node_uuid(plan_.attacked->node);
  *request.mutable_instance() = plan_.knowledge->Any(&random_);
  if (random_() % 4 == 0) request.mutable_limits()->set_memory_mib(1 << 20);
  if (random_() % 4 == 0) {
    placement::v1::PciRequest* const device = request.mutable_instance()->add_pci_requests();
    device->set_request_id("device");
    device->set_count(1);
    (*device->add_alternatives()->mutable_properties())["vendor_id"] = "8086";
  }
  auto* const held = request.add_allocations();
  held->set_provider_uuid(plan_.attacked->node);
  (*held->mutable_resources())["MEMORY_MB"] = 64;
  return request;
}

tracker_pb::ClaimMoveRequest HostileScheduler::MakeMoveClaim() {
  tracker_pb::ClaimMoveRequest request;
  const auto [instance, migration] = plan_.knowledge->Moving(&random_);
  request.set_node_uuid(plan_.attacked->node);
  *request.mutable_instance() = random_() % 4 == 0 ? plan_.knowledge->Any(&random_) : instance;
  *request.mutable_migration() = migration;
  if (random_() % 4 == 0) *request.mutable_new_flavor() = instance.flavor();
  return request;
}

tracker_pb::AbortClaimRequest HostileScheduler::MakeAbort() {
  tracker_pb::AbortClaimRequest request;
  request.set_node_uuid(plan_.attacked->node);
  if (random_() % 2 == 0) {
    request.set_claim_id(plan_.knowledge->Moving(&random_).second.uuid());
  } else {
    const placement::v1::Instance own = plan_.knowledge->Own(&random_);
    const int64_t base = own.host().empty() ? own.generation() : own.claimed_generation();
    request.set_claim_id(absl::StrCat(own.uuid(), "/", base));
  }
  return request;
}

tracker_pb::DropMoveClaimRequest HostileScheduler::MakeDrop() {
  tracker_pb::DropMoveClaimRequest request;
  const auto [instance, migration] = plan_.knowledge->Moving(&random_);
  request.set_node_uuid(plan_.attacked->node);
  request.set_instance_uuid(instance.uuid());
  request.set_migration_uuid(migration.uuid());
  request.set_side(random_() % 2 == 0 ? tracker_pb::MOVE_SIDE_OLD : tracker_pb::MOVE_SIDE_NEW);
  return request;
}

}  // namespace berth::fault
