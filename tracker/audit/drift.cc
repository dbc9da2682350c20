#include "tracker/audit/drift.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace berth::tracker {
namespace {

using AmountsByClass = std::map<std::string, int64_t>;

constexpr size_t kInstancesNamed = 5;

// What placement has to allocate to the instance. The emulator of a guest may have CPUs of its own,
// which placement counts as dedicated ones.
AmountsByClass ExpectedOf(const Instance& instance) {
  int64_t pinned = 0;
  int64_t reserved = 0;
  if (instance.assigned.topology.has_value()) {
    for (const GuestCell& cell : instance.assigned.topology->cells) {
      pinned += static_cast<int64_t>(cell.pinning.size());
      reserved += cell.reserved_cpus.Count();
    }
  }
  const Amounts amounts = AmountsOf(instance.flavor, instance.boot_from_volume, Overheads());
  return {{"VCPU", amounts.vcpus - pinned},
          {"PCPU", pinned + reserved},
          {"MEMORY_MB", amounts.memory_mib},
          {"DISK_GB", CeilGib(amounts.disk_mib)}};
}

std::map<Uuid, AmountsByClass> AmountsByConsumer(const Records& records) {
  std::map<Uuid, AmountsByClass> held;
  for (const KnownAllocation& allocation : records.allocations) {
    for (const auto& [name, amount] : allocation.amounts) {
      held[allocation.consumer_uuid][name] += amount;
    }
  }
  return held;
}

}  // namespace

std::vector<Drift> FindDrifts(const NodeAccount& account, const Records& records,
                              const NodeConfiguration& configuration) {
  const std::map<Uuid, AmountsByClass> held = AmountsByConsumer(records);
  const std::map<Uuid, Uuid> moving = account.tracked_migrations();
  std::map<std::string, Drift> drifts;
  for (const Uuid& uuid : account.tracked_instances()) {
    const std::optional<Instance> instance = account.FindInstance(uuid);
    if (moving.contains(uuid) || account.OpenClaimOf(uuid) != nullptr || instance->context) {
      continue;
    }
    const auto consumer = held.find(uuid);
    for (const auto& [name, amount] : ExpectedOf(*instance)) {
      if (name == "DISK_GB" && configuration.shared_disk_provider) continue;
      const bool holds = consumer != held.end() && consumer->second.contains(name);
      const int64_t allocated = holds ? consumer->second.at(name) : 0;
      Drift& drift = drifts[name];
      drift.resource_class = name;
      drift.accounted += amount;
      drift.allocated += allocated;
      if (amount != allocated) drift.instances.push_back(uuid);
    }
  }
  std::vector<Drift> found;
  for (auto& [name, drift] : drifts) {
    if (!drift.instances.empty()) found.push_back(std::move(drift));
  }
  return found;
}

std::string DriftText(const Drift& drift) {
  const size_t count = drift.instances.size();
  const auto end = drift.instances.begin() + static_cast<int64_t>(std::min(count, kInstancesNamed));
  return absl::StrCat(
      drift.resource_class, ": instances count ", drift.accounted, ", but their allocations ",
      drift.allocated, "; ", count == 1 ? "instance " : "instances ",
      absl::StrJoin(drift.instances.begin(), end, ", ",
                    [](std::string* text, const Uuid& uuid) { text->append(uuid.ToString()); }),
      count > kInstancesNamed ? absl::StrCat(" and ", count - kInstancesNamed, " more") : "");
}

}  // namespace berth::tracker
