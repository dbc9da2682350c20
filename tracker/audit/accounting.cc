#include "tracker/audit/accounting.h"

#include <algorithm>
#include <set>

#include "tracker/audit/resources.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {
namespace {

constexpr int64_t kBytesPerMib = 1024 * 1024;
constexpr std::chrono::hours kWarnAgain{1};

int64_t AmountOf(const KnownAllocation& allocation, const char* name) {
  const auto found = allocation.amounts.find(name);
  return found == allocation.amounts.end() ? 0 : found->second;
}

Orphan Describe(const Guest& guest) {
  Orphan orphan;
  orphan.uuid = guest.uuid;
  orphan.name = guest.name;
  orphan.state = guest.state;
  orphan.usage.vcpus = guest.vcpus_max > 0 ? guest.vcpus_max : guest.vcpus.value_or(1);
  orphan.usage.memory_mib = guest.memory_max_mib;
  orphan.usage.disk_mib = (guest.local_disk_bytes + kBytesPerMib - 1) / kBytesPerMib;
  orphan.disk_gib = CeilGib(orphan.usage.disk_mib);
  return orphan;
}

std::map<std::string, int64_t> CountersOf(const NodeAccount& account) {
  std::map<std::string, int64_t> counters = account.statistics().Counters();
  if (account.failed_builds() > 0) counters["failed_builds"] = account.failed_builds();
  return counters;
}

bool Runs(const Guest& guest) {
  return guest.state == GuestState::kRunning || guest.state == GuestState::kBlocked ||
         guest.state == GuestState::kPaused;
}

}  // namespace

Amounts Accounting::used() const {
  Amounts sum = reserve;
  for (const Usage* part : {&promised.instances, &promised.migrations, &promised.claims}) {
    sum += part->amounts;
  }
  sum += allocated;
  sum += orphans;
  return sum;
}

int64_t Accounting::pcpus_used() const {
  return promised.instances.pcpus + promised.migrations.pcpus + promised.claims.pcpus +
         pcpus_allocated;
}

Amounts Accounting::free() const {
  const Amounts taken = used();
  return {total.vcpus - taken.vcpus, total.memory_mib - taken.memory_mib,
          total.disk_mib - taken.disk_mib};
}

int64_t Accounting::used_disk_gib() const { return WholeGib(used().disk_mib); }

OrphanJudgement JudgeOrphans(const std::vector<Guest>& guests,
                             const std::vector<KnownAllocation>& allocations, OrphanPolicy policy,
                             const OrphanMemory& before, MonotonicTime now, absl::Time wall_now,
                             std::chrono::nanoseconds confirmation) {
  std::set<Uuid> claimed;
  for (const KnownAllocation& allocation : allocations) {
    if (allocation.amounts.empty()) continue;
    claimed.insert(allocation.consumer_uuid);
    if (!IsNil(allocation.instance_uuid)) claimed.insert(allocation.instance_uuid);
  }
  OrphanJudgement result;
  for (const Guest& guest : guests) {
    if (!Runs(guest) || claimed.count(guest.uuid) != 0) continue;
    const auto known = before.guests.find(guest.uuid);
    OrphanMemory::Seen seen =
        known == before.guests.end() ? OrphanMemory::Seen{now, wall_now, false, {}} : known->second;
    seen.confirmed = seen.confirmed || now >= seen.first + confirmation;
    if (!seen.confirmed) {
      const MonotonicTime due = seen.first + confirmation;
      result.confirm_at = std::min(result.confirm_at.value_or(due), due);
    } else if (!seen.warned || now >= *seen.warned + kWarnAgain) {
      seen.warned = now;
      result.to_warn.push_back(guest.uuid);
    }
    Orphan orphan = Describe(guest);
    orphan.first_seen_at = seen.first_at;
    orphan.withheld = seen.confirmed && policy == OrphanPolicy::kWithhold;
    result.memory.guests.insert_or_assign(guest.uuid, seen);
    result.orphans.push_back(std::move(orphan));
  }
  std::sort(result.orphans.begin(), result.orphans.end(),
            [](const Orphan& a, const Orphan& b) { return a.uuid < b.uuid; });
  return result;
}

Accounting Account(const Facts& facts, const NodeConfiguration& configuration,
                   const Records* records, const std::vector<Orphan>& orphans,
                   const NodeAccount* account) {
  const NodeResources resources = ResourcesOf(facts, configuration);
  Accounting accounting;
  accounting.total = resources.total;
  accounting.reserve = resources.reserve;
  accounting.pcpus = facts.pcpus;
  if (account != nullptr) {
    accounting.promised = account->promised();
    accounting.counters = CountersOf(*account);
    accounting.cells = account->owners().cells();
    // A table of devices is worth its price only if guests may get devices, or have some.
    if (!account->resources().device_specs.specs().empty() ||
        !account->owners().by_device().empty()) {
      const DeviceTable table = account->Devices();
      accounting.pools = table.Pools();
      accounting.devices = table.Uses();
    }
  }
  const auto counts = [account](const Uuid& consumer) {
    return account != nullptr && account->Counts(consumer);
  };
  if (records != nullptr) {
    for (const KnownAllocation& allocation : records->allocations) {
      if (counts(allocation.consumer_uuid)) continue;
      const int64_t dedicated = AmountOf(allocation, "PCPU");
      accounting.pcpus_allocated += dedicated;
      accounting.allocated +=
          {AmountOf(allocation, "VCPU") + dedicated, AmountOf(allocation, "MEMORY_MB"),
           AmountOf(allocation, "DISK_GB") * kMibPerGib};
    }
  }
  for (const Orphan& orphan : orphans) {
    if (!counts(orphan.uuid)) accounting.orphans += orphan.usage;
  }
  return accounting;
}

Withheld SumWithheld(const std::vector<Orphan>& orphans) {
  Withheld sum;
  for (const Orphan& orphan : orphans) {
    if (!orphan.withheld) continue;
    sum.vcpus += orphan.usage.vcpus;
    sum.memory_mib += orphan.usage.memory_mib;
    sum.disk_gib += orphan.disk_gib;
  }
  return sum;
}

}  // namespace berth::tracker
