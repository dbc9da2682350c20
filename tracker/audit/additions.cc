#include "tracker/audit/additions.h"

#include "absl/strings/str_cat.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {
namespace {

// The entries that are for one provider.
struct EntriesOfProvider {
  const ProviderEntry* by_uuid = nullptr;
  const ProviderEntry* by_name = nullptr;
  const ProviderEntry* every_root = nullptr;

  // The entry to apply. Null: none, or two that contradict each other.
  const ProviderEntry* chosen() const {
    if (by_uuid != nullptr && by_name != nullptr) return nullptr;
    if (by_uuid != nullptr) return by_uuid;
    return by_name != nullptr ? by_name : every_root;
  }
};

EntriesOfProvider FindEntries(const std::vector<ProviderEntry>& entries,
                              const WantedProvider& provider) {
  EntriesOfProvider found;
  for (const ProviderEntry& entry : entries) {
    if (entry.every_root()) {
      if (IsNil(provider.parent_uuid)) found.every_root = &entry;
    } else if (entry.uuid == provider.uuid) {
      found.by_uuid = &entry;
    } else if (entry.name == provider.name) {
      found.by_name = &entry;
    }
  }
  return found;
}

// Returns why `entry` cannot be applied to `provider`, or an empty text.
std::string Obstacle(const ProviderEntry& entry, const WantedProvider& provider) {
  for (const auto& [name, inventory] : entry.inventories) {
    if (provider.inventories.count(name) != 0) {
      return absl::StrCat("the tracker itself reports the class ", name);
    }
  }
  for (const std::string& trait : entry.traits) {
    if (provider.traits.count(trait) != 0) {
      return absl::StrCat("the tracker itself decides about the trait ", trait);
    }
  }
  return "";
}

void Apply(const ProviderEntry& entry, WantedProvider* provider) {
  for (const auto& [name, added] : entry.inventories) {
    provider->inventories[name] = {added.total,    added.reserved,  added.min_unit,
                                   added.max_unit, added.step_size, added.allocation_ratio};
  }
  for (const std::string& trait : entry.traits) provider->traits[trait] = true;
}

}  // namespace

Additions AddConfigured(const std::vector<ProviderEntry>& entries, const AddedTraits& added_before,
                        std::vector<WantedProvider>* providers) {
  Additions additions;
  std::set<const ProviderEntry*> met;
  for (WantedProvider& provider : *providers) {
    const EntriesOfProvider found = FindEntries(entries, provider);
    met.insert({found.by_uuid, found.by_name});
    if (found.by_uuid != nullptr && found.by_name != nullptr) {
      additions.problems.push_back(absl::StrCat(
          found.by_uuid->source, " and ", found.by_name->source, " both name provider ",
          provider.name, ", one by its uuid and one by its name: neither has an effect"));
    }
    const ProviderEntry* const entry = found.chosen();
    if (entry != nullptr) {
      const std::string obstacle = Obstacle(*entry, provider);
      if (obstacle.empty()) {
        Apply(*entry, &provider);
      } else {
        additions.problems.push_back(absl::StrCat(entry->source, " adds nothing to provider ",
                                                  provider.name, ": ", obstacle));
      }
    }
    const auto before = added_before.find(provider.uuid);
    if (before == added_before.end()) continue;
    // Has no effect on a trait that was just added, or that the tracker decides about.
    for (const std::string& trait : before->second) provider.traits.emplace(trait, false);
  }
  for (const ProviderEntry& entry : entries) {
    if (entry.every_root() || met.count(&entry) != 0) continue;
    additions.absent.push_back(
        absl::StrCat(entry.source, ": this host has no provider ",
                     IsNil(entry.uuid) ? entry.name : entry.uuid.ToString()));
  }
  return additions;
}

AddedTraits ConfiguredTraits(const std::vector<ProviderEntry>& entries,
                             const std::vector<WantedProvider>& providers) {
  AddedTraits traits;
  for (const WantedProvider& provider : providers) {
    const ProviderEntry* const entry = FindEntries(entries, provider).chosen();
    if (entry != nullptr && !entry->traits.empty()) traits[provider.uuid] = entry->traits;
  }
  return traits;
}

}  // namespace berth::tracker
