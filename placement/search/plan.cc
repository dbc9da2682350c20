#include "placement/search/plan.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

// Replaces names by ids, and collects the names that are unknown.
class Names {
 public:
  explicit Names(const Catalog& catalog) : catalog_(catalog) {}

  ClassId Class(const std::string& name) {
    const std::optional<ClassId> id = catalog_.classes.Find(name);
    if (!id) unknown_classes_.Add(name);
    return id.value_or(ClassId{});
  }
  TraitId Trait(const std::string& name) {
    const std::optional<TraitId> id = catalog_.traits.Find(name);
    if (!id) unknown_traits_.Add(name);
    return id.value_or(TraitId{});
  }
  std::vector<TraitId> Traits(const std::vector<std::string>& names) {
    std::vector<TraitId> ids;
    ids.reserve(names.size());
    for (const std::string& name : names) ids.push_back(Trait(name));
    return ids;
  }
  // The ids of forbidden traits. If `ignore_unknown`, an unknown trait is left out, because no
  // provider has it. Else it is collected as unknown.
  std::vector<TraitId> Forbidden(const std::vector<std::string>& names, bool ignore_unknown) {
    if (!ignore_unknown) return Traits(names);
    std::vector<TraitId> ids;
    for (const std::string& name : names) {
      if (const std::optional<TraitId> id = catalog_.traits.Find(name)) ids.push_back(*id);
    }
    return ids;
  }

  // OK, or NOT_FOUND with every unknown name. The reason is RESOURCE_CLASS_NOT_FOUND if any class
  // is unknown, else TRAIT_NOT_FOUND.
  absl::Status status() const {
    if (unknown_classes_.names.empty() && unknown_traits_.names.empty()) return absl::OkStatus();
    std::vector<FaultItem> items;
    for (const std::string& name : unknown_classes_.names)
      items.push_back({{"resource_class", name}});
    for (const std::string& name : unknown_traits_.names) items.push_back({{"trait", name}});
    std::vector<std::string> sentences;
    if (!unknown_classes_.names.empty()) {
      sentences.push_back(absl::StrCat("no resource class ", ListOf(unknown_classes_.names)));
    }
    if (!unknown_traits_.names.empty()) {
      sentences.push_back(absl::StrCat("no trait ", ListOf(unknown_traits_.names)));
    }
    return Refuse(absl::StatusCode::kNotFound,
                  unknown_classes_.names.empty() ? "TRAIT_NOT_FOUND" : "RESOURCE_CLASS_NOT_FOUND",
                  absl::StrJoin(sentences, "; "), items);
  }

 private:
  struct Unknown {
    std::vector<std::string> names;  // each once, in request order
    absl::flat_hash_set<std::string> seen;

    void Add(const std::string& name) {
      if (seen.insert(name).second) names.push_back(name);
    }
  };

  const Catalog& catalog_;
  Unknown unknown_classes_;
  Unknown unknown_traits_;
};

std::vector<ClassAmount> AmountsOf(const RequestGroup& group, Names& names) {
  std::vector<ClassAmount> amounts;
  for (const NamedAmount& wanted : group.resources) {
    amounts.push_back({names.Class(wanted.resource_class), wanted.amount});
  }
  std::sort(amounts.begin(), amounts.end());
  return amounts;
}

PlannedGroup PlanGroup(const State& state, const RequestGroup& group, bool ignore_unknown,
                       Names& names, SearchPlan& plan) {
  PlannedGroup planned;
  planned.suffix = group.suffix;
  for (const std::vector<std::string>& set : group.required) {
    planned.required.push_back(names.Traits(set));
  }
  planned.forbidden = names.Forbidden(group.forbidden, ignore_unknown);
  planned.member_of = group.member_of;
  planned.forbidden_aggregates = group.forbidden_aggregates;
  if (group.in_tree) {
    const std::optional<ProviderPlace> place = state.FindProvider(*group.in_tree);
    if (place) planned.tree = place->tree->root_id();
    if (!place) plan.hopeless = true;  // an unknown provider fits nowhere (P-193)
  }
  return planned;
}

// Whether any provider of `state` has a trait of `set`.
bool AnyoneHasOneOf(const State& state, const std::vector<TraitId>& set) {
  return std::any_of(set.begin(), set.end(),
                     [&state](TraitId trait) { return state.providers_with(trait) > 0; });
}

