#include "placement/search_plan.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "placement/refusal.h"

namespace berth::placement {
namespace {

// Turns names into ids and remembers those that are none.
class Names {
 public:
  explicit Names(const Catalog& catalog) : catalog_(catalog) {}

  ClassId Class(const std::string& name) {
    const std::optional<ClassId> id = catalog_.classes.Find(name);
    if (!id) Add(unknown_classes_, name);
    return id.value_or(ClassId{});
  }
  TraitId Trait(const std::string& name) {
    const std::optional<TraitId> id = catalog_.traits.Find(name);
    if (!id) Add(unknown_traits_, name);
    return id.value_or(TraitId{});
  }
  std::vector<TraitId> Traits(const std::vector<std::string>& names) {
    std::vector<TraitId> ids;
    ids.reserve(names.size());
    for (const std::string& name : names) ids.push_back(Trait(name));
    return ids;
  }

  // NOT_FOUND naming every unknown one; the reason is that of the classes where there are any.
  absl::Status status() const {
    if (unknown_classes_.empty() && unknown_traits_.empty()) return absl::OkStatus();
    std::vector<FaultItem> items;
    for (const std::string& name : unknown_classes_) items.push_back({{"resource_class", name}});
    for (const std::string& name : unknown_traits_) items.push_back({{"trait", name}});
    std::vector<std::string> sentences;
    if (!unknown_classes_.empty()) {
      sentences.push_back(
          absl::StrCat("no resource class ", absl::StrJoin(unknown_classes_, ", ")));
    }
    if (!unknown_traits_.empty()) {
      sentences.push_back(absl::StrCat("no trait ", absl::StrJoin(unknown_traits_, ", ")));
    }
    return Refuse(absl::StatusCode::kNotFound,
                  unknown_classes_.empty() ? "TRAIT_NOT_FOUND" : "RESOURCE_CLASS_NOT_FOUND",
                  absl::StrJoin(sentences, "; "), items);
  }

 private:
  static void Add(std::vector<std::string>& names, const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }

  const Catalog& catalog_;
  std::vector<std::string> unknown_classes_;
  std::vector<std::string> unknown_traits_;
};

std::vector<ClassAmount> AmountsOf(const RequestGroup& group, Names& names) {
  std::vector<ClassAmount> amounts;
  for (const NamedAmount& wanted : group.resources) {
    amounts.push_back({names.Class(wanted.resource_class), wanted.amount});
  }
  std::sort(amounts.begin(), amounts.end());
  return amounts;
}

PlannedGroup PlanGroup(const State& state, const RequestGroup& group, Names& names,
                       SearchPlan& plan) {
  PlannedGroup planned;
  planned.suffix = group.suffix;
  for (const std::vector<std::string>& set : group.required) {
    planned.required.push_back(names.Traits(set));
  }
  planned.forbidden = names.Traits(group.forbidden);
  planned.member_of = group.member_of;
  planned.forbidden_aggregates = group.forbidden_aggregates;
  if (group.in_tree) {
    const std::optional<ProviderPlace> place = state.FindProvider(*group.in_tree);
    if (place) planned.tree = place->tree->root_id();
    if (!place) plan.hopeless = true;  // P-193
  }
  return planned;
}

// Whether some provider somewhere has a trait of the set.
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
  return std::all_of(plan.root_required.begin(), plan.root_required.end(),
                     [&state](TraitId trait) { return state.providers_with(trait) > 0; });
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

void LayOutSlots(const std::vector<std::vector<ClassAmount>>& amounts, SearchPlan& plan) {
  for (int g = 0; g < static_cast<int>(plan.groups.size()); ++g) {
    if (plan.groups[g].suffixed()) {
      Slot& slot = plan.slots.emplace_back(Slot{g, {}});
      for (const ClassAmount& wanted : amounts[g]) slot.demands.push_back(DemandOf(wanted, plan));
      continue;
    }
    plan.unsuffixed = g;
    for (const ClassAmount& wanted : amounts[g]) {
      plan.slots.push_back({g, {DemandOf(wanted, plan)}});
    }
  }
}

void LayOutSubtrees(const CandidateRequest& request, SearchPlan& plan) {
  for (const std::vector<std::string>& set : request.same_subtree) {
    std::vector<int> slots;
    for (int s = 0; s < static_cast<int>(plan.slots.size()); ++s) {
      const std::string& suffix = plan.groups[plan.slots[s].group].suffix;
      if (std::find(set.begin(), set.end(), suffix) != set.end()) slots.push_back(s);
    }
    if (slots.size() > 1) plan.subtrees.push_back(std::move(slots));  // P-169: one alone is free
  }
}

}  // namespace

absl::StatusOr<SearchPlan> PlanSearch(const State& state, const CandidateRequest& request) {
  if (absl::Status status = CheckRequest(request); !status.ok()) return status;
  SearchPlan plan;
  Names names(state.catalog());
  std::vector<std::vector<ClassAmount>> amounts;
  for (const RequestGroup& group : request.groups) {
    amounts.push_back(AmountsOf(group, names));
    plan.groups.push_back(PlanGroup(state, group, names, plan));
  }
  plan.root_required = names.Traits(request.root_required);
  plan.root_forbidden = names.Traits(request.root_forbidden);
  if (absl::Status status = names.status(); !status.ok()) return status;
  ListClasses(amounts, plan);
  LayOutSlots(amounts, plan);
  LayOutSubtrees(request, plan);
  plan.isolate = request.group_policy == GroupPolicy::kIsolate;
  plan.slots_interact |= plan.isolate || !plan.subtrees.empty();
  plan.hopeless |= !AllTraitsAreSomewhere(state, plan);
  return plan;
}

}  // namespace berth::placement
