// SearchPlan: a request made ready for searching: checked, names resolved, laid out as slots.
//
// A slot is one choice of a provider: a suffixed group is one slot (P-179 ff), the unsuffixed group
// one slot for each of its classes (P-185). Groups keep the request's order, classes stand by
// rising id, so that equal requests give equal plans. A value; immutable once made.
#ifndef BERTH_PLACEMENT_SEARCH_PLAN_H_
#define BERTH_PLACEMENT_SEARCH_PLAN_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "placement/candidate_request.h"
#include "placement/constraint.h"
#include "placement/state.h"

namespace berth::placement {

// Part of a slot: `amount` of classes[index].
struct SlotDemand {
  int class_index = 0;
  Amount amount = 0;
};

struct Slot {
  int group = 0;
  std::vector<SlotDemand> demands;  // rising by class; empty: a resourceless group (P-183)
};

struct PlannedGroup {
  std::string suffix;
  TraitSets required;
  std::vector<TraitId> forbidden;
  AggregateSets member_of;
  std::vector<AggregateId> forbidden_aggregates;
  std::optional<ProviderId> tree;  // root of the tree asked for (P-182, P-192)
  bool suffixed() const { return !suffix.empty(); }
};

struct SearchPlan {
  std::vector<PlannedGroup> groups;
  std::vector<Slot> slots;                 // by group, then by class
  std::vector<ClassId> classes;            // that any group asks for, rising
  int unsuffixed = -1;                     // index of the unsuffixed group
  bool isolate = false;                    // P-196
  std::vector<std::vector<int>> subtrees;  // sets of slots (P-198)
  std::vector<TraitId> root_required;
  std::vector<TraitId> root_forbidden;
  // One choice can spoil another: two slots ask for one class, or must be apart or together.
  bool slots_interact = false;
  // Nothing can match, whatever the anchor: a tree that is not there, a trait that nobody has.
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
