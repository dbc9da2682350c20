#include "tracker/audit/report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tracker/audit/audit_keys.h"
#include "tracker/ground/stable_hash.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {
namespace {

// Returns the facts without those values that change all the time on an unchanged host.
Facts SteadyFacts(const Facts& facts) {
  Facts steady = facts;
  steady.uptime.clear();
  steady.memory_used_mib.reset();
  steady.local_disk_used_gib.reset();
  return steady;
}

void AddProvider(const WantedProvider& provider, StableHash* hash) {
  hash->Add(provider.uuid.ToString());
  hash->Add(provider.name);
  hash->Add(TextOrEmpty(provider.parent_uuid));
  for (const auto& [name, inventory] : provider.inventories) {
    hash->Add(absl::StrFormat("%s %d %d %d %d %d %.17g", name, inventory.total, inventory.reserved,
                              inventory.min_unit, inventory.max_unit, inventory.step_size,
                              inventory.allocation_ratio));
  }
  for (const auto& [trait, present] : provider.traits) {
    hash->Add(absl::StrCat(trait, present ? "+" : "-"));
  }
}

void AddCell(const HostCell& cell, StableHash* hash) {
  hash->Add(absl::StrCat("cell ", cell.offer.id, " ", cell.usage.shared_cpus, " ",
                         cell.usage.memory_mib, " ",
                         absl::StrJoin(cell.usage.pinned_cpus.Cpus(), ",")));
  for (const auto& [size_kib, count] : cell.usage.pages_by_size_kib) {
    hash->Add(absl::StrCat("pages ", size_kib, " ", count));
  }
}

void AddAmounts(const Amounts& amounts, StableHash* hash) {
  hash->Add(absl::StrCat(amounts.vcpus, " ", amounts.memory_mib, " ", amounts.disk_mib));
}

void AddAccounting(const Accounting& accounting, StableHash* hash) {
  for (const Amounts* amounts :
       {&accounting.total, &accounting.reserve, &accounting.allocated, &accounting.orphans}) {
    AddAmounts(*amounts, hash);
  }
  const PromisedUsage& promised = accounting.promised;
  for (const Usage* usage : {&promised.instances, &promised.migrations, &promised.claims}) {
    AddAmounts(usage->amounts, hash);
    hash->Add(absl::StrCat(usage->pcpus));
  }
  hash->Add(absl::StrCat(accounting.pcpus, " ", accounting.pcpus_allocated));
  for (const auto& [name, count] : accounting.counters) hash->Add(absl::StrCat(name, " ", count));
  for (const HostCell& cell : accounting.cells) AddCell(cell, hash);
  if (!accounting.pools.empty()) hash->Add(DevicePoolsJson(accounting.pools));
  for (const DevicePool& pool : accounting.pools) hash->Add(TextOrEmpty(pool.provider_uuid));
  for (const DeviceUse& use : accounting.devices) {
    hash->Add(absl::StrCat(use.address, " ", DeviceStatusName(use.status), " ",
                           TextOrEmpty(use.instance_uuid), " ", use.request_id));
  }
}

std::string HexOf(const StableHash& hash) {
  return absl::StrFormat("%016x%016x", hash.high(), hash.low());
}

}  // namespace

std::string FactsDigest(const Facts& facts) {
  StableHash hash;
  hash.Add(FactsJson(SteadyFacts(facts)));
  hash.Add(absl::StrCat(facts.library_version, facts.degraded ? " degraded" : ""));
  hash.Add(facts.host_address);
  hash.Add(facts.storage_id);
  for (const auto& [address, tags] : facts.device_tags) {
    hash.Add(address);
    for (const auto& [name, value] : tags) hash.Add(absl::StrCat(name, "=", value));
  }
  return HexOf(hash);
}

ReportDigest DigestOf(const Report& report) {
  StableHash hash;
  hash.Add(report.node_uuid.ToString());
  hash.Add(report.node_name);
  for (const WantedProvider& provider : report.providers) AddProvider(provider, &hash);
  hash.Add(report.facts_digest);
  for (const Orphan& orphan : report.orphans) {
    hash.Add(orphan.uuid.ToString());
    hash.Add(orphan.name);
    hash.Add(orphan.withheld ? "withheld" : "");
    AddAmounts(orphan.usage, &hash);
  }
  for (const std::string& text : report.findings) hash.Add(text);
  ReportDigest digest;
  digest.but_accounting = HexOf(hash);
  AddAccounting(report.accounting, &hash);
  digest.whole = HexOf(hash);
  return digest;
}

bool Differs(const std::vector<WantedProvider>& wanted, const std::vector<KnownProvider>& tree) {
  for (const WantedProvider& provider : wanted) {
    const auto known = std::find_if(tree.begin(), tree.end(), [&](const KnownProvider& other) {
      return other.uuid == provider.uuid;
    });
    if (known == tree.end() || known->name != provider.name ||
        known->parent_uuid != provider.parent_uuid || known->inventories != provider.inventories ||
        EffectiveTraits(known->traits, provider.traits) != known->traits) {
      return true;
    }
  }
  return false;
}

}  // namespace berth::tracker
