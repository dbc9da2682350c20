#include "services/cli/text/guest_view.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/cli/text/amounts.h"
#include "services/cli/text/device_view.h"
#include "services/cli/text/table.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

template <typename Message>
using List = google::protobuf::RepeatedPtrField<Message>;

// What an instance has or asks for at one time.
struct Side {
  const char* when;
  const pb::Flavor* flavor;
  const std::string* emulator_threads_policy;
  const List<pb::GuestCell>* cells;
  const List<pb::PciRequest>* requests;
  const List<pb::PciDevice>* devices;
  const List<pb::NamedUnit>* units;
};

std::vector<Side> SidesOf(const pb::Instance& instance) {
  std::vector<Side> sides = {{"now", &instance.flavor(), &instance.emulator_threads_policy(),
                              &instance.numa_cells(), &instance.pci_requests(),
                              &instance.pci_devices(), &instance.named_units()}};
  if (!instance.has_migration_context()) return sides;
  const pb::MigrationContext& move = instance.migration_context();
  sides.push_back({"before", &move.old_flavor(), &move.old_emulator_threads_policy(),
                   &move.old_numa_cells(), &move.old_pci_requests(), &move.old_pci_devices(),
                   &move.old_named_units()});
  sides.push_back({"after", &move.new_flavor(), &move.new_emulator_threads_policy(),
                   &move.new_numa_cells(), &move.new_pci_requests(), &move.new_pci_devices(),
                   &move.new_named_units()});
  return sides;
}

// Makes a table with the rows that `add(side, row)` gives to `row(cells)` for each side.
template <typename Add>
Table TableOf(const std::vector<Side>& sides, std::vector<Column> columns, Add add) {
  const bool moves = sides.size() > 1;
  if (moves) columns.push_back({"WHEN", Column::Kind::kExact});
  Table table(std::move(columns));
  for (const Side& side : sides) {
    add(side, [&](std::vector<std::string> cells) {
      if (moves) cells.emplace_back(side.when);
      table.Add(std::move(cells));
    });
  }
  return table;
}

Table FlavorTable(const std::vector<Side>& sides) {
  return TableOf(
      sides,
      {{"FLAVOR", Column::Kind::kText},
       {"VCPUS", Column::Kind::kNumber},
       {"MEMORY", Column::Kind::kNumber},
       {"ROOT DISK", Column::Kind::kNumber},
       {"EPHEMERAL", Column::Kind::kNumber},
       {"SWAP", Column::Kind::kNumber},
       {"EMULATOR", Column::Kind::kText}},
      [](const Side& side, const auto& row) {
        const pb::Flavor& flavor = *side.flavor;
        const std::string& threads = *side.emulator_threads_policy;
        row({flavor.id().empty() ? "-" : flavor.id(), absl::StrCat(flavor.vcpus()),
             SizeOf("MEMORY_MB", flavor.memory_mib()), SizeOf("DISK_GB", flavor.root_disk_gib()),
             SizeOf("DISK_GB", flavor.ephemeral_disk_gib()), SizeOf("MEMORY_MB", flavor.swap_mib()),
             threads.empty() ? "share" : threads});
      });
}

Table SpecTable(const std::vector<Side>& sides) {
  return TableOf(sides, {{"EXTRA SPEC", Column::Kind::kText}, {"VALUE", Column::Kind::kText}},
                 [](const Side& side, const auto& row) {
                   const auto& specs = side.flavor->extra_specs();
                   const std::map<std::string, std::string> sorted(specs.begin(), specs.end());
                   for (const auto& [name, value] : sorted) row({name, value});
                 });
}

// "2 on 14, 3 on 15"; only the ids of the virtual CPUs if they are not placed yet.
std::string PinnedWords(const pb::GuestCell& cell) {
  if (cell.pinning().empty()) return IdRanges(cell.pinned_cpus());
  const std::map<int, int> pinning(cell.pinning().begin(), cell.pinning().end());
  return absl::StrJoin(pinning, ", ", absl::PairFormatter(" on "));
}

