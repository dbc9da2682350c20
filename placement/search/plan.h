// SearchPlan: a request prepared for the search: checked, names replaced by ids, split into slots.
//
// For each slot the search chooses one provider. A suffixed group is one slot, because one provider
// serves all of it (P-179 ff). The unsuffixed group has a slot for each of its classes (P-185); if
// up to N providers may divide the amount of a class, that class has N slots. E.g. a request for 2
// VCPU and 4 GB of memory without a suffix has two slots, and the same request in a suffixed group
// has one.
//
// Groups keep the order of the request and classes are sorted by id, so that equal requests give
// equal plans. Slots of divided amounts come last, because their parts depend on what the other
// slots take. A value; immutable once made.
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

// What a slot asks for of one class: `amount` of SearchPlan::classes[class_index].
struct SlotDemand {
  int class_index = 0;
  Amount amount = 0;
  friend bool operator==(const SlotDemand&, const SlotDemand&) = default;
};

struct Slot {
  int group = 0;                    // index in SearchPlan::groups
  std::vector<SlotDemand> demands;  // rising by class; none for a group without resources (P-183)
  int divided = -1;  // index in divided_amounts if it gives a part of one (no demands), else -1
};

// An amount of the unsuffixed group that up to `count` providers may give together. It has `count`
// slots. The first of them choose a provider each, with rising ids; the others choose none.
struct DividedAmount {
  SlotDemand demand;
  int first = 0;  // index of its first slot
  int count = 0;  // number of its slots
  int end() const { return first + count; }
};

struct PlannedGroup {
  std::string suffix;
  TraitSets required;
  std::vector<TraitId> forbidden;
  AggregateSets member_of;
  std::vector<AggregateId> forbidden_aggregates;
  std::optional<ProviderId> tree;  // root of the tree that in_tree names (P-182, P-192)
  bool suffixed() const { return !suffix.empty(); }
  // Whether both groups ask the same of a provider, apart from amounts.
  bool AsksLike(const PlannedGroup& other) const;
};

// Weights are fixed-point numbers: kWeightOne stands for a weight of 1.
inline constexpr int64_t kWeightOne = 1 << 20;
struct ClassWeight {
  ClassId resource_class{};
  int64_t weight = 0;  // of the free fraction; negative if less free is better
};
struct TraitWeight {
  TraitId trait{};
  int64_t weight = 0;
};
// The order of a request, with weights as numbers that can be added to a score.
struct PlannedOrder {
  Strategy strategy = Strategy::kFirst;
  std::vector<ClassWeight> shares;  // empty unless the strategy is kSpread or kPack
  std::vector<TraitWeight> traits;  // without those of weight 0
  uint64_t seed = 0;
  bool given() const { return strategy != Strategy::kFirst || !traits.empty(); }
};

struct SearchPlan {
  std::vector<PlannedGroup> groups;
  std::vector<Slot> slots;       // by group, then by class; slots of divided amounts last
  std::vector<ClassId> classes;  // every class that a group asks for, rising
  int unsuffixed = -1;           // index of the unsuffixed group, or -1
  std::vector<DividedAmount> divided_amounts;
  // Sets of two or more slots, as indices. The providers of the slots of one set must be:
  // in `subtrees`, all at or under one of these providers (P-198); in `apart`, all different
  // (P-196); in `separate`, none at or under another.
  std::vector<std::vector<int>> subtrees;
  std::vector<std::vector<int>> apart;
  std::vector<std::vector<int>> separate;
  RootDemand root;
  bool exclude_stale_roots = false;
  // By slot: an earlier slot that asks for the same, its twin, or -1. Empty unless
  // collapse_equivalent is set. If twins swap providers the allocations stay equal, so the search
  // keeps only the solutions in which the earlier slot has the lower provider id, or the same.
  std::vector<int> twin_of;
  bool collapse_equivalent = false;  // return candidates with equal allocations once (P-201)
  bool each_root_once = false;       // take only the first candidate of each root
  // Whether the amounts of several slots on one provider add up (P-197). False only in plans with
  // which Explain tests one constraint without the others.
  bool amounts_add_up = true;
  PlannedOrder order;
  SearchScope scope;
  // Whether a choice for one slot can rule out a choice for another: two slots ask for one class,
  // slots are in a set of those above, or an amount is divided.
  bool slots_interact = false;
  // Whether no root can match, e.g. because no provider at all has a required trait.
  bool hopeless = false;
};

// Checks what can be checked of a request without a state: stages 1 to 9 of P-175, in their order.
absl::Status CheckRequest(const CandidateRequest& request);

// Makes the plan of `request` over `state`. Fails like CheckRequest, then with NOT_FOUND, which
// names all unknown classes and traits (P-174).
absl::StatusOr<SearchPlan> PlanSearch(const State& state, const CandidateRequest& request);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_SEARCH_PLAN_H_
