#include "tests/bench/topology.h"

#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "berth/placement/v1/catalog.pb.h"
#include "berth/placement/v1/reshape.pb.h"
#include "tests/bench/requests.h"

namespace berth::bench {
namespace {

namespace pb = berth::placement::v1;

pb::Inventory InventoryOf(int64_t total, int64_t reserved = 0, double ratio = 1) {
  pb::Inventory inventory;
  inventory.set_total(total);
  inventory.set_reserved(reserved);
  inventory.set_allocation_ratio(ratio);
  return inventory;
}

pb::ProviderTopology* Add(const std::string& uuid, const std::string& name,
                          pb::ApplyTopologyRequest* to) {
  pb::ProviderTopology* provider = to->add_providers();
  provider->set_provider_uuid(uuid);
  provider->set_name(name);
  return provider;
}

std::string DeviceUuid(int device) {
  return absl::StrFormat("11111111-0000-4000-8000-%012d", device);
}

// A part of a tree: what it is under, and the classes of which it has a thousand units.
struct Part {
  TreePart part;
  TreePart parent;
  const char* name;
  std::vector<const char*> classes;
  const char* trait;
};
const std::vector<Part>& Parts() {
  using enum TreePart;
  static const auto* const parts = new std::vector<Part>{
      {kHost, kHost, "", {"DISK_GB"}, kTreeRootTrait},
      {kNuma0, kHost, "-numa0", {"VCPU", "MEMORY_MB"}, nullptr},
      {kNuma1, kHost, "-numa1", {"VCPU", "MEMORY_MB"}, kTreeTrait},
      {kFpga0, kNuma0, "-fpga0", {"FPGA"}, nullptr},
      {kFpga1, kNuma1, "-fpga1", {"FPGA"}, nullptr},
      {kFpga2, kNuma1, "-fpga2", {"FPGA"}, nullptr},
      {kGraphics, kNuma0, "-graphics", {"VGPU"}, nullptr},
  };
  return *parts;
}

constexpr int64_t kUnitsOfAPart = 100'000;

}  // namespace

void FillHostInventories(int64_t number, Inventories* to) {
  if (number == kHotHost) {
    for (const char* name : {"VCPU", "MEMORY_MB", "DISK_GB"}) {
      (*to)[name] = InventoryOf(std::numeric_limits<int32_t>::max());
    }
    return;
  }
  (*to)["VCPU"] = InventoryOf(64, 0, 16);
  (*to)["MEMORY_MB"] = InventoryOf(262144, 512, 1.5);
  (*to)["DISK_GB"] = InventoryOf(4096);
}

std::string HostsTopology(int64_t first, int count, bool with_marks) {
  pb::ApplyTopologyRequest request;
  for (int64_t number = first; number < first + count; ++number) {
    pb::ProviderTopology* host = Add(HostUuid(number), HostName(number), &request);
    FillHostInventories(number, host->mutable_inventories()->mutable_inventories());
    if (!with_marks) continue;
    host->mutable_traits()->add_names(kHostTrait);
    host->mutable_aggregate_uuids()->add_names(kHostAggregate);
  }
  return request.SerializeAsString();
}

std::string BusyHostsTopology(int64_t first, int count) {
  pb::ApplyTopologyRequest request;
  for (int64_t number = first; number < first + count; ++number) {
    Inventories& inventories = *Add(HostUuid(number), HostName(number), &request)
                                    ->mutable_inventories()
                                    ->mutable_inventories();
    const auto room = [](int64_t amount) { return InventoryOf((kBusyPlaces + 1) * amount - 1); };
    inventories["VCPU"] = room(kBusyClaim.vcpu);
    inventories["MEMORY_MB"] = room(kBusyClaim.memory_mb);
    inventories["DISK_GB"] = room(kBusyClaim.disk_gb);
  }
  return request.SerializeAsString();
}

std::string DeviceClassRequest() {
  pb::EnsureClassRequest request;
  request.set_name(kDeviceClass);
  return request.SerializeAsString();
}

std::string DevicesTopology() {
  pb::ApplyTopologyRequest request;
  for (int device = 0; device <= kDeviceCount; ++device) {
    pb::ProviderTopology* provider =
        Add(DeviceUuid(device), absl::StrCat("device-", device), &request);
    if (device == 0) continue;
    provider->set_parent_uuid(DeviceUuid(0));
    (*provider->mutable_inventories()->mutable_inventories())[kDeviceClass] = InventoryOf(1);
  }
  return request.SerializeAsString();
}

std::string TreePartUuid(int64_t tree, TreePart part) {
  return absl::StrFormat("2222222%d-0000-4000-8000-%012d", static_cast<int>(part), tree);
}

std::string TreeTraitRequest() {
  pb::EnsureTraitRequest request;
  request.set_name(kTreeTrait);
  return request.SerializeAsString();
}

std::string TreesTopology(int64_t first, int count) {
  pb::ApplyTopologyRequest request;
  for (int64_t tree = first; tree < first + count; ++tree) {
    for (const Part& part : Parts()) {
      pb::ProviderTopology* provider =
          Add(TreePartUuid(tree, part.part), absl::StrCat("tree-", tree, part.name), &request);
      if (part.part != TreePart::kHost) {
        provider->set_parent_uuid(TreePartUuid(tree, part.parent));
      }
      for (const char* name : part.classes) {
        (*provider->mutable_inventories()->mutable_inventories())[name] =
            InventoryOf(kUnitsOfAPart);
      }
      if (part.trait != nullptr) provider->mutable_traits()->add_names(part.trait);
    }
  }
  return request.SerializeAsString();
}

}  // namespace berth::bench
