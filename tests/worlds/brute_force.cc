#include "tests/worlds/brute_force.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/worlds/brute_world.h"

namespace berth::placement {
namespace {

// What one provider gives for one group.
struct Part {
  const RequestGroup* group;
  const PlainProvider* provider;
  std::vector<NamedAmount> resources;
};
using Chosen = std::vector<Part>;

// A part that has no provider yet; a divided amount has several.
struct Pick {
  const RequestGroup* group;
  std::vector<NamedAmount> resources;
  Amount max_providers = 1;
};

Amount MaxProviders(const RequestGroup& group, const std::string& name) {
  for (const NamedAmount& each : group.max_providers) {
    if (each.resource_class == name) return each.amount;
  }
  return 1;
}

class Enumeration {
 public:
  Enumeration(const State& state, const CandidateRequest& request, const BruteOptions& options)
      : request_(request), options_(options), world_(WorldOf(state)) {
    std::sort(world_.begin(), world_.end(),
              [](const PlainProvider& a, const PlainProvider& b) { return a.id < b.id; });
    std::vector<Pick> divided;
    for (const RequestGroup& group : request.groups) {
      if (!group.suffix.empty()) choices_.push_back({&group, group.resources});
      if (!group.suffix.empty()) continue;
      std::vector<NamedAmount> by_class = group.resources;
      std::sort(by_class.begin(), by_class.end(), [&](const auto& a, const auto& b) {
        const auto& classes = state.catalog().classes;
        return *classes.Find(a.resource_class) < *classes.Find(b.resource_class);
      });
      for (const NamedAmount& one : by_class) {
        const Amount most = MaxProviders(group, one.resource_class);
        (most > 1 ? divided : choices_).push_back({&group, {one}, most});
      }
    }
    // Last, since they take what the others leave.
    choices_.insert(choices_.end(), divided.begin(), divided.end());
  }

  CandidatesByRoot Run() {
    for (const PlainProvider& root : world_) {
      if (root.id != root.root || !RootMatches(root)) continue;  // P-177
      if (options_.only && root.id != *options_.only) continue;
      Chosen chosen;
      Try(root, 0, chosen);
    }
    return std::move(found_);
  }

 private:
  bool RootMatches(const PlainProvider& root) const {
    return HasAnyOfEach(root.traits, request_.root_required) &&       // P-178
           !HasAny(root.traits, request_.root_forbidden) &&           // P-178
           HasAnyOfEach(root.aggregates, request_.root_member_of) &&  // D-25
           !HasAny(root.aggregates, request_.root_forbidden_aggregates) &&
           std::count(request_.forbidden_roots.begin(), request_.forbidden_roots.end(), root.id) ==
               0;
  }

  void Try(const PlainProvider& root, size_t at, Chosen& chosen) {
    if (options_.first_only && found_.contains(root.id)) return;
    if (at == choices_.size()) {
      if (IsLawful(chosen)) found_[root.id].insert(CandidateOf(chosen));
      return;
    }
    const Pick& choice = choices_[at];
    if (choice.max_providers > 1) return TryDivided(root, at, 0, {}, chosen);
    for (const PlainProvider& provider : world_) {
      if (!MayServe(world_, provider, root) || !Fits(provider, choice)) continue;
      if (!Serves(provider, *choice.group, root)) continue;
      chosen.push_back({choice.group, &provider, choice.resources});
      Try(root, at + 1, chosen);
      chosen.pop_back();
    }
  }

  // Every set of providers from `next` on, joined to `set`.
  void TryDivided(const PlainProvider& root, size_t at, size_t next,
                  const std::vector<const PlainProvider*>& set, Chosen& chosen) {
    const Pick& choice = choices_[at];
    if (!set.empty()) {
      Chosen more = chosen;
      if (Divide(choice, set, more)) Try(root, at + 1, more);
    }
    if (static_cast<Amount>(set.size()) == choice.max_providers) return;
    for (size_t i = next; i < world_.size(); ++i) {
      const PlainProvider& provider = world_[i];
      if (!MayServe(world_, provider, root)) continue;
      if (!Serves(provider, *choice.group, root)) continue;
      std::vector<const PlainProvider*> longer = set;
      longer.push_back(&provider);
      TryDivided(root, at, i + 1, longer, chosen);
    }
  }

