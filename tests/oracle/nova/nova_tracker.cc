#include "tests/oracle/nova/nova_tracker.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "tests/oracle/nova/record_form.h"

namespace berth::oracle::nova {
namespace {

using tracker::GuestCell;
using tracker::GuestTopology;
using tracker::Instance;
using tracker::Migration;

// Adds guest cells that use as much of a host cell as was recorded: one for each size of pages.
void AddCells(const Json& recorded, GuestTopology* guest) {
  const size_t first = guest->cells.size();
  for (const auto& [size_kib, used] : recorded.at("pages_used").items()) {
    GuestCell& cell = guest->cells.emplace_back();
    cell.host_cell = recorded.at("id").get<int>();
    cell.page_size_kib = std::stoll(size_kib);
    cell.memory_mib = used.get<int64_t>() * cell.page_size_kib / 1024;
  }
  if (guest->cells.size() == first) return;
  GuestCell& cell = guest->cells[first];
  for (const int cpu : recorded.at("pinned_cpus")) cell.pinning[cpu] = cpu;
  cell.shared_cpus = tracker::CpuSet::Range(0, recorded.at("cpu_usage").get<int>() - 1);
}

// The cells of the devices, of which those of one cell are alike.
std::multiset<int> CellsOfDevices(const NovaWorld& world, const Json& addresses) {
  std::multiset<int> cells;
  for (const auto& [address, owner] : addresses.items()) {
    for (const tracker::PciDevice& device : world.resources.devices) {
      if (device.address == address) cells.insert(device.numa_node.value_or(-1));
    }
  }
  return cells;
}

}  // namespace

Migration MigrationOfNova(const tracker::Uuid& uuid, const Instance& instance,
                          const tracker::Flavor& new_flavor,
                          const tracker::HostAndNode& destination, absl::Time now) {
  Migration migration;
  migration.uuid = uuid;
  migration.instance_uuid = instance.uuid;
  migration.type = instance.flavor.id == new_flavor.id ? tracker::MigrationType::kCold
                                                       : tracker::MigrationType::kResize;
  migration.status = "pre-migrating";
  migration.source = instance.on;
  migration.destination = destination;
  migration.old_flavor_id = instance.flavor.id;
  migration.new_flavor_id = new_flavor.id;
  migration.created_at = now;
  return migration;
}

tracker::NodeAccount AccountOfNova(const NovaWorld& world, const Json& recorded) {
  Instance all;
  all.uuid = tracker::ShortUuid("all of them");
  all.on = world.self;
  all.vm_state = "active";
  GuestTopology cells;
  for (const Json& cell : recorded.value("cells", Json::array())) AddCells(cell, &cells);
  if (!cells.cells.empty()) all.assigned.topology = std::move(cells);
  const Json devices = recorded.value("pci_devices", Json::object());
  for (const auto& [address, owner] : devices.items()) all.assigned.devices.push_back(address);
  for (const Json& name : recorded.value("named_units_assigned", Json::array())) {
    for (const tracker::NamedUnit& unit : world.resources.units) {
      if (Json(unit.name) == name) all.assigned.units.push_back(unit);
    }
  }
  tracker::NodeAccount account(world.self, world.resources);
  account.PutInstance(std::move(all));
  return account;
}

bool CountsOtherwise(const NovaWorld& world, const Json& recorded,
                     const tracker::NodeAccount& account) {
  const Json here = DescribeAccount(account);
  return recorded.value("cells", Json::array()) != here.at("cells") ||
         CellsOfDevices(world, recorded.value("pci_devices", Json::object())) !=
             CellsOfDevices(world, here.at("pci_devices")) ||
         UnitClasses(world, recorded.value("named_units_assigned", Json())) !=
             UnitClasses(world, here.at("named_units_assigned"));
}

ClaimAnswer ReadAnswer(const absl::Status& status) {
  ClaimAnswer answer;
  const auto refusal = tracker::RefusalOf(status);
  if (!refusal.has_value()) {
    answer.tested = status.ok();
    if (!status.ok()) answer.reasons = {std::string(status.message())};
    return answer;
  }
  answer.tested = refusal->kind != tracker::ClaimRefusalKind::kNodeUnavailable &&
                  refusal->kind != tracker::ClaimRefusalKind::kAlreadyClaimed;
  for (const std::string& reason : refusal->reasons) {
    const bool of_memory = absl::StartsWith(reason, "Free memory ");
    (of_memory ? answer.memory_reasons : answer.reasons).push_back(reason);
  }
  return answer;
}

Json PlacedCells(const Json& step, const Json& instance) {
  if (step.at("op") == "instance_claim") return instance.value("numa", Json());
  const Json context = instance.value("migration_context", Json());
  return context.is_object() ? context.value("new_numa", Json()) : Json();
}

bool IsAsRecorded(const NovaWorld& world, const Json& step,
                  const absl::StatusOr<tracker::OpenClaim>& claim) {
  const Json& expect = step.at("expect");
  const Json error = expect.value("error", Json());
  const Json reasons = error.is_null() ? Json::array() : error.at("reasons");
  if (Json(ReadAnswer(claim.status()).reasons) != reasons) return false;
  if (!claim.ok() || !expect.contains("instance")) return true;
  return PlacedCells(step, DescribeInstance(world, claim->instance)) ==
         PlacedCells(step, expect.at("instance"));
}

tracker::NodeAccount WithFreePages(const tracker::NodeAccount& account) {
  tracker::NodeAccount relaxed = account;
  if (!account.resources().topology.has_value()) return relaxed;
  tracker::NodeResources resources = account.resources();
  for (size_t i = 0; i < resources.topology->cells.size(); ++i) {
    tracker::NumaPages& smallest = resources.topology->cells[i].pages.front();
    const auto& used = account.owners().cells()[i].usage.pages_by_size_kib;
    const auto found = used.find(smallest.size_kib);
    if (found != used.end()) smallest.total += found->second;
    smallest.reserved = 0;
  }
  relaxed.SetResources(std::move(resources));
  return relaxed;
}

std::multiset<std::string> UnitClasses(const NovaWorld& world, const Json& units) {
  std::multiset<std::string> classes;
  for (const Json& name : units) {
    for (const tracker::NamedUnit& unit : world.resources.units) {
      if (Json(unit.name) == name) classes.insert(unit.resource_class);
    }
  }
  return classes;
}

std::vector<std::string> MemoryReasons(const tracker::Flavor& flavor,
                                       const tracker::ClaimLimits& limits,
                                       const tracker::NaiveAccount& before) {
  if (!limits.memory_mib.has_value()) return {};
  const int64_t free = *limits.memory_mib - before.memory_mib_used;
  if (flavor.memory_mib <= free) return {};
  return {absl::StrFormat("Free memory %.2f MB < requested %d MB", static_cast<double>(free),
                          flavor.memory_mib)};
}

std::string RuleAgainst(const Json& step) {
  if (!step.at("expect").contains("ok")) return "";
  const Json decided = step.value("decided_by_rule", Json::object());
  if (decided.empty()) return "T-277";
  const std::string rule = decided.value("*", "");
  return rule == "T-159, T-162" || rule == "T-163" ? rule : "";
}

}  // namespace berth::oracle::nova
