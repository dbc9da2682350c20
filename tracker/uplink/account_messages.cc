#include "tracker/uplink/account_messages.h"

#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_join.h"
#include "tracker/devices/device_table.h"
#include "tracker/devices/pool.h"
#include "tracker/ground/message_text.h"
#include "tracker/ground/uuid.h"
#include "tracker/uplink/facts_messages.h"

namespace berth::tracker {
namespace {

namespace v1 = placement::v1;

// `pcpus`: the part of amounts.vcpus that is dedicated (T-110).
v1::Amounts WireAmounts(const Amounts& amounts, int64_t pcpus = 0) {
  v1::Amounts wire;
  wire.set_vcpus(amounts.vcpus);
  wire.set_pcpus(pcpus);
  wire.set_memory_mib(amounts.memory_mib);
  wire.set_disk_gib(amounts.disk_mib / 1024);
  return wire;
}

v1::Amounts WireUsage(const Usage& usage) { return WireAmounts(usage.amounts, usage.pcpus); }

v1::NumaCellUsage WireCellUsage(const HostCell& cell) {
  v1::NumaCellUsage wire;
  wire.set_id(cell.offer.id);
  const std::vector<int> pinned = cell.usage.pinned_cpus.Cpus();
  wire.set_cpu_usage(static_cast<int32_t>(cell.usage.shared_cpus + std::ssize(pinned)));
  wire.set_memory_usage_mib(cell.usage.memory_mib);
  wire.mutable_pinned_cpus()->Assign(pinned.begin(), pinned.end());
  for (const NumaPages& pages : cell.offer.pages) {
    v1::MemoryPages* const item = wire.add_pages();
    item->set_size_kib(pages.size_kib);
    item->set_total(pages.total);
    item->set_reserved(pages.reserved);
    const auto used = cell.usage.pages_by_size_kib.find(pages.size_kib);
    if (used != cell.usage.pages_by_size_kib.end()) item->set_used(used->second);
  }
  return wire;
}

std::string StringOf(const PropertyValue& value) {
  const auto* const list = std::get_if<std::vector<std::string>>(&value);
  return list != nullptr ? absl::StrJoin(*list, ",") : std::get<std::string>(value);
}

v1::PciPool WirePool(const DevicePool& pool) {
  v1::PciPool wire;
  for (const auto& [key, value] : pool.key.properties) {
    if (key == "vendor_id") {
      wire.set_vendor_id(StringOf(value));
    } else if (key == "product_id") {
      wire.set_product_id(StringOf(value));
    } else if (key == "dev_type") {
      wire.set_type(WireDeviceType(StringOf(value)));
    } else {
      (*wire.mutable_tags())[key] = StringOf(value);
    }
  }
  if (pool.key.numa_node) wire.set_numa_cell(*pool.key.numa_node);
  wire.set_count(static_cast<int32_t>(pool.count));
  wire.set_provider_uuid(TextOrEmpty(pool.provider_uuid));
  return wire;
}

v1::PciDeviceStatus WireStatus(DeviceStatus status) {
  switch (status) {
    case DeviceStatus::kAvailable:
      return v1::PCI_DEVICE_STATUS_AVAILABLE;
    case DeviceStatus::kClaimed:
      return v1::PCI_DEVICE_STATUS_CLAIMED;
    case DeviceStatus::kAllocated:
      return v1::PCI_DEVICE_STATUS_ALLOCATED;
    case DeviceStatus::kUnclaimable:
      return v1::PCI_DEVICE_STATUS_UNCLAIMABLE;
    case DeviceStatus::kUnavailable:
      return v1::PCI_DEVICE_STATUS_UNAVAILABLE;
  }
  return v1::PCI_DEVICE_STATUS_UNSPECIFIED;
}

// `listed`: the node still lists the device.
v1::PciDevice WireUse(const DeviceUse& use, bool listed) {
  v1::PciDevice wire;
  wire.set_address(use.address);
  wire.set_status(listed ? WireStatus(use.status) : v1::PCI_DEVICE_STATUS_REMOVED);
  wire.set_instance_uuid(TextOrEmpty(use.instance_uuid));
  wire.set_request_id(MessageText(use.request_id));
  return wire;
}

void AddUses(const Report& report, v1::NodeAccount* wire) {
  std::set<std::string> listed;
  for (const PciDevice& device : report.facts->pci_devices) listed.insert(device.address);
  for (const DeviceUse& use : report.accounting.devices) {
    const bool gone = report.facts->devices_known && !listed.contains(use.address);
    *wire->add_pci_devices() = WireUse(use, !gone);
  }
}

}  // namespace

v1::NodeAccount WireAccount(const Report& report) {
  const Accounting& accounting = report.accounting;
  v1::NodeAccount wire;
  *wire.mutable_used() = WireAmounts(accounting.used(), accounting.pcpus_used());
  wire.mutable_used()->set_disk_gib(accounting.used_disk_gib());
  *wire.mutable_reserve() = WireAmounts(accounting.reserve);
  *wire.mutable_orphans() = WireAmounts(accounting.orphans);
  *wire.mutable_allocations() = WireAmounts(accounting.allocated, accounting.pcpus_allocated);
  const PromisedUsage& promised = accounting.promised;
  if (promised.instances != Usage()) *wire.mutable_instances() = WireUsage(promised.instances);
  if (promised.migrations != Usage()) *wire.mutable_migrations() = WireUsage(promised.migrations);
  if (promised.claims != Usage()) *wire.mutable_claims() = WireUsage(promised.claims);
  for (const HostCell& cell : accounting.cells) *wire.add_numa_usage() = WireCellUsage(cell);
  for (const DevicePool& pool : accounting.pools) *wire.add_pci_pools() = WirePool(pool);
  if (!accounting.devices.empty()) AddUses(report, &wire);
  for (const auto& [name, count] : accounting.counters) {
    (*wire.mutable_counters())[MessageText(name)] += count;
  }
  if (report.facts->disk_available_least_gib) {
    wire.set_disk_available_least_gib(*report.facts->disk_available_least_gib);
  }
  return wire;
}

}  // namespace berth::tracker
