#include "tracker/uplink/facts_messages.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tracker/ground/message_text.h"

namespace berth::tracker {
namespace {

namespace v1 = placement::v1;

v1::PciDevice WireDevice(const PciDevice& device) {
  v1::PciDevice wire;
  wire.set_address(device.address);
  wire.set_libvirt_name(device.dev_id);
  wire.set_vendor_id(device.vendor_id);
  wire.set_product_id(device.product_id);
  wire.set_type(WireDeviceType(device.dev_type));
  if (device.numa_node) wire.set_numa_cell(*device.numa_node);
  wire.set_parent_address(device.parent_address.value_or(""));
  wire.set_parent_interface(device.parent_interface.value_or(""));
  std::vector<std::string> features = device.network_features;
  std::sort(features.begin(), features.end());
  for (const std::string& feature : features) wire.add_network_features(feature);
  wire.set_card_serial_number(device.card_serial_number.value_or(""));
  wire.set_mac_address(device.mac_address.value_or(device.pf_mac_address.value_or("")));
  if (device.vf_number) wire.set_virtual_function_number(*device.vf_number);
  return wire;
}

v1::NumaCell WireCell(const NumaCell& cell) {
  v1::NumaCell wire;
  wire.set_id(cell.id);
  wire.set_memory_mib(cell.memory_mib);
  for (const int cpu : cell.cpus.Cpus()) wire.add_shared_cpus(cpu);
  for (const int cpu : cell.dedicated_cpus.Cpus()) wire.add_dedicated_cpus(cpu);
  for (const CpuSet& threads : cell.siblings) {
    v1::CpuSet* const set = wire.add_siblings();
    for (const int cpu : threads.Cpus()) set->add_cpus(cpu);
  }
  for (const NumaPages& pages : cell.pages) {
    v1::MemoryPages* const item = wire.add_pages();
    item->set_size_kib(pages.size_kib);
    item->set_total(pages.total);
    item->set_reserved(pages.reserved);
  }
  if (cell.socket) wire.set_socket(*cell.socket);
  for (const std::string& name : cell.networks.physnets) wire.add_physical_networks(name);
  wire.set_tunneled_networks(cell.networks.tunneled);
  return wire;
}

// The allocation ratio of the root's inventory; 0: there is no such inventory.
double RatioOf(const Report& report, const char* resource_class) {
  if (report.providers.empty()) return 0;
  const Inventories& inventories = report.providers.front().inventories;
  const auto found = inventories.find(resource_class);
  return found == inventories.end() ? 0 : found->second.allocation_ratio;
}

// Makes the message without PCI devices.
v1::NodeFacts WireHost(const Report& report) {
  const Facts& facts = *report.facts;
  v1::NodeFacts wire;
  wire.set_hypervisor_type(facts.hypervisor_type);
  wire.set_hypervisor_version(facts.hypervisor_version);
  wire.set_libvirt_version(facts.library_version);
  wire.set_host_ip(facts.host_address);
  wire.set_vcpus(static_cast<int32_t>(facts.vcpus.value_or(0)));
  wire.set_pcpus(static_cast<int32_t>(facts.pcpus));
  wire.set_memory_mib(facts.memory_mib.value_or(0));
  wire.set_disk_gib(facts.local_disk_gib.value_or(0));
  wire.set_storage_id(facts.storage_id);
  wire.set_cpu_allocation_ratio(RatioOf(report, "VCPU"));
  wire.set_memory_allocation_ratio(RatioOf(report, "MEMORY_MB"));
  wire.set_disk_allocation_ratio(RatioOf(report, "DISK_GB"));
  wire.set_cpu_info_json(facts.cpu_info.value_or(""));
  for (const SupportedInstance& kind : facts.supported_instances) {
    v1::SupportedInstance* const item = wire.add_supported_instances();
    item->set_architecture(kind.arch);
    item->set_hypervisor_type(kind.hypervisor_type);
    item->set_vm_mode(kind.vm_mode);
  }
  if (facts.numa_topology && *facts.numa_topology) {
    for (const NumaCell& cell : (*facts.numa_topology)->cells) {
      *wire.add_numa_cells() = WireCell(cell);
    }
  }
  return wire;
}

}  // namespace

v1::PciDeviceType WireDeviceType(const std::string& type) {
  if (type == "type-PF") return v1::PCI_DEVICE_TYPE_PHYSICAL_FUNCTION;
  if (type == "type-VF") return v1::PCI_DEVICE_TYPE_VIRTUAL_FUNCTION;
  if (type == "vdpa") return v1::PCI_DEVICE_TYPE_VDPA;
  return v1::PCI_DEVICE_TYPE_PLAIN;
}

google::protobuf::Timestamp WireTime(absl::Time time) {
  return google::protobuf::util::TimeUtil::NanosecondsToTimestamp(absl::ToUnixNanos(time));
}

v1::NodeFacts WireFacts(const Report& report) {
  const Facts& facts = *report.facts;
  v1::NodeFacts wire = WireHost(report);
  for (const PciDevice& device : facts.pci_devices) {
    v1::PciDevice& item = *wire.add_pci_devices();
    item = WireDevice(device);
    const auto tags = facts.device_tags.find(device.address);
    if (tags == facts.device_tags.end()) continue;
    item.set_assignable(true);
    for (const auto& [name, value] : tags->second) {
      (*item.mutable_tags())[MessageText(name)] = MessageText(value);
    }
  }
  size_t bytes = wire.ByteSizeLong();
  while (bytes > kFactsBytesMax && wire.pci_devices_size() > 0) {
    bytes -= wire.pci_devices(wire.pci_devices_size() - 1).ByteSizeLong();
    wire.mutable_pci_devices()->RemoveLast();
  }
  return wire;
}

bool SameWireFacts(const Report& a, const Report& b) {
  return a.facts->pci_devices == b.facts->pci_devices &&
         a.facts->device_tags == b.facts->device_tags &&
         WireHost(a).SerializeAsString() == WireHost(b).SerializeAsString();
}

v1::NodeObservation WireObservation(const Facts& facts, absl::Time at) {
  v1::NodeObservation wire;
  *wire.mutable_observed_at() = WireTime(at);
  if (facts.vcpus_used) wire.set_vcpus_used(*facts.vcpus_used);
  if (facts.memory_used_mib && *facts.memory_used_mib) {
    wire.set_memory_used_mib(**facts.memory_used_mib);
  }
  if (facts.local_disk_used_gib) wire.set_disk_used_gib(*facts.local_disk_used_gib);
  wire.set_uptime(facts.uptime);
  for (const Metric& metric : facts.metrics) {
    v1::MonitorMetric* const item = wire.add_metrics();
    item->set_name(metric.name);
    item->set_value(metric.value);
    *item->mutable_measured_at() = WireTime(metric.measured_at);
    item->set_source(metric.source);
  }
  return wire;
}

}  // namespace berth::tracker
