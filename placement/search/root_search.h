// RootSearch: all ways to serve a plan under one root, one after the other.
//
// A depth-first walk over the plan's slots that can be left and taken up again. Each slot tries its
// providers by rising id, so that solutions come in lexicographic order of (slot, provider id)
// (P-209). After every choice the rest is looked at: a walk that cannot end well is left at once.
// What is looked at is necessary, never more, so that no solution is lost (P-204); at the last slot
// it is sufficient. A class that several providers may share is divided among them as one way
// alone allows: each gives the most that leaves the least lawful amount to those behind it, by
// rising id, and none is there that the others could do without.
//
// Owned by one search; not shared. May be used for one root after the other.
//
// Invariants, between calls:
//   1. room_ is what its option can still give after the choices of all slots that have one.
//   2. An option in a slot's domain meets every constraint that the choices do not move.
#ifndef BERTH_PLACEMENT_SEARCH_ROOT_SEARCH_H_
#define BERTH_PLACEMENT_SEARCH_ROOT_SEARCH_H_

#include <cstdint>
#include <vector>

#include "placement/search/plan.h"
#include "placement/search/sharing.h"
#include "placement/values/candidate.h"

namespace berth::placement {

// What a search may still do: provider tests and choices.
struct StepBudget {
  int64_t left = 0;
  bool spent() const { return left <= 0; }
};

// A provider that may serve the root (P-176).
struct Option {
  const TreePtr* tree = nullptr;
  int position = 0;
  ProviderId id;
  bool foreign = false;  // a sharing provider of another tree
  const ProviderConfig& config() const { return (*tree)->config(position); }
};

class RootSearch {
 public:
  // `plan` and `budget` must outlive this.
  RootSearch(const SearchPlan& plan, StepBudget& budget);

  // Takes up `tree`, with `foreign` sharing providers by rising id; both must stay where they are
  // until the next Begin. False: a slot has no provider, there is no solution.
  bool Begin(const TreePtr& tree, const std::vector<const SharingProvider*>& foreign);
  // Finds the next solution. False: there is none, or the budget is spent. REQUIRES: Begin was
  // true, and Next was not yet false.
  bool Next();

  // What Next found.
  Candidate Solution() const;
  // The provider that serves the slot in the solution that Next found. Null: none, because the
  // divided amount of the slot needs no further provider.
  const Option* chosen(int slot) const {
    return chosen_[slot] < 0 ? nullptr : &options_[chosen_[slot]];
  }
  // Of a slot of a divided amount that has an option: what it gives.
  Amount part(int slot) const { return parts_[slot]; }
  // Whether there can be no other solution, known without looking: no slot has a second provider.
  bool is_single() const { return single_; }

 private:
  // Which options there are, and what each can serve by itself.
  void ListOptions(const std::vector<const SharingProvider*>& foreign);
  bool FillDomains();
  bool ServesAlone(const Option& option, const PlannedGroup& group) const;
  bool ServesTogether(const Option& option, const PlannedGroup& group) const;
  void MeasureRoom();
  void NoteRequired();

  static constexpr int kOpen = -1;    // a slot without a choice
  static constexpr int kNobody = -2;  // the choice to need no further provider

  bool Advance(int slot);
  int FirstOption(int slot) const;
  void Choose(int slot, int option);
  void Undo(int slot);
  bool IsSuffixed(int slot) const { return plan_.groups[plan_.slots[slot].group].suffixed(); }
  bool Allows(int slot, int option) const;
  bool StandsApart(int slot, int option) const;

  // Classes that several providers share.
  bool AdvancePart(int slot);
  Amount MostOf(const SlotDemand& demand, int option) const;
  bool CanGivePart(const Option& option, const SlotDemand& demand) const;
  bool DividedAmountsCanBeMet(int from);
  bool DividedAmountCanBeMet(const DividedAmount& divided, int from);
  Amount MostAfter(const DividedAmount& divided, int last, int count) const;
  bool Divide(const DividedAmount& divided);

  // root_pruning.cc: whether the slots from `from` on can still be served.
  bool CanEndWell(int from);
  bool FindRemaining(int from);
  const std::vector<int>& Remaining(int slot) const {
    return plan_.slots_interact ? remaining_[slot] : domains_[slot];
  }
  bool RequiredTraitsCanBeMet(int from) const;
  bool SubtreesCanBeShared(int from) const;
  bool CanBeUnder(int top, const std::vector<int>& slots, int from) const;
  bool IsUnder(int option, int top) const;
  bool AmountsCanBePlaced(int from);
  bool SetsCanBePlaced(int from);
  std::vector<std::vector<int>> LowestRemaining(const std::vector<int>& slots) const;
  bool CanPlace(const std::vector<int>& slots, const std::vector<std::vector<int>>& remaining);
  bool Place(int slot, const std::vector<std::vector<int>>& remaining, std::vector<bool>& tried);

  int slot_count() const { return static_cast<int>(plan_.slots.size()); }
  Amount& room(int option, int class_index) {
    return room_[option * static_cast<int>(plan_.classes.size()) + class_index];
  }
  Amount room(int option, int class_index) const {
    return room_[option * static_cast<int>(plan_.classes.size()) + class_index];
  }

  const SearchPlan& plan_;
  StepBudget& budget_;

  const TreePtr* tree_ = nullptr;
  std::vector<Option> options_;            // by rising id
  std::vector<std::vector<int>> domains_;  // by slot: options, rising
  std::vector<Amount> room_;               // by option and class index (RoomFor)
  std::vector<bool> has_required_;         // by option and required set of the unsuffixed group
  bool single_ = false;

  bool begun_ = false;
  std::vector<int> next_;      // by slot: where in its domain to go on
  std::vector<int> chosen_;    // by slot: its option, kOpen or kNobody
  std::vector<int> covered_;   // by required set: how many chosen options meet it
  std::vector<int> occupied_;  // by set of plan.apart and option: how many of its slots chose it
  std::vector<Amount> parts_;  // by slot
  std::vector<std::vector<int>> apart_of_;     // by slot: the sets of plan.apart that it is in
  std::vector<std::vector<int>> separate_of_;  // and those of plan.separate

  // By slot that has no choice yet: the options that it could still choose.
  std::vector<std::vector<int>> remaining_;
  // Of one placing: how many more slots each option could take, and which it took.
  std::vector<int64_t> places_;
  std::vector<std::vector<int>> placed_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_SEARCH_ROOT_SEARCH_H_
