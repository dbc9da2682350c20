#include "tracker/audit/reshape.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {
namespace {

constexpr size_t kHoldingsMax = 1000;  // of one report

// What consumers hold on the node, with the changes of one reshape.
class Holdings {
 public:
  explicit Holdings(const Records& records) {
    for (const KnownAllocation& allocation : records.allocations) {
      WantedHolding& holding = by_consumer_[allocation.consumer_uuid];
      holding.consumer_uuid = allocation.consumer_uuid;
      holding.generation = allocation.consumer_generation;
      holding.amounts[allocation.provider_uuid] = allocation.amounts;
    }
  }

  void Add(const Uuid& consumer, const Uuid& provider, const std::string& resource_class,
           int64_t amount) {
    changed_.insert(consumer);
    std::map<std::string, int64_t>& amounts = by_consumer_[consumer].amounts[provider];
    int64_t& held = amounts[resource_class];
    held += amount;
    if (held == 0) amounts.erase(resource_class);
    if (amounts.empty()) by_consumer_[consumer].amounts.erase(provider);
  }

  // The consumers that were changed, at most as many as fit into one report.
  std::vector<WantedHolding> Changed() const {
    std::vector<WantedHolding> changed;
    for (const Uuid& consumer : changed_) {
      if (changed.size() < kHoldingsMax) changed.push_back(by_consumer_.at(consumer));
    }
    return changed;
  }

 private:
  std::map<Uuid, WantedHolding> by_consumer_;
  std::set<Uuid> changed_;
};

int64_t AmountOf(const KnownAllocation& allocation, const std::string& resource_class) {
  const auto found = allocation.amounts.find(resource_class);
  return found == allocation.amounts.end() ? 0 : found->second;
}

// The number of virtual CPUs of the consumer that have a host CPU of their own.
int64_t PinnedCpus(const NodeAccount& account, const KnownAllocation& allocation) {
  const bool moves = !IsNil(allocation.instance_uuid);
  const std::optional<Instance> instance =
      account.FindInstance(moves ? allocation.instance_uuid : allocation.consumer_uuid);
  if (!instance) return 0;
  // What a migration holds is what the instance had before it (T-221).
  const bool before =
      moves && instance->context && instance->context->migration_uuid == allocation.consumer_uuid;
  const Assigned& assigned = before ? instance->context->old_assigned : instance->assigned;
  int64_t pinned = 0;
  if (!assigned.topology) return 0;
  for (const GuestCell& cell : assigned.topology->cells) pinned += cell.pinned_cpus.Count();
  return pinned;
}

// How much of a class each wanted child has left, in the order of the report: in this order
// placement applies a ceiling, so the first children are the last to be cut.
std::vector<std::pair<Uuid, int64_t>> LeftOnChildren(const std::vector<WantedProvider>& providers,
                                                     const Records& records,
                                                     const std::string& resource_class) {
  std::vector<std::pair<Uuid, int64_t>> left;
  for (size_t i = 1; i < providers.size(); ++i) {
    const auto found = providers[i].inventories.find(resource_class);
    if (found == providers[i].inventories.end()) continue;
    int64_t amount = found->second.total - found->second.reserved;
    for (const KnownAllocation& allocation : records.allocations) {
      if (allocation.provider_uuid == providers[i].uuid)
        amount -= AmountOf(allocation, resource_class);
    }
    left.emplace_back(providers[i].uuid, amount);
  }
  return left;
}

// Moves what consumers hold of a class from the root to the children.
void MoveToChildren(const Records& records, const std::vector<WantedProvider>& providers,
                    const std::string& resource_class, Holdings* holdings) {
  std::vector<std::pair<Uuid, int64_t>> left = LeftOnChildren(providers, records, resource_class);
  for (const KnownAllocation& allocation : records.allocations) {
    const int64_t amount = AmountOf(allocation, resource_class);
    if (allocation.provider_uuid != providers[0].uuid || amount == 0) continue;
    const auto child =
        std::find_if(left.begin(), left.end(), [&](const auto& it) { return it.second >= amount; });
    if (child == left.end()) continue;
    child->second -= amount;
    holdings->Add(allocation.consumer_uuid, providers[0].uuid, resource_class, -amount);
    holdings->Add(allocation.consumer_uuid, child->first, resource_class, amount);
  }
}

void MoveToDedicated(const Records& records, const NodeAccount& account, const Uuid& root,
                     Holdings* holdings) {
  for (const KnownAllocation& allocation : records.allocations) {
    if (allocation.provider_uuid != root) continue;
    const int64_t amount = std::min(AmountOf(allocation, "VCPU"), PinnedCpus(account, allocation));
    if (amount == 0) continue;
    holdings->Add(allocation.consumer_uuid, root, "VCPU", -amount);
    holdings->Add(allocation.consumer_uuid, root, "PCPU", amount);
  }
}

bool IsHeld(const Records& records, const Uuid& provider, const std::string& resource_class) {
  return std::any_of(records.allocations.begin(), records.allocations.end(),
                     [&](const KnownAllocation& allocation) {
                       return allocation.provider_uuid == provider &&
                              AmountOf(allocation, resource_class) > 0;
                     });
}

// Whether a child offers the class.
bool IsOnChild(const std::vector<WantedProvider>& providers, const std::string& resource_class) {
  return std::any_of(providers.begin() + 1, providers.end(), [&](const WantedProvider& child) {
    return child.inventories.count(resource_class) != 0;
  });
}

std::string Postponed(const std::string& what) {
  return absl::StrCat(what,
                      " while instances hold it: restart the tracker, which moves what they hold "
                      "as far as placement's access file allows; until then placement keeps what "
                      "it has");
}

// The instances that are resized on the node on which they are.
std::set<Uuid> ResizingHere(const NodeAccount& account) {
  std::set<Uuid> resizing;
  for (const auto& [instance, migration] : account.tracked_migrations()) {
    const Migration* const move = account.FindMigration(migration);
    if (move != nullptr && move->source == move->destination) resizing.insert(instance);
  }
  return resizing;
}

}  // namespace

