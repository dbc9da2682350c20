#include "tests/placement/brute_force.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace berth::placement {
namespace {

// A provider with all that the rules ask about, by name.
struct PlainProvider {
  ProviderId id;
  ProviderId root;
  std::vector<ProviderId> line;  // itself, its parent, ... up to the root
  std::set<std::string> traits;
  std::set<AggregateId> aggregates;
  std::map<std::string, Inventory> inventories;
  std::map<std::string, Amount> used;
  bool shares() const { return traits.contains("MISC_SHARES_VIA_AGGREGATE"); }
};
using World = std::vector<PlainProvider>;

World WorldOf(const State& state) {
  World world;
  for (const auto& chunk : state.roots().chunks()) {
    for (ProviderId root : chunk->ids) {
      const TreePtr tree = state.FindTree(root);
      for (int position = 0; position < tree->size(); ++position) {
        const ProviderConfig& config = tree->config(position);
        PlainProvider& provider = world.emplace_back();
        provider.id = config.id;
        provider.root = root;
        for (int at = position; at >= 0; at = tree->shape->parent_of[at]) {
          provider.line.push_back(tree->config(at).id);
        }
        for (TraitId trait : config.traits) {
          provider.traits.insert(state.catalog().traits.NameOf(trait));
        }
        provider.aggregates.insert(config.aggregates.begin(), config.aggregates.end());
        for (size_t row = 0; row < config.inventories.size(); ++row) {
          const InventoryRow& offered = config.inventories[row];
          const std::string& name = state.catalog().classes.NameOf(offered.resource_class);
          provider.inventories[name] = offered.inventory;
          provider.used[name] = tree->used_of(position, static_cast<int>(row));
        }
      }
    }
  }
  return world;
}

template <typename Set, typename Item>
bool HasAny(const Set& set, const std::vector<Item>& items) {
  return std::any_of(items.begin(), items.end(),
                     [&set](const Item& item) { return set.contains(item); });
}
template <typename Set, typename Item>
bool HasAnyOfEach(const Set& set, const std::vector<std::vector<Item>>& terms) {
  return std::all_of(terms.begin(), terms.end(),
                     [&set](const auto& term) { return HasAny(set, term); });
}

// P-27, P-30; `amount` on top of what is used.
bool FitsIn(const PlainProvider& provider, const std::string& name, Amount amount) {
  const auto found = provider.inventories.find(name);
  if (found == provider.inventories.end()) return false;
  const Inventory& inventory = found->second;
  const auto capacity = static_cast<Amount>(
      static_cast<double>(inventory.total - inventory.reserved) * inventory.allocation_ratio);
  return amount >= inventory.min_unit && amount <= inventory.max_unit &&
         amount % inventory.step_size == 0 && provider.used.at(name) + amount <= capacity;
}

// P-108, P-176.
bool MayServe(const World& world, const PlainProvider& provider, const PlainProvider& anchor) {
  if (provider.root == anchor.id) return true;
  if (!provider.shares()) return false;
  return std::any_of(world.begin(), world.end(), [&](const PlainProvider& other) {
    return other.root == anchor.id &&
           std::any_of(other.aggregates.begin(), other.aggregates.end(),
                       [&](AggregateId a) { return provider.aggregates.contains(a); });
  });
}

// One choice: which provider gives `resources` to the group.
struct Choice {
  const RequestGroup* group;
  std::vector<NamedAmount> resources;
};
using Chosen = std::vector<const PlainProvider*>;

class Enumeration {
 public:
  Enumeration(const State& state, const CandidateRequest& request)
      : request_(request), world_(WorldOf(state)) {
    for (const RequestGroup& group : request.groups) {
      if (!group.suffix.empty()) choices_.push_back({&group, group.resources});
      if (!group.suffix.empty()) continue;
      for (const NamedAmount& one : group.resources) choices_.push_back({&group, {one}});
    }
  }

  std::set<PlainCandidate> Run() {
    for (const PlainProvider& anchor : world_) {
      if (anchor.id != anchor.root) continue;  // P-177
      const auto has = [&](const std::string& trait) { return anchor.traits.contains(trait); };
      const auto& required = request_.root_required;
      const auto& forbidden = request_.root_forbidden;
      if (!std::all_of(required.begin(), required.end(), has)) continue;   // P-178
      if (std::any_of(forbidden.begin(), forbidden.end(), has)) continue;  // P-178
      Chosen chosen;
      Try(anchor, chosen);
    }
    return found_;
  }

 private:
  void Try(const PlainProvider& anchor, Chosen& chosen) {
    if (chosen.size() == choices_.size()) {
      if (IsLawful(chosen)) found_.insert(CandidateOf(chosen));
      return;
    }
    const Choice& choice = choices_[chosen.size()];
    for (const PlainProvider& provider : world_) {
      if (!MayServe(world_, provider, anchor)) continue;
      if (!Serves(provider, choice, anchor)) continue;
      chosen.push_back(&provider);
      Try(anchor, chosen);
      chosen.pop_back();
    }
  }

