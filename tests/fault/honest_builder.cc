#include "tests/fault/honest_builder.h"

#include "absl/time/time.h"
#include "placement/ground/uuid.h"

namespace berth::fault {
namespace {

namespace pb = ::berth::placement::v1;
namespace tracker_pb = ::berth::tracker::v1;

constexpr size_t kComplaintsMax = 10;  // more say nothing new

}  // namespace

pb::Instance NewInstance(bool pinned) {
  pb::Instance instance;
  instance.set_uuid(placement::Uuid::Random().ToString());
  instance.set_project_id("p");
  instance.set_user_id("u");
  instance.set_vm_state("building");
  instance.set_task_state("spawning");
  instance.mutable_flavor()->set_vcpus(1);
  instance.mutable_flavor()->set_memory_mib(kInstanceMemoryMib);
  if (!pinned) return instance;
  (*instance.mutable_flavor()->mutable_extra_specs())["hw:cpu_policy"] = "dedicated";
  pb::GuestCell* const cell = instance.add_numa_cells();
  cell->add_pinned_cpus(0);
  cell->set_memory_mib(kInstanceMemoryMib);
  cell->set_cpu_policy("dedicated");
  return instance;
}

HonestBuilder::HonestBuilder(const CertifiedSite& site, const CertifiedSite::Host& host,
                             bool contended)
    : host_(host.name), node_(host.node), contended_(contended) {
  const std::shared_ptr<grpc::Channel> channel =
      site.ConnectToPlacement("scheduler/builder-of-" + host.name);
  instances_ = pb::InstanceService::NewStub(channel);
  allocations_ = pb::AllocationService::NewStub(channel);
  claims_ = tracker_pb::TrackerService::NewStub(
      site.Connect("scheduler/builder-of-" + host.name, host.tracker->address()));
}

void HonestBuilder::Run(const std::atomic<bool>& stop) {
  for (bool pinned = false; !stop; pinned = !pinned) {
    const pb::Instance record = Build(pinned);
    if (!record.uuid().empty()) Abort(ClaimIdOf(record));
    if (!record.uuid().empty()) Delete(record.uuid());
  }
}

pb::Instance HonestBuilder::BuildToStay() { return Build(true); }

pb::Instance HonestBuilder::Build(bool pinned) {
  const pb::Instance record = Create(NewInstance(pinned));
  Allocate(record.uuid(), node_, pinned ? "PCPU" : "VCPU", kInstanceMemoryMib);
  if (!Claim(record)) {
    Delete(record.uuid());
    return {};
  }
  const pb::Instance claimed = Get(record.uuid());
  Holds(claimed.host() == host_ && claimed.node_uuid() == node_,
        absl::StrCat("a granted claim is not in the record: ", claimed.ShortDebugString()));
  ++built_;
  return claimed;
}

pb::Instance HonestBuilder::Create(const pb::Instance& instance) {
  pb::SetInstanceRequest request;
  *request.mutable_instance() = instance;
  pb::SetInstanceResponse response;
  Succeeds(instances_->SetInstance(CallWithin(kAnswerMax).get(), request, &response),
           "SetInstance");
  return response.instance();
}

pb::Instance HonestBuilder::Get(const std::string& uuid) {
  pb::GetInstanceRequest request;
  request.set_instance_uuid(uuid);
  pb::GetInstanceResponse response;
  Succeeds(instances_->GetInstance(CallWithin(kAnswerMax).get(), request, &response),
           "GetInstance");
  return response.instance();
}

// Returns the generation of the consumer. `unit`: a class of which it gets one, or null.
int64_t HonestBuilder::Allocate(const std::string& consumer, const std::string& node,
                                const char* unit, int64_t memory_mib) {
  pb::SetAllocationsRequest request;
  pb::ConsumerAllocations* const wanted = request.add_consumers();
  wanted->set_consumer_uuid(consumer);
  wanted->mutable_new_consumer();
  wanted->set_project_id("p");
  wanted->set_user_id("u");
  wanted->set_consumer_type("INSTANCE");
  pb::ProviderAllocation* const allocation = wanted->add_allocations();
  allocation->set_provider_uuid(node);
  (*allocation->mutable_resources())["MEMORY_MB"] = memory_mib;
  if (unit != nullptr) (*allocation->mutable_resources())[unit] = 1;
  pb::SetAllocationsResponse response;
  Succeeds(allocations_->SetAllocations(CallWithin(kAnswerMax).get(), request, &response),
           "SetAllocations");
  const auto generation = response.consumer_generations().find(consumer);
  return generation == response.consumer_generations().end() ? 0 : generation->second;
}

bool HonestBuilder::Claim(const pb::Instance& record) {
  tracker_pb::ClaimInstanceRequest request;
  request.set_node_uuid(node_);
  *request.mutable_instance() = record;
  tracker_pb::ClaimInstanceResponse response;
  const grpc::Status status =
      claims_->ClaimInstance(CallWithin(kAnswerMax).get(), request, &response);
  if (contended_ && ReasonIn(status) == "RESOURCES_UNAVAILABLE") {
    ++refused_;
    return false;
  }
  return Succeeds(status, "ClaimInstance");
}

std::string HonestBuilder::ClaimIdOf(const pb::Instance& record) {
  return absl::StrCat(record.uuid(), "/", record.claimed_generation());
}

bool HonestBuilder::Abort(const std::string& claim_id) {
  tracker_pb::AbortClaimRequest request;
  request.set_node_uuid(node_);
  request.set_claim_id(claim_id);
  tracker_pb::AbortClaimResponse response;
  return Succeeds(claims_->AbortClaim(CallWithin(kAnswerMax).get(), request, &response),
                  "AbortClaim") &&
         Holds(response.aborted(), "AbortClaim did not abort");
}

void HonestBuilder::Delete(const std::string& instance) {
  pb::DeleteAllocationsRequest release;
  release.set_consumer_uuid(instance);
  pb::DeleteAllocationsResponse released;
  Succeeds(allocations_->DeleteAllocations(CallWithin(kAnswerMax).get(), release, &released),
           "DeleteAllocations");
  pb::DeleteInstanceRequest request;
  request.set_instance_uuid(instance);
  pb::DeleteInstanceResponse response;
  Succeeds(instances_->DeleteInstance(CallWithin(kAnswerMax).get(), request, &response),
           "DeleteInstance");
}

bool HonestBuilder::Holds(bool good, const std::string& what) {
  if (!good && complaints_.size() < kComplaintsMax) {
    complaints_.push_back(absl::StrCat(host_, ": ", what));
  }
  return good;
}

}  // namespace berth::fault