std::string PolicyWords(const pb::GuestCell& cell) {
  std::string words = cell.cpu_policy().empty() ? "shared" : cell.cpu_policy();
  if (!cell.cpu_thread_policy().empty()) absl::StrAppend(&words, ", ", cell.cpu_thread_policy());
  return words;
}

Table CellTable(const std::vector<Side>& sides) {
  return TableOf(
      sides,
      {{"CELL", Column::Kind::kNumber},
       {"HOST CELL", Column::Kind::kNumber},
       {"SHARED VCPUS", Column::Kind::kText},
       {"PINNED VCPUS", Column::Kind::kText},
       {"EMULATOR ON", Column::Kind::kSpare},
       {"MEMORY", Column::Kind::kNumber},
       {"PAGES", Column::Kind::kNumber},
       {"CPU POLICY", Column::Kind::kText}},
      [](const Side& side, const auto& row) {
        int number = 0;
        for (const pb::GuestCell& cell : *side.cells) {
          row({absl::StrCat(number++), cell.has_host_cell() ? absl::StrCat(cell.host_cell()) : "-",
               IdRanges(cell.shared_cpus()), PinnedWords(cell), IdRanges(cell.reserved_cpus()),
               SizeOf("MEMORY_MB", cell.memory_mib()),
               cell.page_size_kib() == 0 ? "any" : PageSize(cell.page_size_kib()),
               PolicyWords(cell)});
        }
      });
}

Table RequestTable(const std::vector<Side>& sides) {
  return TableOf(sides,
                 {{"PCI REQUEST", Column::Kind::kText},
                  {"COUNT", Column::Kind::kNumber},
                  {"WANTED", Column::Kind::kText},
                  {"NUMA POLICY", Column::Kind::kText},
                  {"REQUEST ID", Column::Kind::kSpare}},
                 [](const Side& side, const auto& row) {
                   for (const pb::PciRequest& request : *side.requests) {
                     std::vector<std::string> wanted;
                     for (const pb::PciProperties& one : request.alternatives()) {
                       wanted.push_back(PropertyWords(one.properties()));
                     }
                     row({request.alias().empty() ? "-" : request.alias(),
                          absl::StrCat(request.count()), absl::StrJoin(wanted, " or "),
                          request.numa_policy().empty() ? "legacy" : request.numa_policy(),
                          request.request_id()});
                   }
                 });
}

Table DeviceRows(const std::vector<Side>& sides) {
  return TableOf(sides,
                 {{"PCI DEVICE", Column::Kind::kExact},
                  {"VENDOR", Column::Kind::kText},
                  {"PRODUCT", Column::Kind::kText},
                  {"TYPE", Column::Kind::kText},
                  {"HOST CELL", Column::Kind::kNumber},
                  {"REQUEST ID", Column::Kind::kSpare}},
                 [](const Side& side, const auto& row) {
                   for (const pb::PciDevice& device : *side.devices) {
                     row({device.address(), device.vendor_id(), device.product_id(),
                          DeviceTypeWords(device), CellOf(device), device.request_id()});
                   }
                 });
}

Table UnitTable(const std::vector<Side>& sides) {
  return TableOf(sides,
                 {{"NAMED UNIT", Column::Kind::kText},
                  {"CLASS", Column::Kind::kText},
                  {"PROVIDER", Column::Kind::kExact}},
                 [](const Side& side, const auto& row) {
                   for (const pb::NamedUnit& unit : *side.units) {
                     row({unit.name(), unit.resource_class(), unit.provider_uuid()});
                   }
                 });
}

}  // namespace

std::string PropertyWords(const google::protobuf::Map<std::string, std::string>& properties) {
  const std::map<std::string, std::string> sorted(properties.begin(), properties.end());
  return absl::StrJoin(sorted, ", ", absl::PairFormatter("="));
}

std::string GuestTables(const pb::Instance& instance, const Screen& screen) {
  const std::vector<Side> sides = SidesOf(instance);
  std::string text = FlavorTable(sides).Render(screen);
  for (const Table& table : {SpecTable(sides), CellTable(sides), RequestTable(sides),
                             DeviceRows(sides), UnitTable(sides)}) {
    if (!table.empty()) absl::StrAppend(&text, "\n", table.Render(screen));
  }
  return text;
}

}  // namespace berth::cli
