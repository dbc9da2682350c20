#include "tests/bench/requests.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "berth/placement/v1/allocation.pb.h"
#include "berth/placement/v1/association.pb.h"
#include "berth/placement/v1/candidate.pb.h"
#include "berth/placement/v1/inventory.pb.h"
#include "berth/placement/v1/provider.pb.h"
#include "tests/bench/topology.h"

namespace berth::bench {
namespace {

namespace pb = berth::placement::v1;

// A placeholder for the uuid of a consumer.
constexpr char kAnyConsumer[] = "cccccccc-cccc-4ccc-8ccc-cccccccccccc";
// A placeholder for a request id.
constexpr char kAnyRequestId[] = "dddddddd-dddd-4ddd-8ddd-dddddddddddd";

template <typename Map>
void AddAmounts(const Amounts& amounts, Map* to) {
  (*to)["VCPU"] = amounts.vcpu;
  (*to)["MEMORY_MB"] = amounts.memory_mb;
  (*to)["DISK_GB"] = amounts.disk_gb;
}

// Where `text` stands in `bytes`.
std::vector<size_t> PlacesOf(const std::string& text, const std::string& bytes) {
  std::vector<size_t> places;
  for (size_t at = bytes.find(text); at != std::string::npos; at = bytes.find(text, at + 1)) {
    places.push_back(at);
  }
  return places;
}

std::string RandomUuid(std::mt19937_64& random) {
  const uint64_t high = random();
  const uint64_t low = random();
  return absl::StrFormat("%08x-%04x-4%03x-8%03x-%012x", high >> 32, (high >> 16) & 0xffff,
                         high & 0xfff, low >> 52, low & 0xffffffffffff);
}

pb::ConsumerAllocations* AddConsumer(const std::string& uuid, pb::SetAllocationsRequest* to) {
  pb::ConsumerAllocations* consumer = to->add_consumers();
  consumer->set_consumer_uuid(uuid);
  consumer->mutable_new_consumer();
  consumer->set_project_id("bench");
  consumer->set_user_id("bench");
  consumer->set_consumer_type("INSTANCE");
  return consumer;
}

}  // namespace

std::string HostUuid(int64_t number) {
  return absl::StrFormat("00000000-0000-4000-8000-%012d", number);
}

std::string HostName(int64_t number) { return absl::StrFormat("host-%05d", number); }

std::string CreateHostRequest(int64_t number) {
  pb::CreateProviderRequest request;
  request.set_uuid(HostUuid(number));
  request.set_name(HostName(number));
  return request.SerializeAsString();
}

std::string HostInventoriesRequest(int64_t number, int64_t generation) {
  pb::SetInventoriesRequest request;
  request.set_provider_uuid(HostUuid(number));
  request.set_expected_generation(generation);
  FillHostInventories(number, request.mutable_inventories());
  return request.SerializeAsString();
}

std::string HostTraitsRequest(int64_t number, int64_t generation) {
  pb::SetProviderTraitsRequest request;
  request.set_provider_uuid(HostUuid(number));
  request.set_expected_generation(generation);
  request.add_traits(kHostTrait);
  return request.SerializeAsString();
}

std::string HostAggregatesRequest(int64_t number, int64_t generation) {
  pb::SetProviderAggregatesRequest request;
  request.set_provider_uuid(HostUuid(number));
  request.set_expected_generation(generation);
  request.add_aggregate_uuids(kHostAggregate);
  return request.SerializeAsString();
}

ClaimRequests::ClaimRequests(int64_t host_count, int consumers, const Amounts& amounts,
                             bool with_request_id)
    : host_count_(host_count) {
  pb::SetAllocationsRequest request;
  if (with_request_id) request.set_request_id(kAnyRequestId);
  for (int i = 0; i < consumers; ++i) {
    pb::ProviderAllocation* allocation = AddConsumer(kAnyConsumer, &request)->add_allocations();
    allocation->set_provider_uuid(HostUuid(0));
    AddAmounts(amounts, allocation->mutable_resources());
  }
  bytes_ = request.SerializeAsString();
  consumers_at_ = PlacesOf(kAnyConsumer, bytes_);
  hosts_at_ = PlacesOf(HostUuid(0), bytes_);
  request_id_at_ = bytes_.find(kAnyRequestId);
}

std::string ClaimRequests::Next() {
  std::vector<int64_t> hosts;
  for (size_t i = 0; i < consumers_at_.size(); ++i) {
    hosts.push_back(static_cast<int64_t>(random_() % static_cast<uint64_t>(host_count_)));
  }
  return NextOn(hosts);
}

std::string ClaimRequests::NextOn(absl::Span<const int64_t> hosts) {
  for (size_t i = 0; i < consumers_at_.size(); ++i) Put(i, HostUuid(hosts[i]));
  PutRequestId();
  return bytes_;
}

std::string ClaimRequests::NextOn(const std::string& host) {
  for (size_t i = 0; i < consumers_at_.size(); ++i) Put(i, host);
  PutRequestId();
  return bytes_;
}

void ClaimRequests::Put(size_t at, const std::string& host) {
  consumer_ = RandomUuid(random_);
  bytes_.replace(consumers_at_[at], consumer_.size(), consumer_);
  bytes_.replace(hosts_at_[at], host.size(), host);
}

void ClaimRequests::PutRequestId() {
  if (request_id_at_ == std::string::npos) return;
  const std::string id = RandomUuid(random_);
  bytes_.replace(request_id_at_, id.size(), id);
}

std::string ReleaseRequest(const std::string& consumer) {
  pb::DeleteAllocationsRequest request;
  request.set_consumer_uuid(consumer);
  return request.SerializeAsString();
}

TreeClaimRequests::TreeClaimRequests(int64_t tree_count) : tree_count_(tree_count) {}

std::string TreeClaimRequests::Next() {
  const int64_t tree = next_++ % tree_count_;
  pb::SetAllocationsRequest request;
  pb::ConsumerAllocations* consumer = AddConsumer(RandomUuid(random_), &request);
  const auto add = [&](TreePart part) -> auto& {
    pb::ProviderAllocation* allocation = consumer->add_allocations();
    allocation->set_provider_uuid(TreePartUuid(tree, part));
    return *allocation->mutable_resources();
  };
  add(TreePart::kHost)["DISK_GB"] = 10;
  auto& numa = add(TreePart::kNuma1);
  numa["VCPU"] = 1;
  numa["MEMORY_MB"] = 256;
  add(TreePart::kFpga1)["FPGA"] = 1;
  return request.SerializeAsString();
}

pb::FindCandidatesRequest TreeCandidatesRequest(int limit) {
  pb::FindCandidatesRequest request;
  if (limit > 0) request.set_limit(limit);
  pb::CandidateQuery& query = *request.mutable_query();
  const auto require = [](const char* trait, pb::RequestGroup* of) {
    of->add_required_traits()->add_any_of(trait);
  };
  pb::RequestGroup* host = query.add_groups();
  (*host->mutable_resources())["DISK_GB"] = 10;
  require(kTreeRootTrait, host);
  pb::RequestGroup* compute = query.add_groups();
  compute->set_suffix("_COMPUTE");
  (*compute->mutable_resources())["VCPU"] = 1;
  (*compute->mutable_resources())["MEMORY_MB"] = 256;
  require(kTreeTrait, compute);
  pb::RequestGroup* accelerator = query.add_groups();
  accelerator->set_suffix("_FPGA");
  (*accelerator->mutable_resources())["FPGA"] = 1;
  query.set_group_policy(pb::GROUP_POLICY_NONE);
  pb::SuffixSet* together = query.add_same_subtree();
  together->add_suffixes("_COMPUTE");
  together->add_suffixes("_FPGA");
  return request;
}

std::string ClaimOf(const pb::Candidate& candidate, std::mt19937_64& random) {
  pb::SetAllocationsRequest request;
  *AddConsumer(RandomUuid(random), &request)->mutable_allocations() = candidate.allocations();
  return request.SerializeAsString();
}

ClaimSearchRequests::ClaimSearchRequests(bool spread) {
  pb::ClaimRequest request;
  pb::ClaimConsumer* consumer = request.mutable_consumer();
  consumer->set_consumer_uuid(kAnyConsumer);
  consumer->mutable_new_consumer();
  consumer->set_project_id("bench");
  consumer->set_user_id("bench");
  consumer->set_consumer_type("INSTANCE");
  AddAmounts(Amounts(), request.mutable_query()->add_groups()->mutable_resources());
  if (spread) request.mutable_order()->set_strategy(pb::STRATEGY_SPREAD);
  bytes_ = request.SerializeAsString();
  consumer_at_ = bytes_.find(kAnyConsumer);
}

std::string ClaimSearchRequests::Next() {
  const std::string consumer = RandomUuid(random_);
  bytes_.replace(consumer_at_, consumer.size(), consumer);
  return bytes_;
}

pb::FindCandidatesRequest CandidatesRequest(int limit, const Amounts& amounts) {
  pb::FindCandidatesRequest request;
  if (limit > 0) request.set_limit(limit);
  AddAmounts(amounts, request.mutable_query()->add_groups()->mutable_resources());
  return request;
}

pb::FindCandidatesRequest MarkedCandidatesRequest(int limit) {
  pb::FindCandidatesRequest request = CandidatesRequest(limit, {.disk_gb = 10});
  pb::RequestGroup& group = *request.mutable_query()->mutable_groups(0);
  group.add_required_traits()->add_any_of(kHostTrait);
  group.add_member_of()->add_any_of(kHostAggregate);
  return request;
}

std::string RandomCandidatesRequest(int limit, const Amounts& amounts) {
  pb::FindCandidatesRequest request;
  request.set_limit(limit);
  request.set_omit_summaries(true);
  request.mutable_order()->set_strategy(pb::STRATEGY_RANDOM);
  AddAmounts(amounts, request.mutable_query()->add_groups()->mutable_resources());
  return request.SerializeAsString();
}

std::string DevicesRequest(int groups) {
  pb::FindCandidatesRequest request;
  request.set_limit(kDeviceCandidates);
  request.mutable_query()->set_group_policy(pb::GROUP_POLICY_ISOLATE);
  for (int i = 0; i < groups; ++i) {
    pb::RequestGroup* group = request.mutable_query()->add_groups();
    group->set_suffix(absl::StrCat("_", i));
    (*group->mutable_resources())[kDeviceClass] = 1;
  }
  return request.SerializeAsString();
}

}  // namespace berth::bench
