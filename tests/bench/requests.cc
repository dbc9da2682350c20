#include "tests/bench/requests.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "berth/placement/v1/allocation.pb.h"
#include "berth/placement/v1/association.pb.h"
#include "berth/placement/v1/candidate.pb.h"
#include "berth/placement/v1/catalog.pb.h"
#include "berth/placement/v1/inventory.pb.h"
#include "berth/placement/v1/provider.pb.h"

namespace berth::bench {
namespace {

namespace pb = berth::placement::v1;

constexpr char kDeviceClass[] = "CUSTOM_BENCH_DEVICE";
// Stands where a consumer's uuid will be.
constexpr char kAnyConsumer[] = "cccccccc-cccc-4ccc-8ccc-cccccccccccc";

template <typename Map>
void AddAmounts(Map* amounts) {
  (*amounts)["VCPU"] = 1;
  (*amounts)["MEMORY_MB"] = 256;
  (*amounts)["DISK_GB"] = 1;
}

pb::Inventory InventoryOf(int64_t total, int64_t reserved, double ratio) {
  pb::Inventory inventory;
  inventory.set_total(total);
  inventory.set_reserved(reserved);
  inventory.set_allocation_ratio(ratio);
  return inventory;
}

std::string DeviceUuid(int device) {
  return absl::StrFormat("11111111-0000-4000-8000-%012d", device);
}

std::string RandomConsumer(std::mt19937_64& random) {
  const uint64_t high = random();
  const uint64_t low = random();
  return absl::StrFormat("%08x-%04x-4%03x-8%03x-%012x", high >> 32, (high >> 16) & 0xffff,
                         high & 0xfff, low >> 52, low & 0xffffffffffff);
}

}  // namespace

std::string HostUuid(int64_t number) {
  return absl::StrFormat("00000000-0000-4000-8000-%012d", number);
}

std::string CreateHostRequest(int64_t number) {
  pb::CreateProviderRequest request;
  request.set_uuid(HostUuid(number));
  request.set_name(absl::StrFormat("host-%05d", number));
  return request.SerializeAsString();
}

std::string HostInventoriesRequest(int64_t number, int64_t generation) {
  pb::SetInventoriesRequest request;
  request.set_provider_uuid(HostUuid(number));
  request.set_expected_generation(generation);
  auto& inventories = *request.mutable_inventories();
  if (number == kHotHost) {
    for (const char* name : {"VCPU", "MEMORY_MB", "DISK_GB"}) {
      inventories[name] = InventoryOf(std::numeric_limits<int32_t>::max(), 0, 1);
    }
    return request.SerializeAsString();
  }
  inventories["VCPU"] = InventoryOf(64, 0, 16);
  inventories["MEMORY_MB"] = InventoryOf(262144, 512, 1.5);
  inventories["DISK_GB"] = InventoryOf(4096, 0, 1);
  return request.SerializeAsString();
}

std::string HostTraitsRequest(int64_t number, int64_t generation) {
  pb::SetProviderTraitsRequest request;
  request.set_provider_uuid(HostUuid(number));
  request.set_expected_generation(generation);
  request.add_traits("HW_CPU_X86_AVX2");
  return request.SerializeAsString();
}

std::string HostAggregatesRequest(int64_t number, int64_t generation) {
  pb::SetProviderAggregatesRequest request;
  request.set_provider_uuid(HostUuid(number));
  request.set_expected_generation(generation);
  request.add_aggregate_uuids("aaaaaaaa-0000-4000-8000-000000000001");
  return request.SerializeAsString();
}

std::string DeviceClassRequest() {
  pb::EnsureClassRequest request;
  request.set_name(kDeviceClass);
  return request.SerializeAsString();
}

std::string CreateDeviceRequest(int device) {
  pb::CreateProviderRequest request;
  request.set_uuid(DeviceUuid(device));
  request.set_name(absl::StrCat("device-", device));
  if (device > 0) request.set_parent_uuid(DeviceUuid(0));
  return request.SerializeAsString();
}

std::string DeviceInventoriesRequest(int device, int64_t generation) {
  pb::SetInventoriesRequest request;
  request.set_provider_uuid(DeviceUuid(device));
  request.set_expected_generation(generation);
  if (device > 0) (*request.mutable_inventories())[kDeviceClass] = InventoryOf(1, 0, 1);
  return request.SerializeAsString();
}

ClaimRequests::ClaimRequests(int64_t host_count) : host_count_(host_count) {
  pb::SetAllocationsRequest request;
  pb::ConsumerAllocations* consumer = request.add_consumers();
  consumer->set_consumer_uuid(kAnyConsumer);
  consumer->mutable_new_consumer();
  consumer->set_project_id("bench");
  consumer->set_user_id("bench");
  consumer->set_consumer_type("INSTANCE");
  pb::ProviderAllocation* allocation = consumer->add_allocations();
  allocation->set_provider_uuid(HostUuid(0));
  AddAmounts(allocation->mutable_resources());
  bytes_ = request.SerializeAsString();
  consumer_at_ = bytes_.find(kAnyConsumer);
  host_at_ = bytes_.find(HostUuid(0));
}

std::string ClaimRequests::Next() {
  return NextOn(static_cast<int64_t>(random_() % static_cast<uint64_t>(host_count_)));
}

std::string ClaimRequests::NextOn(int64_t number) {
  const std::string consumer = RandomConsumer(random_);
  const std::string host = HostUuid(number);
  bytes_.replace(consumer_at_, consumer.size(), consumer);
  bytes_.replace(host_at_, host.size(), host);
  return bytes_;
}

ClaimSearchRequests::ClaimSearchRequests(bool spread) {
  pb::ClaimRequest request;
  pb::ClaimConsumer* consumer = request.mutable_consumer();
  consumer->set_consumer_uuid(kAnyConsumer);
  consumer->mutable_new_consumer();
  consumer->set_project_id("bench");
  consumer->set_user_id("bench");
  consumer->set_consumer_type("INSTANCE");
  AddAmounts(request.mutable_query()->add_groups()->mutable_resources());
  if (spread) request.mutable_order()->set_strategy(pb::STRATEGY_SPREAD);
  bytes_ = request.SerializeAsString();
  consumer_at_ = bytes_.find(kAnyConsumer);
}

std::string ClaimSearchRequests::Next() {
  const std::string consumer = RandomConsumer(random_);
  bytes_.replace(consumer_at_, consumer.size(), consumer);
  return bytes_;
}

std::string CandidatesRequest(int limit) {
  pb::FindCandidatesRequest request;
  request.set_limit(limit);
  AddAmounts(request.mutable_query()->add_groups()->mutable_resources());
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
