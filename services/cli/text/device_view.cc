#include "services/cli/text/device_view.h"

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "services/cli/text/amounts.h"
#include "services/cli/text/node_view.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

constexpr int64_t kKibPerMib = 1024;

std::string TextOrDash(const std::string& text) { return text.empty() ? "-" : text; }

// `use`: what the node's account says of the device; null: nothing.
std::string StatusWords(const pb::Node& node, const pb::PciDevice& device,
                        const pb::PciDevice* use) {
  const bool free = device.assignable() && !node.account().pci_devices_cut();
  if (use == nullptr) return free ? "available" : "-";
  return ShortName(pb::PciDeviceStatus_Name(use->status()), "PCI_DEVICE_STATUS_");
}

const pb::NumaCellUsage* UsageOf(const pb::Node& node, int cell) {
  for (const pb::NumaCellUsage& usage : node.account().numa_usage()) {
    if (usage.id() == cell) return &usage;
  }
  return nullptr;
}

// "1024 of 2 MiB, 4 of 1 GiB".
std::string PageWords(const pb::NumaCell& cell) {
  const auto words = [](std::string* out, const pb::MemoryPages& pages) {
    absl::StrAppend(out, pages.total(), " of ", PageSize(pages.size_kib()));
  };
  return absl::StrJoin(cell.pages(), ", ", words);
}

}  // namespace

Table DeviceTable(const pb::Node& node) {
  Table table({{"ADDRESS", Column::Kind::kExact},
               {"VENDOR", Column::Kind::kText},
               {"PRODUCT", Column::Kind::kText},
               {"TYPE", Column::Kind::kText},
               {"CELL", Column::Kind::kNumber},
               {"PARENT", Column::Kind::kSpare},
               {"STATUS", Column::Kind::kText},
               {"INSTANCE", Column::Kind::kSpare}});
  std::map<std::string, const pb::PciDevice*> uses;
  for (const pb::PciDevice& use : node.account().pci_devices()) uses[use.address()] = &use;
  for (const pb::PciDevice& device : node.facts().pci_devices()) {
    const auto found = uses.find(device.address());
    const pb::PciDevice* const use = found == uses.end() ? nullptr : found->second;
    table.Add({device.address(), device.vendor_id(), device.product_id(), DeviceTypeWords(device),
               CellOf(device), TextOrDash(device.parent_address()), StatusWords(node, device, use),
               TextOrDash(use == nullptr ? "" : use->instance_uuid())});
    if (use != nullptr) uses.erase(found);
  }
  for (const auto& [address, use] : uses) {  // the node does not list these any more
    table.Add({address, "-", "-", "-", "-", "-", StatusWords(node, *use, use),
               TextOrDash(use->instance_uuid())});
  }
  return table;
}

Table NodeCellTable(const pb::Node& node) {
  Table table({{"CELL", Column::Kind::kNumber},
               {"SOCKET", Column::Kind::kNumber},
               {"SHARED CPUS", Column::Kind::kText},
               {"DEDICATED CPUS", Column::Kind::kText},
               {"CPUS USED", Column::Kind::kNumber},
               {"PINNED", Column::Kind::kSpare},
               {"MEMORY", Column::Kind::kNumber},
               {"MEMORY USED", Column::Kind::kNumber},
               {"PAGES", Column::Kind::kSpare}});
  for (const pb::NumaCell& cell : node.facts().numa_cells()) {
    const pb::NumaCellUsage* const usage = UsageOf(node, cell.id());
    table.Add(
        {absl::StrCat(cell.id()), cell.has_socket() ? absl::StrCat(cell.socket()) : "-",
         TextOrDash(IdRanges(cell.shared_cpus())), TextOrDash(IdRanges(cell.dedicated_cpus())),
         usage == nullptr ? "-" : absl::StrCat(usage->cpu_usage()),
         usage == nullptr ? "-" : TextOrDash(IdRanges(usage->pinned_cpus())),
         SizeOf("MEMORY_MB", cell.memory_mib()),
         usage == nullptr ? "-" : SizeOf("MEMORY_MB", usage->memory_usage_mib()), PageWords(cell)});
  }
  return table;
}

std::string IdRanges(const google::protobuf::RepeatedField<int32_t>& ids) {
  std::string ranges;
  for (int first = 0; first < ids.size();) {
    int last = first;
    while (last + 1 < ids.size() && ids[last + 1] == int64_t{ids[last]} + 1) ++last;
    absl::StrAppend(&ranges, ranges.empty() ? "" : ",", ids[first]);
    if (last > first) absl::StrAppend(&ranges, "-", ids[last]);
    first = last + 1;
  }
  return ranges;
}

std::string PageSize(int64_t size_kib) {
  if (size_kib % kKibPerMib != 0) return absl::StrCat(size_kib, " KiB");
  return SizeOf("MEMORY_MB", size_kib / kKibPerMib);
}

std::string DeviceTypeWords(const pb::PciDevice& device) {
  const std::string name = ShortName(pb::PciDeviceType_Name(device.type()), "PCI_DEVICE_TYPE_");
  return absl::StrReplaceAll(name, {{"_", " "}});
}

std::string CellOf(const pb::PciDevice& device) {
  return device.has_numa_cell() ? absl::StrCat(device.numa_cell()) : "-";
}

}  // namespace berth::cli
