// SearchPlan: a request that is prepared for the search: it is checked, its names are replaced by
// ids, and it is split into slots.
//
// For each slot the search chooses one provider. A suffixed group is one slot, because one provider
// serves the whole group (P-179 ff). The unsuffixed group has one slot for each of its classes
// (P-185). Exception: if up to N providers may divide the amount of a class, that class has N
// slots. Example: a request for 2 VCPU and 4 GB of memory without a suffix has two slots, and the
// same request in a suffixed group has one slot.
//
// Groups keep the order of the request and classes are sorted by id, so that equal requests give
// equal plans. The slots of divided amounts come last, because how an amount is divided depends on
// the choices for the other slots. A value; immutable once made.
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

// The demand of a slot for one class: `amount` of SearchPlan::classes[class_index].
struct SlotDemand {
  int class_index = 0;
  Amount amount = 0;
  friend bool operator==(const SlotDemand&, const SlotDemand&) = default;
};

struct Slot {
  int group = 0;                    // index in SearchPlan::groups
  std::vector<SlotDemand> demands;  // sorted by class; none for a group without resources (P-183)
  int divided = -1;  // index of the divided amount of which it gives a part (no demands), or -1
};

// An amount of the unsuffixed group that up to `count` providers may give together. It has `count`
// slots. The first of these slots choose one provider each, in order of id; the slots that are not
// needed choose none.
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
  // Whether both groups have the same conditions on a provider; amounts are not compared.
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
// The order that a request asks for, with weights as numbers that can be added to a score.
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
  std::vector<ClassId> classes;  // every class that a group asks for, sorted
  int unsuffixed = -1;           // index of the unsuffixed group, or -1
  std::vector<DividedAmount> divided_amounts;
  // Three lists of sets. A set has two or more slots, as indices. Each list has one rule for the
  // providers that the slots of a set choose:
  // - subtrees: all of them are at or under one of them (P-198).
  // - apart: all of them are different (P-196).
  // - separate: none of them is at or under another one.
  std::vector<std::vector<int>> subtrees;
  std::vector<std::vector<int>> apart;
  std::vector<std::vector<int>> separate;
  RootDemand root;
  bool exclude_stale_roots = false;
  // By slot: the slot's twin, i.e. an earlier slot that asks for the same; -1 if it has none. Empty
  // unless collapse_equivalent is set. If two twins swap providers, the allocations stay equal. Of
  // two such solutions the search keeps the one in which the earlier slot has the provider with the
  // lower id.
  std::vector<int> twin_of;
  bool collapse_equivalent = false;  // return candidates with equal allocations once (P-201)
  bool each_root_once = false;       // take only the first candidate of each root
  // Whether the amounts of several slots on one provider add up (P-197). False only in plans that
  // Explain makes to test one constraint without the others.
  bool amounts_add_up = true;
  PlannedOrder order;
  SearchScope scope;
  // Whether a choice for one slot can rule out a choice for another slot. This is so if two slots
  // ask for the same class or are in the same set above, or if several providers share an amount.
  bool slots_interact = false;
  // Whether no root can match, and this is known before the search, e.g. because no provider has a
  // required trait.
  bool hopeless = false;
};

// Makes the checks of a request that need no state: stages 1 to 9 of P-175, in their order.
absl::Status CheckRequest(const CandidateRequest& request);

// Makes the plan of `request` over `state`. Fails like CheckRequest, then with NOT_FOUND, which
// names all unknown classes and traits (P-174).
absl::StatusOr<SearchPlan> PlanSearch(const State& state, const CandidateRequest& request);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_SEARCH_PLAN_H_