bool AllTraitsAreSomewhere(const State& state, const SearchPlan& plan) {
  for (const PlannedGroup& group : plan.groups) {
    for (const std::vector<TraitId>& set : group.required) {
      if (!AnyoneHasOneOf(state, set)) return false;
    }
  }
  return std::all_of(plan.root.required.begin(), plan.root.required.end(),
                     [&state](const auto& set) { return AnyoneHasOneOf(state, set); });
}

void ListClasses(const std::vector<std::vector<ClassAmount>>& amounts, SearchPlan& plan) {
  for (const std::vector<ClassAmount>& of_group : amounts) {
    for (const ClassAmount& wanted : of_group) plan.classes.push_back(wanted.resource_class);
  }
  std::sort(plan.classes.begin(), plan.classes.end());
  const auto end = std::unique(plan.classes.begin(), plan.classes.end());
  plan.slots_interact = end != plan.classes.end();  // two slots ask for one class
  plan.classes.erase(end, plan.classes.end());
}

SlotDemand DemandOf(const ClassAmount& wanted, const SearchPlan& plan) {
  const auto found =
      std::lower_bound(plan.classes.begin(), plan.classes.end(), wanted.resource_class);
  return {static_cast<int>(found - plan.classes.begin()), wanted.amount};
}

// The number of providers among which the amount that `group` asks for of `resource_class` may be
// divided.
int MaxProviders(const RequestGroup& group, const std::string& resource_class) {
  for (const NamedAmount& each : group.max_providers) {
    if (each.resource_class == resource_class) return static_cast<int>(each.amount);
  }
  return 1;
}

void LayOutSlots(const State& state, const CandidateRequest& request,
                 const std::vector<std::vector<ClassAmount>>& amounts, SearchPlan& plan) {
  for (int g = 0; g < static_cast<int>(plan.groups.size()); ++g) {
    if (plan.groups[g].suffixed()) {
      Slot& slot = plan.slots.emplace_back(Slot{g, {}, -1});
      for (const ClassAmount& wanted : amounts[g]) slot.demands.push_back(DemandOf(wanted, plan));
      continue;
    }
    plan.unsuffixed = g;
    for (const ClassAmount& wanted : amounts[g]) {
      const std::string& name = state.catalog().classes.NameOf(wanted.resource_class);
      const int count = MaxProviders(request.groups[g], name);
      const SlotDemand demand = DemandOf(wanted, plan);
      if (count > 1) plan.divided_amounts.push_back({demand, 0, count});
      if (count == 1) plan.slots.push_back({g, {demand}, -1});
    }
  }
  for (int s = 0; s < static_cast<int>(plan.divided_amounts.size()); ++s) {
    plan.divided_amounts[s].first = static_cast<int>(plan.slots.size());
    plan.slots.resize(plan.slots.size() + plan.divided_amounts[s].count,
                      Slot{plan.unsuffixed, {}, s});
  }
}

// Replaces the suffixes in each set by slots. A set of fewer than two slots is left out, because it
// constrains nothing (P-169).
std::vector<std::vector<int>> SlotSets(const std::vector<std::vector<std::string>>& sets,
                                       const SearchPlan& plan) {
  std::vector<std::vector<int>> slot_sets;
  for (const std::vector<std::string>& set : sets) {
    std::vector<int> slots;
    for (int s = 0; s < static_cast<int>(plan.slots.size()); ++s) {
      const std::string& suffix = plan.groups[plan.slots[s].group].suffix;
      if (std::find(set.begin(), set.end(), suffix) != set.end()) slots.push_back(s);
    }
    if (slots.size() > 1) slot_sets.push_back(std::move(slots));
  }
  return slot_sets;
}

void LayOutSets(const CandidateRequest& request, SearchPlan& plan) {
  plan.subtrees = SlotSets(request.same_subtree, plan);
  plan.apart = SlotSets(request.isolate, plan);
  plan.separate = SlotSets(request.separate_subtrees, plan);
  if (request.group_policy == GroupPolicy::kIsolate) {
    std::vector<int> suffixed;
    for (int s = 0; s < static_cast<int>(plan.slots.size()); ++s) {
      if (plan.groups[plan.slots[s].group].suffixed()) suffixed.push_back(s);
    }
    if (suffixed.size() > 1) plan.apart.push_back(std::move(suffixed));
  }
  plan.slots_interact |= !plan.subtrees.empty() || !plan.apart.empty() || !plan.separate.empty() ||
                         !plan.divided_amounts.empty();
}

