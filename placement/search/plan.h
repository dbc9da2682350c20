// SearchPlan: a request made ready for searching: checked, names resolved, laid out as slots.
//
// A slot is one choice of a provider: a suffixed group is one slot (P-179 ff), the unsuffixed group
// one slot for each of its classes (P-185), or as many as may share a class. Groups keep the
// request's order, classes stand by rising id, so that equal requests give equal plans; slots that
// share a class come last, when all that others take of it is known. A value; immutable once made.
#ifndef BERTH_PLACEMENT_SEARCH_PLAN_H_
#define BERTH_PLACEMENT_SEARCH_PLAN_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "placement/search/constraint.h"
#include "placement/state/state.h"
#include "placement/values/candidate.h"

namespace berth::placement {

// Part of a slot: `amount` of classes[index].
struct SlotDemand {
  int class_index = 0;
  Amount amount = 0;
  friend bool operator==(const SlotDemand&, const SlotDemand&) = default;
};

struct Slot {
  int group = 0;
  std::vector<SlotDemand> demands;  // rising by class; empty: a resourceless group (P-183)
  int divided = -1;  // index of the divided amount that it is part of; demands are empty
};

// A class of the unsuffixed group whose amount several providers may share: any number of its slots
// from the first on choose one, by rising id.
struct DividedAmount {
  SlotDemand demand;
  int first = 0;  // slot
  int count = 0;  // of slots
  int end() const { return first + count; }
};

struct PlannedGroup {
  std::string suffix;
  TraitSets required;
  std::vector<TraitId> forbidden;
  AggregateSets member_of;
  std::vector<AggregateId> forbidden_aggregates;
  std::optional<ProviderId> tree;  // root of the tree asked for (P-182, P-192)
  bool suffixed() const { return !suffix.empty(); }
  // Whether any provider serves one as well as the other.
  bool AsksLike(const PlannedGroup& other) const;
};

// Weights are whole numbers, kWeightOne being 1.
inline constexpr int64_t kWeightOne = 1 << 20;
struct ClassWeight {
  ClassId resource_class{};
  int64_t weight = 0;  // negative where less is better
};
struct TraitWeight {
  TraitId trait{};
  int64_t weight = 0;
};
// The order of a request, ready to be added up.
struct PlannedOrder {
  Strategy strategy = Strategy::kFirst;
  std::vector<ClassWeight> shares;
  std::vector<TraitWeight> traits;  // none of weight 0
  uint64_t seed = 0;
  bool given() const { return strategy != Strategy::kFirst || !traits.empty(); }
};

struct SearchPlan {
  std::vector<PlannedGroup> groups;
  std::vector<Slot> slots;       // by group, then by class; those of divided amounts last
  std::vector<ClassId> classes;  // that any group asks for, rising
  int unsuffixed = -1;           // index of the unsuffixed group
  std::vector<DividedAmount> divided_amounts;
  // Sets of slots, each of two or more: at or under one of its providers (P-198), on pairwise
  // different providers (P-196), on providers of which none is at or under another.
  std::vector<std::vector<int>> subtrees;
  std::vector<std::vector<int>> apart;
  std::vector<std::vector<int>> separate;
  RootDemand root;
  bool exclude_stale_roots = false;
  // By slot, where equal allocations shall come once: an earlier slot that asks for the same, or -1.
  // Of the ways to swap the two only that with rising providers is of use.
  std::vector<int> twin_of;
  bool collapse_equivalent = false;  // P-201
  bool each_root_once = false;       // roots are asked for: one candidate of each that has any
  // Whether amounts of several slots on one provider add up (P-197). False only in a plan that
  // leaves this out to tell what stands in the way.
  bool amounts_add_up = true;
  PlannedOrder order;
  SearchScope scope;
  // One choice can spoil another: two slots ask for one class, or must be apart or together.
  bool slots_interact = false;
  // Nothing can match, whatever the root: a tree that is not there, a trait that nobody has.
  bool hopeless = false;
};

// The form of a request, all that can be said without a state: stages 1 to 9 of P-175, in their
// order.
absl::Status CheckRequest(const CandidateRequest& request);

// The plan of `request`. Fails like CheckRequest, then with NOT_FOUND for unknown classes and
// traits, all of them named (P-174).
absl::StatusOr<SearchPlan> PlanSearch(const State& state, const CandidateRequest& request);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_SEARCH_PLAN_H_
