// What the model does with claims that find their own place. It knows queries of one class and a
// trait, places by rising id and no sharing providers, as random commands have them.
#include <algorithm>

#include "tests/worlds/model_ledger.h"

namespace berth::placement {
namespace {

const RequestGroup& GroupOf(const ClaimMember& member) { return member.query.groups.at(0); }
const NamedAmount& AskedOf(const ClaimMember& member) { return GroupOf(member).resources.at(0); }

// The members as writes of allocations that name no place yet.
std::vector<ConsumerAllocations> WritesOf(const PlaceClaims& command) {
  std::vector<ConsumerAllocations> wanted;
  for (const ClaimMember& member : command.members) {
    wanted.push_back({member.consumer,
                      member.expected_generation,
                      member.project,
                      member.user,
                      member.type,
                      {},
                      member.lease});
  }
  return wanted;
}

}  // namespace

std::string ModelLedger::QueryRefusal(const PlaceClaims& command) const {
  for (const ClaimMember& member : command.members) {
    const Amount amount = AskedOf(member).amount;
    if (amount < 1 || amount > 2147483647) return "INVALID_FIELD";
    if (!classes.contains(AskedOf(member).resource_class)) return "RESOURCE_CLASS_NOT_FOUND";
    for (const std::vector<std::string>& set : GroupOf(member).required) {
      if (!traits.contains(set.at(0))) return "TRAIT_NOT_FOUND";
    }
    for (const std::string& trait : GroupOf(member).forbidden) {
      if (!traits.contains(trait)) return "TRAIT_NOT_FOUND";
    }
  }
  return "";
}

bool ModelLedger::HasRoomFor(const ClaimMember& member, ProviderId id,
                             const std::vector<ConsumerAllocations>& wanted) const {
  const auto& [name, amount] = AskedOf(member);
  const Provider& provider = providers.at(id);
  const auto found = provider.inventories.find(name);
  if (found == provider.inventories.end()) return false;
  for (const std::vector<std::string>& set : GroupOf(member).required) {
    if (!provider.traits.contains(set.at(0))) return false;
  }
  for (const std::string& trait : GroupOf(member).forbidden) {
    if (provider.traits.contains(trait)) return false;
  }
  const Inventory& row = found->second;
  if (amount < row.min_unit || amount > row.max_unit || amount % row.step_size != 0) return false;
  Amount used = HeldByOthers(id, name, wanted);
  for (const ConsumerAllocations& each : wanted) {
    for (const ProviderAmounts& taken : each.allocations) {
      if (taken.provider == id && taken.amounts[0].resource_class == name) {
        used += taken.amounts[0].amount;
      }
    }
  }
  return static_cast<double>(used + amount) <= RoomOf(row);
}

bool ModelLedger::PlaceEach(const PlaceClaims& command, std::optional<ProviderId> only,
                            std::vector<ConsumerAllocations>& wanted) const {
  wanted = WritesOf(command);
  std::set<ProviderId> without;
  for (size_t m = 0; m < wanted.size(); ++m) {
    std::optional<std::pair<ProviderId, ProviderId>> best;  // root and provider
    for (const auto& [id, provider] : providers) {
      const ProviderId root = RootOf(id);
      if ((only && root != *only) || without.contains(root)) continue;
      if (!HasRoomFor(command.members[m], id, wanted)) continue;
      if (!best || std::pair(root, id) < *best) best = {root, id};
    }
    if (!best) return false;
    wanted[m].allocations.push_back({best->second, {AskedOf(command.members[m])}});
    if (command.affinity == MemberAffinity::kDifferentRoots) without.insert(best->first);
  }
  return true;
}

std::string ModelLedger::Settle(const PlaceClaims& command, Generation fresh) {
  std::vector<ConsumerAllocations> wanted = WritesOf(command);
  std::string reason;
  for (size_t count = 1; count <= wanted.size() && reason.empty(); ++count) {  // one by one
    reason = FormOf(std::vector(wanted.begin(), wanted.begin() + static_cast<int>(count)));
  }
  if (reason.empty()) reason = QueryRefusal(command);
  if (reason.empty()) reason = NameRefusal(wanted);
  if (!reason.empty()) return reason;
  bool placed = false;
  if (command.affinity == MemberAffinity::kSameRoot) {
    for (const auto& [id, provider] : providers) {
      placed = placed || (!provider.parent && PlaceEach(command, id, wanted));
    }
  } else {
    placed = PlaceEach(command, std::nullopt, wanted);
  }
  if (!placed) return "NO_CANDIDATE";
  Replace(wanted, fresh);
  return "OK";
}

}  // namespace berth::placement
