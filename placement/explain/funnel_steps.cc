// The methods of Funnel that list the steps of a request, in the order in which they test roots.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/explain/funnel.h"
#include "placement/ground/check.h"

namespace berth::placement {
namespace {

std::vector<std::string> TextsOf(const std::vector<AggregateId>& aggregates,
                                 absl::string_view sign = "") {
  std::vector<std::string> texts;
  texts.reserve(aggregates.size());
  for (AggregateId aggregate : aggregates) {
    texts.push_back(absl::StrCat(sign, aggregate.ToString()));
  }
  return texts;
}

}  // namespace

Funnel::Funnel(const State& state, const CandidateRequest& request, const SearchPlan& plan,
               const Sharing& sharing, StepBudget& budget)
    : state_(state), plan_(plan), sharing_(sharing), budget_(budget) {
  ListNeeds(request);
  ListRootSteps();
  if (!state.nodes().empty() || plan.exclude_stale_roots) Add(ConstraintKind::kStaleness);
  for (int group = 0; group < static_cast<int>(plan.groups.size()); ++group) ListGroupSteps(group);
  ListSetSteps();
}

void Funnel::ListNeeds(const CandidateRequest& request) {
  for (int g = 0; g < static_cast<int>(plan_.groups.size()); ++g) {
    Need whole{g, {}, 1};
    for (const NamedAmount& wanted : request.groups[g].resources) {
      const std::optional<ClassId> id = state_.catalog().classes.Find(wanted.resource_class);
      // PlanSearch has found every class of the request in the same state.
      BERTH_CHECK(id.has_value());
      whole.demands.push_back({*id, wanted.amount});
    }
    std::sort(whole.demands.begin(), whole.demands.end());
    if (plan_.groups[g].suffixed()) {
      needs_.push_back(whole);
      continue;
    }
    for (const ClassAmount& demand : whole.demands) needs_.push_back({g, {demand}, 1});
  }
  for (const DividedAmount& divided : plan_.divided_amounts) {
    for (Need& need : needs_) {
      const bool shared =
          need.group == plan_.unsuffixed &&
          need.demands.front().resource_class == plan_.classes[divided.demand.class_index];
      if (shared) need.count = divided.count;
    }
  }
}

FunnelStep& Funnel::Add(ConstraintKind kind, int group) {
  FunnelStep& step = steps_.emplace_back();
  step.constraint.kind = kind;
  step.group = group;
  if (group >= 0) step.constraint.suffix = plan_.groups[group].suffix;
  return step;
}

std::vector<std::string> Funnel::TraitNames(const std::vector<TraitId>& traits) const {
  std::vector<std::string> names;
  names.reserve(traits.size());
  for (TraitId trait : traits) names.push_back(state_.catalog().traits.NameOf(trait));
  return names;
}

void Funnel::ListRootSteps() {
  if (!plan_.root.forbidden_roots.empty()) Add(ConstraintKind::kForbiddenRoots);
  for (const std::vector<TraitId>& term : plan_.root.required) {
    FunnelStep& step = Add(ConstraintKind::kRootTraits);
    step.traits = term;
    step.constraint.names = TraitNames(term);
  }
  for (TraitId trait : plan_.root.forbidden) {
    FunnelStep& step = Add(ConstraintKind::kRootTraits);
    step.traits = {trait};
    step.forbids = true;
    step.constraint.names = {absl::StrCat("!", state_.catalog().traits.NameOf(trait))};
  }
  for (const std::vector<AggregateId>& term : plan_.root.member_of) {
    FunnelStep& step = Add(ConstraintKind::kRootAggregates);
    step.aggregates = {term};
    step.constraint.names = TextsOf(term);
  }
  for (AggregateId aggregate : plan_.root.forbidden_aggregates) {
    FunnelStep& step = Add(ConstraintKind::kRootAggregates);
    step.aggregates = {{aggregate}};
    step.forbids = true;
    step.constraint.names = TextsOf({aggregate}, "!");
  }
}

void Funnel::ListAmountSteps(int group, ConstraintKind kind) {
  for (const Need& need : needs_) {
    if (need.group != group) continue;
    for (const ClassAmount& demand : need.demands) {
      FunnelStep& step = Add(kind, group);
      step.resource_class = demand.resource_class;
      step.constraint.names = {state_.catalog().classes.NameOf(demand.resource_class)};
      step.constraint.amount = demand.amount;
    }
  }
}

// Lists the steps of one group. The step about free amounts comes last, since free amounts change
// most often; the other steps test configurations.
void Funnel::ListGroupSteps(int group) {
  const PlannedGroup& wanted = plan_.groups[group];
  ListAmountSteps(group, ConstraintKind::kInventory);
  if (wanted.tree) Add(ConstraintKind::kInTree, group).constraint.names = {wanted.tree->ToString()};
  for (const std::vector<TraitId>& term : wanted.required) {
    FunnelStep& step = Add(ConstraintKind::kRequiredTraits, group);
    step.traits = term;
    step.constraint.names = TraitNames(term);
  }
  if (!wanted.forbidden.empty()) {
    FunnelStep& step = Add(ConstraintKind::kForbiddenTraits, group);
    step.traits = wanted.forbidden;
    step.constraint.names = TraitNames(wanted.forbidden);
  }
  AggregateSets terms;
  for (const std::vector<AggregateId>& term : wanted.member_of) {
    terms.push_back(term);
    FunnelStep& step = Add(ConstraintKind::kMemberOf, group);
    step.aggregates = terms;
    step.constraint.names = TextsOf(term);
  }
  if (!wanted.forbidden_aggregates.empty()) {
    FunnelStep& step = Add(ConstraintKind::kForbiddenAggregates, group);
    step.aggregates = {wanted.forbidden_aggregates};
    step.constraint.names = TextsOf(wanted.forbidden_aggregates);
  }
  ListAmountSteps(group, ConstraintKind::kFree);
}

std::vector<std::string> Funnel::SuffixesOf(const std::vector<int>& slots) const {
  std::vector<std::string> suffixes;
  suffixes.reserve(slots.size());
  for (int slot : slots) suffixes.push_back(plan_.groups[plan_.slots[slot].group].suffix);
  return suffixes;
}

// Adds one step for each set in isolate, same_subtree and separate_subtrees. Such a step searches a
// plan that contains this set and the sets of the steps before it, but no other rule by which
// groups affect each other. The last step searches the whole plan.
void Funnel::ListSetSteps() {
  SearchPlan relaxed = plan_;
  relaxed.subtrees.clear();
  relaxed.apart.clear();
  relaxed.separate.clear();
  relaxed.amounts_add_up = false;
  relaxed.twin_of.clear();
  if (!plan_.divided_amounts.empty()) relaxed.slots.resize(plan_.divided_amounts.front().first);
  relaxed.divided_amounts.clear();
  if (plan_.unsuffixed >= 0) relaxed.groups[plan_.unsuffixed].required.clear();
  const auto add = [&](ConstraintKind kind, std::vector<std::vector<int>> SearchPlan::*sets) {
    for (const std::vector<int>& set : plan_.*sets) {
      (relaxed.*sets).push_back(set);
      FunnelStep& step = Add(kind);
      step.constraint.names = SuffixesOf(set);
      step.search = static_cast<int>(searched_.size());
      searched_.push_back(relaxed);
    }
  };
  add(ConstraintKind::kIsolate, &SearchPlan::apart);
  add(ConstraintKind::kSameSubtree, &SearchPlan::subtrees);
  add(ConstraintKind::kSeparateSubtrees, &SearchPlan::separate);
  if (plan_.slots_interact) {
    Add(ConstraintKind::kCombination).search = static_cast<int>(searched_.size());
    searched_.push_back(plan_);
  }
  for (const SearchPlan& plan : searched_) {
    searches_.push_back(std::make_unique<RootSearch>(plan, budget_));
  }
}

}  // namespace berth::placement