  // Adds what each of `set` gives; false: they cannot, or not all are needed.
  static bool Divide(const Pick& choice, std::vector<const PlainProvider*> set, Chosen& chosen) {
    const auto& [name, amount] = choice.resources.front();
    std::sort(set.begin(), set.end(), [](const auto* a, const auto* b) { return a->id < b->id; });
    std::vector<Amount> taken(set.size(), 0);
    std::vector<Amount> most;
    Amount sum = 0;
    for (size_t i = 0; i < set.size(); ++i) {
      for (const Part& part : chosen) {
        if (part.provider != set[i]) continue;
        for (const NamedAmount& each : part.resources) {
          if (each.resource_class == name) taken[i] += each.amount;
        }
      }
      most.push_back(LargestShare(*set[i], name, taken[i], amount));
      if (most.back() == 0) return false;
      sum += most.back();
    }
    if (sum < amount) return false;
    for (Amount each : most) {
      if (sum - each >= amount) return false;  // the others could do without it
    }
    Amount rest = amount;
    for (size_t i = 0; i < set.size(); ++i) {
      Amount behind = 0;
      for (size_t j = i + 1; j < set.size(); ++j) {
        Amount smallest = 1;
        const Inventory& inventory = set[j]->inventories.at(name);
        while (smallest < inventory.min_unit || smallest % inventory.step_size != 0) ++smallest;
        behind += smallest;
      }
      const Amount share = LargestShare(*set[i], name, taken[i], rest - behind);
      if (share == 0) return false;
      rest -= share;
      chosen.push_back({choice.group, set[i], {{name, share}}});
    }
    return rest == 0;
  }

  bool Fits(const PlainProvider& provider, const Pick& choice) const {  // P-179, P-185
    return std::all_of(choice.resources.begin(), choice.resources.end(), [&](const auto& wanted) {
      const auto key = std::pair(choice.group->suffix, wanted.resource_class);
      return FitsIn(provider, wanted.resource_class, wanted.amount,
                    options_.ignore_use.contains(key));
    });
  }

  bool Serves(const PlainProvider& provider, const RequestGroup& group,
              const PlainProvider& root) const {
    if (HasAny(provider.traits, group.forbidden)) return false;                  // P-180, P-188
    if (HasAny(provider.aggregates, group.forbidden_aggregates)) return false;   // P-181, P-191
    if (group.in_tree && provider.root != RootOf(*group.in_tree)) return false;  // P-182, P-192
    const bool member = HasAnyOfEach(provider.aggregates, group.member_of);
    if (!group.suffix.empty()) {
      return member && HasAnyOfEach(provider.traits, group.required);  // P-180, P-181
    }
    if (group.in_tree && root.id != RootOf(*group.in_tree)) return false;   // P-192
    if (HasAny(root.aggregates, group.forbidden_aggregates)) return false;  // P-191
    const bool native = provider.root == root.id;
    return member || (native && HasAnyOfEach(root.aggregates, group.member_of));  // P-189
  }

  std::optional<ProviderId> RootOf(ProviderId id) const {
    for (const PlainProvider& provider : world_) {
      if (provider.id == id) return provider.root;
    }
    return std::nullopt;
  }

  bool IsLawful(const Chosen& chosen) const {
    return TraitsAreMet(chosen) && AmountsFit(chosen) && AreApart(chosen) && AreTogether(chosen) &&
           AreSeparate(chosen);
  }