bool HasSlot(const std::vector<int>& set, int slot) {
  return std::find(set.begin(), set.end(), slot) != set.end();
}

// Whether slots `a` and `b` could swap providers so that only the mappings of the candidate change.
bool AreTwins(const SearchPlan& plan, int a, int b) {
  if (!plan.groups[plan.slots[a].group].AsksLike(plan.groups[plan.slots[b].group])) return false;
  if (plan.slots[a].demands != plan.slots[b].demands) return false;
  for (const auto* sets : {&plan.subtrees, &plan.apart, &plan.separate}) {
    for (const std::vector<int>& set : *sets) {
      if (HasSlot(set, a) != HasSlot(set, b)) return false;
    }
  }
  return true;
}

void FindTwins(SearchPlan& plan) {
  plan.twin_of.assign(plan.slots.size(), -1);
  for (int slot = 0; slot < static_cast<int>(plan.slots.size()); ++slot) {
    for (int other = slot - 1; other >= 0 && plan.twin_of[slot] < 0; --other) {
      const bool suffixed = plan.groups[plan.slots[slot].group].suffixed() &&
                            plan.groups[plan.slots[other].group].suffixed();
      if (suffixed && AreTwins(plan, slot, other)) plan.twin_of[slot] = other;
    }
  }
}

int64_t WholeWeight(double weight) {
  return std::llround(weight * static_cast<double>(kWeightOne));
}

// Converts the order that a request asks for. REQUIRES: plan.classes is complete.
PlannedOrder PlanOrder(const State& state, const CandidateOrder& order, const SearchPlan& plan,
                       Names& names) {
  PlannedOrder planned;
  planned.strategy = order.strategy;
  planned.seed = order.seed;
  for (const NamedWeight& weighted : order.class_weights) {
    planned.shares.push_back({names.Class(weighted.name), WholeWeight(weighted.weight)});
  }
  if (order.class_weights.empty()) {
    for (const ClassId each : plan.classes) planned.shares.push_back({each, kWeightOne});
  }
  const bool by_shares = order.strategy == Strategy::kSpread || order.strategy == Strategy::kPack;
  if (!by_shares) planned.shares.clear();
  if (order.strategy == Strategy::kPack) {
    for (ClassWeight& share : planned.shares) share.weight = -share.weight;
  }
  for (const NamedWeight& weighted : order.trait_weights) {
    const std::optional<TraitId> trait = state.catalog().traits.Find(weighted.name);
    const int64_t weight = WholeWeight(weighted.weight);
    if (trait && weight != 0) planned.traits.push_back({*trait, weight});
  }
  return planned;
}

}  // namespace

bool PlannedGroup::AsksLike(const PlannedGroup& other) const {
  return required == other.required && forbidden == other.forbidden &&
         member_of == other.member_of && forbidden_aggregates == other.forbidden_aggregates &&
         tree == other.tree;
}

absl::StatusOr<SearchPlan> PlanSearch(const State& state, const CandidateRequest& request) {
  BERTH_RETURN_IF_ERROR(CheckRequest(request));
  SearchPlan plan;
  Names names(state.catalog());
  std::vector<std::vector<ClassAmount>> amounts;
  for (const RequestGroup& group : request.groups) {
    amounts.push_back(AmountsOf(group, names));
    plan.groups.push_back(PlanGroup(state, group, request.ignore_unknown_forbidden, names, plan));
  }
  for (const std::vector<std::string>& set : request.root_required) {
    plan.root.required.push_back(names.Traits(set));
  }
  plan.root.forbidden = names.Forbidden(request.root_forbidden, request.ignore_unknown_forbidden);
  plan.root.member_of = request.root_member_of;
  plan.root.forbidden_aggregates = request.root_forbidden_aggregates;
  plan.root.forbidden_roots = request.forbidden_roots;
  std::sort(plan.root.forbidden_roots.begin(), plan.root.forbidden_roots.end());
  plan.exclude_stale_roots = request.exclude_stale_roots;
  plan.collapse_equivalent = request.collapse_equivalent;
  ListClasses(amounts, plan);
  plan.order = PlanOrder(state, request.order, plan, names);
  BERTH_RETURN_IF_ERROR(names.status());
  LayOutSlots(state, request, amounts, plan);
  LayOutSets(request, plan);
  if (plan.collapse_equivalent) FindTwins(plan);
  plan.hopeless |= !AllTraitsAreSomewhere(state, plan);
  return plan;
}

}  // namespace berth::placement
