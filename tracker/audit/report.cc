#include "tracker/audit/report.h"

#include <algorithm>
#include <utility>

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

const KnownProvider* FindIn(const std::vector<KnownProvider>& tree, const Uuid& uuid) {
  const auto known = std::find_if(tree.begin(), tree.end(), [&](const KnownProvider& provider) {
    return provider.uuid == uuid;
  });
  return known == tree.end() ? nullptr : &*known;
}

// Makes the inventory of the class `name` in `to` that of `from`: the same one, or none.
void CopyInventory(const Inventories& from, const std::string& name, Inventories* to) {
  const auto found = from.find(name);
  if (found == from.end()) {
    to->erase(name);
  } else {
    (*to)[name] = found->second;
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
    const KnownProvider* const known = FindIn(tree, provider.uuid);
    if (known == nullptr || known->name != provider.name ||
        known->parent_uuid != provider.parent_uuid || known->inventories != provider.inventories ||
        EffectiveTraits(known->traits, provider.traits) != known->traits) {
      return true;
    }
  }
  return false;
}

WantedProvider AsStored(WantedProvider wanted, const ProviderLimits& limits,
                        const KnownProvider* known) {
  static const Inventories* const none = new Inventories();
  for (const std::string& trait : limits.traits) wanted.traits.erase(trait);
  for (const auto& [name, limit] : limits.classes) {
    const auto found = wanted.inventories.find(name);
    if (limit.withheld) {
      CopyInventory(known == nullptr ? *none : known->inventories, name, &wanted.inventories);
    } else if (found != wanted.inventories.end() && limit.stored == 0) {
      wanted.inventories.erase(found);
    } else if (found != wanted.inventories.end()) {
      Inventory& inventory = found->second;
      inventory.total = std::min(inventory.total, limit.stored);
      inventory.reserved = std::min(inventory.reserved, inventory.total);
    }
  }
  return wanted;
}

bool DiffersBeyondLimits(const std::vector<WantedProvider>& wanted, const Records& records) {
  for (const WantedProvider& provider : wanted) {
    const auto limits = records.limits.find(provider.uuid);
    const KnownProvider* const known = FindIn(records.tree, provider.uuid);
    if (limits == records.limits.end() || known == nullptr) {
      if (Differs({provider}, records.tree)) return true;
      continue;
    }
    WantedProvider stored = AsStored(provider, limits->second, known);
    for (const auto& [name, limit] : limits->second.classes) {
      const auto row = known->inventories.find(name);
      const auto asked = provider.inventories.find(name);
      const bool both = row != known->inventories.end() && asked != provider.inventories.end();
      if (both && row->second == asked->second) stored.inventories[name] = asked->second;
    }
    if (Differs({std::move(stored)}, records.tree)) return true;
  }
  return false;
}

}  // namespace berth::tracker
