#include "services/wire/explanation.h"

#include <string>

namespace berth::services {
namespace {

using placement::ConstraintKind;

pb::ConstraintKind KindOf(ConstraintKind kind) {
  switch (kind) {
    case ConstraintKind::kRootTraits:
      return pb::CONSTRAINT_KIND_ROOT_TRAITS;
    case ConstraintKind::kRootAggregates:
      return pb::CONSTRAINT_KIND_ROOT_AGGREGATES;
    case ConstraintKind::kForbiddenRoots:
      return pb::CONSTRAINT_KIND_FORBIDDEN_ROOTS;
    case ConstraintKind::kInTree:
      return pb::CONSTRAINT_KIND_IN_TREE;
    case ConstraintKind::kStaleness:
      return pb::CONSTRAINT_KIND_STALENESS;
    case ConstraintKind::kInventory:
      return pb::CONSTRAINT_KIND_INVENTORY;
    case ConstraintKind::kFree:
      return pb::CONSTRAINT_KIND_FREE;
    case ConstraintKind::kRequiredTraits:
      return pb::CONSTRAINT_KIND_REQUIRED_TRAITS;
    case ConstraintKind::kForbiddenTraits:
      return pb::CONSTRAINT_KIND_FORBIDDEN_TRAITS;
    case ConstraintKind::kMemberOf:
      return pb::CONSTRAINT_KIND_MEMBER_OF;
    case ConstraintKind::kForbiddenAggregates:
      return pb::CONSTRAINT_KIND_FORBIDDEN_AGGREGATES;
    case ConstraintKind::kIsolate:
      return pb::CONSTRAINT_KIND_ISOLATE;
    case ConstraintKind::kSameSubtree:
      return pb::CONSTRAINT_KIND_SAME_SUBTREE;
    case ConstraintKind::kSeparateSubtrees:
      return pb::CONSTRAINT_KIND_SEPARATE_SUBTREES;
    case ConstraintKind::kCombination:
      return pb::CONSTRAINT_KIND_COMBINATION;
  }
  return pb::CONSTRAINT_KIND_UNSPECIFIED;
}

void SetConstraint(const placement::Constraint& from, pb::Constraint* to) {
  to->set_kind(KindOf(from.kind));
  to->set_suffix(from.suffix);
  for (const std::string& name : from.names) to->add_names(name);
  to->set_amount(from.amount);
}

}  // namespace

void SetExplanation(const placement::Explanation& from, pb::Explanation* to) {
  to->set_root_count(from.root_count);
  to->set_fitting_root_count(from.fitting_root_count);
  for (const placement::FilterStep& step : from.steps) {
    pb::FilterStep* added = to->add_steps();
    SetConstraint(step.constraint, added->mutable_constraint());
    added->set_roots_before(step.roots_before);
    added->set_roots_after(step.roots_after);
  }
  for (const placement::NearMiss& miss : from.near_misses) {
    pb::NearMiss* added = to->add_near_misses();
    added->set_root_uuid(miss.root.ToString());
    added->set_name(miss.name);
    for (const placement::Shortfall& shortfall : miss.shortfalls) {
      pb::Shortfall* lack = added->add_shortfalls();
      SetConstraint(shortfall.constraint, lack->mutable_constraint());
      lack->set_available(shortfall.available);
    }
  }
  for (const placement::Relaxation& relaxation : from.relaxations) {
    pb::Relaxation* added = to->add_relaxations();
    SetConstraint(relaxation.constraint, added->mutable_constraint());
    added->set_fitting_amount(relaxation.fitting_amount);
    added->set_root_count(relaxation.root_count);
  }
  to->set_truncated(from.truncated);
}

void FitExplanation(size_t bytes_max, pb::Explanation* explanation) {
  const auto shorten = [&](auto* list) {
    while (!list->empty() && explanation->ByteSizeLong() > bytes_max) {
      list->RemoveLast();
      explanation->set_truncated(true);
    }
  };
  shorten(explanation->mutable_near_misses());
  shorten(explanation->mutable_relaxations());
  shorten(explanation->mutable_steps());
}

void SetHeadroom(const placement::State& state, const placement::Headroom& from,
                 pb::GetCapacityResponse* to) {
  to->set_total_count(from.total_count);
  to->set_root_count(from.root_count);
  for (const placement::RootHeadroom& root : from.roots) {
    pb::RootCapacity* added = to->add_roots();
    added->set_root_uuid(root.root.ToString());
    added->set_name(state.FindTree(root.root)->config(0).name);
    added->set_count(root.count);
  }
  to->set_truncated(from.truncated);
}

}  // namespace berth::services