std::vector<WantedHolding> MoveResources(const Records& records, const NodeAccount& account,
                                         bool starting, std::vector<WantedProvider>* providers,
                                         std::vector<std::string>* problems) {
  WantedProvider& root = providers->front();
  const auto known = std::find_if(records.tree.begin(), records.tree.end(),
                                  [&](const KnownProvider& it) { return it.uuid == root.uuid; });
  if (known == records.tree.end()) return {};
  Holdings holdings(records);
  for (const auto& [name, inventory] : known->inventories) {
    if (root.inventories.count(name) != 0 || !IsHeld(records, root.uuid, name)) continue;
    if (!IsOnChild(*providers, name)) continue;
    if (starting) {
      MoveToChildren(records, *providers, name, &holdings);
      continue;
    }
    problems->push_back(Postponed(absl::StrCat(name, " moves to child providers")));
    root.inventories[name] = inventory;
    std::erase_if(*providers, [&, &name = name](const WantedProvider& child) {
      return !IsNil(child.parent_uuid) && child.inventories.count(name) != 0;
    });
  }
  if (root.inventories.count("PCPU") != 0 && known->inventories.count("PCPU") == 0) {
    Holdings dedicated = holdings;
    MoveToDedicated(records, account, root.uuid, &dedicated);
    if (starting) return dedicated.Changed();
    if (!dedicated.Changed().empty()) {
      problems->push_back(Postponed("VCPU becomes PCPU"));
      root.inventories.erase("PCPU");
    }
  }
  return holdings.Changed();
}

std::vector<WantedHolding> HealDevices(const DeviceProviderTree& devices, const Records& records,
                                       const NodeAccount& account,
                                       const std::vector<WantedProvider>& providers) {
  // Uuids and addresses of the providers that placement has.
  std::map<std::string, Uuid> uuids;
  std::map<Uuid, std::string> addresses;
  std::map<std::string, std::string> classes;
  for (const DeviceProvider& device : devices.providers) {
    const auto wanted = std::find_if(providers.begin(), providers.end(),
                                     [&](const auto& it) { return it.name == device.name; });
    if (wanted == providers.end()) continue;  // MoveResources has put it off
    const auto known = std::find_if(records.tree.begin(), records.tree.end(),
                                    [&](const auto& it) { return it.uuid == wanted->uuid; });
    if (known == records.tree.end() || known->inventories.count(device.resource_class) == 0)
      continue;
    uuids[device.address] = wanted->uuid;
    addresses[wanted->uuid] = device.address;
    classes[device.address] = device.resource_class;
  }
  std::map<Uuid, std::map<std::string, int64_t>> allocated;
  for (const KnownAllocation& allocation : records.allocations) {
    std::map<std::string, int64_t>& held = allocated[allocation.consumer_uuid];
    const auto address = addresses.find(allocation.provider_uuid);
    if (address == addresses.end()) continue;
    // A device that had another class when it was allocated is still held as that (T-239).
    for (const auto& [name, amount] : allocation.amounts) held[address->second] += amount;
  }
  Holdings holdings(records);
  for (const DeviceAllocation& missing :
       MissingDeviceAllocations(devices, account.Devices(), allocated, ResizingHere(account))) {
    const auto uuid = uuids.find(missing.address);
    if (uuid == uuids.end()) continue;
    const int64_t held = allocated[missing.consumer][missing.address];
    holdings.Add(missing.consumer, uuid->second, classes[missing.address], missing.amount - held);
  }
  return holdings.Changed();
}

}  // namespace berth::tracker