  bool Serves(const PlainProvider& provider, const Choice& choice,
              const PlainProvider& anchor) const {
    const RequestGroup& group = *choice.group;
    for (const NamedAmount& wanted : choice.resources) {
      if (!FitsIn(provider, wanted.resource_class, wanted.amount)) return false;  // P-179, P-185
    }
    if (HasAny(provider.traits, group.forbidden)) return false;                  // P-180, P-188
    if (HasAny(provider.aggregates, group.forbidden_aggregates)) return false;   // P-181, P-191
    if (group.in_tree && provider.root != RootOf(*group.in_tree)) return false;  // P-182, P-192
    const bool member = HasAnyOfEach(provider.aggregates, group.member_of);
    if (!group.suffix.empty()) {
      return member && HasAnyOfEach(provider.traits, group.required);  // P-180, P-181
    }
    if (group.in_tree && anchor.id != RootOf(*group.in_tree)) return false;   // P-192
    if (HasAny(anchor.aggregates, group.forbidden_aggregates)) return false;  // P-191
    const bool native = provider.root == anchor.id;
    return member || (native && HasAnyOfEach(anchor.aggregates, group.member_of));  // P-189
  }

  std::optional<ProviderId> RootOf(ProviderId id) const {
    for (const PlainProvider& provider : world_) {
      if (provider.id == id) return provider.root;
    }
    return std::nullopt;
  }

  bool IsLawful(const Chosen& chosen) const {
    return TraitsAreMet(chosen) && AmountsFit(chosen) && AreApart(chosen) && AreTogether(chosen);
  }

  bool TraitsAreMet(const Chosen& chosen) const {  // P-186
    std::set<std::string> traits;
    std::vector<std::vector<std::string>> required;
    for (size_t i = 0; i < chosen.size(); ++i) {
      if (!choices_[i].group->suffix.empty()) continue;
      required = choices_[i].group->required;
      traits.insert(chosen[i]->traits.begin(), chosen[i]->traits.end());
    }
    return HasAnyOfEach(traits, required);
  }

  bool AmountsFit(const Chosen& chosen) const {  // P-197
    const PlainCandidate candidate = CandidateOf(chosen);
    for (const auto& [key, amount] : candidate.allocations) {
      const auto& [id, name] = key;
      for (const PlainProvider& provider : world_) {
        if (provider.id == id && !FitsIn(provider, name, amount)) return false;
      }
    }
    return true;
  }

  bool AreApart(const Chosen& chosen) const {  // P-196
    if (request_.group_policy != GroupPolicy::kIsolate) return true;
    std::set<ProviderId> seen;
    for (size_t i = 0; i < chosen.size(); ++i) {
      if (choices_[i].group->suffix.empty()) continue;
      if (!seen.insert(chosen[i]->id).second) return false;
    }
    return true;
  }

  bool AreTogether(const Chosen& chosen) const {  // P-198
    for (const std::vector<std::string>& set : request_.same_subtree) {
      Chosen members;
      for (size_t i = 0; i < chosen.size(); ++i) {
        const std::string& suffix = choices_[i].group->suffix;
        if (std::find(set.begin(), set.end(), suffix) != set.end()) members.push_back(chosen[i]);
      }
      const bool together =
          std::any_of(members.begin(), members.end(), [&](const PlainProvider* top) {
            return std::all_of(members.begin(), members.end(), [&](const PlainProvider* member) {
              const auto& line = member->line;
              return std::find(line.begin(), line.end(), top->id) != line.end();
            });
          });
      if (!together) return false;
    }
    return true;
  }

  PlainCandidate CandidateOf(const Chosen& chosen) const {  // P-195, P-202
    PlainCandidate candidate;
    for (size_t i = 0; i < chosen.size(); ++i) {
      candidate.mappings[choices_[i].group->suffix].insert(chosen[i]->id);
      for (const NamedAmount& wanted : choices_[i].resources) {
        candidate.allocations[{chosen[i]->id, wanted.resource_class}] += wanted.amount;
      }
    }
    return candidate;
  }

  const CandidateRequest& request_;
  World world_;
  std::vector<Choice> choices_;
  std::set<PlainCandidate> found_;
};

}  // namespace

std::set<PlainCandidate> AllCandidates(const State& state, const CandidateRequest& request) {
  return Enumeration(state, request).Run();
}

PlainCandidate Plain(const State& state, const Candidate& candidate) {
  PlainCandidate plain;
  for (const Allocation& allocation : candidate.allocations) {
    const std::string& name = state.catalog().classes.NameOf(allocation.resource_class);
    plain.allocations[{allocation.provider, name}] = allocation.amount;
  }
  for (const auto& [suffix, providers] : candidate.mappings) {
    plain.mappings[suffix] = {providers.begin(), providers.end()};
  }
  return plain;
}

std::string ToString(const State& state, const PlainCandidate& candidate) {
  const auto name = [&state](ProviderId id) { return state.FindProvider(id)->config().name; };
  std::vector<std::string> parts;
  for (const auto& [key, amount] : candidate.allocations) {
    parts.push_back(absl::StrCat(name(key.first), " ", key.second, ":", amount));
  }
  std::vector<std::string> mappings;
  for (const auto& [suffix, providers] : candidate.mappings) {
    std::vector<std::string> names;
    for (ProviderId provider : providers) names.push_back(name(provider));
    mappings.push_back(absl::StrCat("\"", suffix, "\"=", absl::StrJoin(names, "+")));
  }
  return absl::StrCat(absl::StrJoin(parts, ", "), " | ", absl::StrJoin(mappings, " "));
}

}  // namespace berth::placement
