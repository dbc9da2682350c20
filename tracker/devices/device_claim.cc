// The methods of DeviceTable that give devices to instances.
#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tracker/devices/device_table.h"
#include "tracker/ground/check.h"
#include "tracker/ground/status_macros.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {
namespace {

// Removes `address` from the pool that contains it, if there is such a pool.
void RemoveFromPools(const std::string& address, std::vector<DevicePool>* pools) {
  for (DevicePool& pool : *pools) {
    const auto found = std::lower_bound(pool.addresses.begin(), pool.addresses.end(), address);
    if (found == pool.addresses.end() || *found != address) continue;
    pool.addresses.erase(found);
    --pool.count;
    return;
  }
}

absl::Status RequestFailed(size_t index, const DeviceRequest& request) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "PciDeviceRequestFailed: PCI request ", index,
      request.alias_name.empty() ? "" : absl::StrCat(" (alias ", request.alias_name, ")"),
      " asks for ", request.count, " devices, and fewer suitable devices are free"));
}

}  // namespace

absl::StatusOr<std::vector<ClaimedDevice>> DeviceTable::Claim(
    const Uuid& instance_uuid, const std::vector<DeviceRequest>& requests,
    const GuestAffinity& affinity) {
  BERTH_CHECK(!IsNil(instance_uuid));  // claims of an instance without a uuid are refused
  absl::StatusOr<std::vector<ClaimedDevice>> chosen = Choose(requests, affinity);
  if (!chosen.ok()) return chosen;
  for (const ClaimedDevice& claimed : *chosen) {
    BERTH_RETURN_IF_ERROR(CheckClaim(devices_.at(claimed.address)));
  }
  for (const ClaimedDevice& claimed : *chosen) {
    Take(instance_uuid, requests[claimed.request].request_id, &devices_.at(claimed.address));
  }
  return chosen;
}

absl::StatusOr<std::vector<ClaimedDevice>> DeviceTable::Choose(
    const std::vector<DeviceRequest>& requests, const GuestAffinity& affinity) const {
  std::vector<DevicePool> pools = Pools();
  std::vector<ClaimedDevice> chosen;
  for (size_t i = 0; i < requests.size(); ++i) {
    BERTH_CHECK(requests[i].count >= 1);  // RecordReader and RequestsOfFlavor read no others
    int64_t missing = requests[i].count;
    for (const size_t index : PoolsFor(requests[i], pools, affinity)) {
      int64_t draw = DevicesToDraw(requests[i], pools[index], pools[index].count, missing);
      for (; draw > 0 && pools[index].count > 0; --draw, --missing) {
        const std::string address = pools[index].addresses.front();
        RemoveFromPools(address, &pools);
        for (const Tracked* relative : Relatives(devices_.at(address))) {
          RemoveFromPools(relative->device().address, &pools);
        }
        chosen.push_back({i, address});
      }
    }
    if (missing > 0) return RequestFailed(i, requests[i]);
  }
  return chosen;
}

absl::Status DeviceTable::CheckClaim(const Tracked& device) const {
  const absl::string_view type = device.device().dev_type;
  for (const Tracked* relative : Relatives(device)) {
    if (!relative->owned()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(type == "type-PF" ? "PciDeviceVFInvalidStatus" : "PciDevicePFInvalidStatus",
                     ": ", device.device().address, " cannot be claimed, because ",
                     relative->device().address, " is ", DeviceStatusName(relative->record.status),
                     " by instance ", relative->record.instance_uuid.ToString()));
  }
  return absl::OkStatus();
}

void DeviceTable::Take(const Uuid& instance_uuid, const std::string& request_id, Tracked* device) {
  BERTH_CHECK(device->record.status == DeviceStatus::kAvailable);  // Choose takes from Pools()
  device->record.status = DeviceStatus::kClaimed;
  device->record.instance_uuid = instance_uuid;
  device->record.request_id = request_id;
  const bool physical = device->device().dev_type == "type-PF";
  for (Tracked* relative : Relatives(*device)) {
    BERTH_CHECK(!relative->owned());  // CheckClaim has looked, and Choose takes no two relatives
    if (physical || relative->record.status == DeviceStatus::kAvailable) {
      relative->record.status = DeviceStatus::kUnclaimable;
    }
  }
}

}  // namespace berth::tracker