  static bool TraitsAreMet(const Chosen& chosen) {  // P-186
    std::set<std::string> traits;
    std::vector<std::vector<std::string>> required;
    for (const Part& part : chosen) {
      if (!part.group->suffix.empty()) continue;
      required = part.group->required;
      traits.insert(part.provider->traits.begin(), part.provider->traits.end());
    }
    return HasAnyOfEach(traits, required);
  }

  bool AmountsFit(const Chosen& chosen) const {  // P-197
    if (options_.ignore_sums) return true;
    const PlainCandidate candidate = CandidateOf(chosen);
    for (const auto& [key, amount] : candidate.allocations) {
      const auto& [id, name] = key;
      for (const PlainProvider& provider : world_) {
        if (provider.id == id && !FitsIn(provider, name, amount)) return false;
      }
    }
    return true;
  }

  // The providers of the groups that `set` names; all suffixed ones where it is null.
  static std::vector<const PlainProvider*> Members(const Chosen& chosen,
                                                   const std::vector<std::string>* set) {
    std::vector<const PlainProvider*> members;
    for (const Part& part : chosen) {
      const std::string& suffix = part.group->suffix;
      const bool named = set == nullptr ? !suffix.empty()
                                        : std::find(set->begin(), set->end(), suffix) != set->end();
      if (named) members.push_back(part.provider);
    }
    return members;
  }

  bool AreApart(const Chosen& chosen) const {
    const auto apart = [&](const std::vector<std::string>* set) {
      const auto members = Members(chosen, set);
      return std::set(members.begin(), members.end()).size() == members.size();
    };
    if (request_.group_policy == GroupPolicy::kIsolate && !apart(nullptr)) return false;  // P-196
    return std::all_of(request_.isolate.begin(), request_.isolate.end(),
                       [&](const auto& set) { return apart(&set); });  // D-25
  }

  static bool IsUnder(const PlainProvider* below, const PlainProvider* top) {
    return std::find(below->line.begin(), below->line.end(), top->id) != below->line.end();
  }

  bool AreSeparate(const Chosen& chosen) const {  // D-25
    for (const std::vector<std::string>& set : request_.separate_subtrees) {
      const auto members = Members(chosen, &set);
      for (size_t a = 0; a < members.size(); ++a) {
        for (size_t b = 0; b < members.size(); ++b) {
          if (a != b && IsUnder(members[a], members[b])) return false;
        }
      }
    }
    return true;
  }

  bool AreTogether(const Chosen& chosen) const {  // P-198
    for (const std::vector<std::string>& set : request_.same_subtree) {
      const auto members = Members(chosen, &set);
      const bool together =
          std::any_of(members.begin(), members.end(), [&](const PlainProvider* top) {
            return std::all_of(members.begin(), members.end(),
                               [&](const PlainProvider* member) { return IsUnder(member, top); });
          });
      if (!together) return false;
    }
    return true;
  }

  static PlainCandidate CandidateOf(const Chosen& chosen) {  // P-195, P-202
    PlainCandidate candidate;
    for (const Part& part : chosen) {
      candidate.mappings[part.group->suffix].insert(part.provider->id);
      for (const NamedAmount& wanted : part.resources) {
        candidate.allocations[{part.provider->id, wanted.resource_class}] += wanted.amount;
      }
    }
    return candidate;
  }

  const CandidateRequest& request_;
  const BruteOptions options_;
  PlainWorld world_;
  std::vector<Pick> choices_;
  CandidatesByRoot found_;
};

}  // namespace

CandidatesByRoot AllByRoot(const State& state, const CandidateRequest& request,
                           const BruteOptions& options) {
  return Enumeration(state, request, options).Run();
}

std::set<PlainCandidate> AllCandidates(const State& state, const CandidateRequest& request) {
  std::set<PlainCandidate> all;
  for (const auto& [root, candidates] : AllByRoot(state, request)) {
    all.insert(candidates.begin(), candidates.end());
  }
  return all;
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
