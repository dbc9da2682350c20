// RootSearch: finds all ways to serve a plan under one root, one after the other.
//
// A depth-first search over the slots of the plan, which stops at each solution and can go on from
// there. Each slot tries its options, i.e. the providers that can serve it, by rising id, so that
// solutions come in lexicographic order of the ids, first slot first (P-209). After each choice the
// search tests whether the remaining slots can still be served (root_pruning.cc), and if not, makes
// another choice. Every test is a necessary condition, so that no solution is lost (P-204). After
// the choice for the last slot, the tests are also sufficient.
//
// A divided amount is split among its providers in one way only. The providers give by rising id;
// each gives the most that leaves to every later provider the smallest amount that it may give.
// E.g. if the first provider has 8 GB free and the second may give 4 GB or more, 10 GB are divided
// into 6 and 4. A solution is left out if the amount could be had without one of its providers.
//
// Owned by one search and used by one thread. Can be used for one root after the other.
//
// Invariants, between calls:
//   1. room_ holds what each option can still give after all choices that are made.
//   2. An option in the domain of a slot meets every constraint that does not depend on choices.
#ifndef BERTH_PLACEMENT_SEARCH_ROOT_SEARCH_H_
#define BERTH_PLACEMENT_SEARCH_ROOT_SEARCH_H_

#include <cstdint>
#include <vector>

#include "placement/search/plan.h"
#include "placement/search/sharing.h"
#include "placement/values/candidate.h"

namespace berth::placement {

// The steps that a search may still take (SearchBudget::steps_max).
struct StepBudget {
  int64_t left = 0;
  bool spent() const { return left <= 0; }
};

// A provider that may serve a slot under the root (P-176).
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

  // Starts the search under the root of `tree`. `foreign` are the sharing providers of other trees
  // that serve the root, by rising id. Both must live until the next Begin. False: no solution.
  bool Begin(const TreePtr& tree, const std::vector<const SharingProvider*>& foreign);
  // Finds the next solution. False: there is none, or the budget is spent. REQUIRES: Begin returned
  // true, and Next did not return false since.
  bool Next();

  // The solution that Next found.
  Candidate Solution() const;
  // The provider that serves the slot in the solution that Next found. Null: none, because the
  // divided amount of the slot needs no further provider.
  const Option* chosen(int slot) const {
    return chosen_[slot] < 0 ? nullptr : &options_[chosen_[slot]];
  }
  // What the provider of the slot gives of the divided amount, in the solution that Next found.
  // REQUIRES: the slot belongs to a divided amount, chosen(slot) is not null.
  Amount part(int slot) const { return parts_[slot]; }
  // Whether the first solution is the only one, because each slot has only one option.
  bool is_single() const { return single_; }

 private:
  // Begin: lists the options, and finds out which slots each can serve by itself.
  void ListOptions(const std::vector<const SharingProvider*>& foreign);
  bool FillDomains();
  bool ServesAlone(const Option& option, const PlannedGroup& group) const;
  bool ServesTogether(const Option& option, const PlannedGroup& group) const;
  void MeasureRoom();
  void NoteRequired();

  static constexpr int kOpen = -1;    // no choice is made for the slot
  static constexpr int kNobody = -2;  // chosen for a slot of a divided amount that is not needed

  // Next: makes choices, and tests whether the choices already made allow another one.
  bool Advance(int slot);
  int FirstOption(int slot) const;
  void Choose(int slot, int option);
  void Undo(int slot);
  bool IsSuffixed(int slot) const { return plan_.groups[plan_.slots[slot].group].suffixed(); }
  bool Allows(int slot, int option) const;
  bool KeepsApart(int slot, int option) const;

  // Divided amounts.
  bool AdvancePart(int slot);
  Amount MostOf(const SlotDemand& demand, int option) const;
  bool CanGivePart(const Option& option, const SlotDemand& demand) const;
  bool DividedAmountsCanBeMet(int from);
  bool DividedAmountCanBeMet(const DividedAmount& divided, int from);
  Amount MostAfter(const DividedAmount& divided, int last, int count) const;
  bool Divide(const DividedAmount& divided);

  // root_pruning.cc: tests whether the slots from `from` on, which have no choice, can be served.
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
  std::vector<Amount> room_;               // by option and class: what it can still give
  std::vector<bool> has_required_;         // by option and required term of the unsuffixed group
  bool single_ = false;

  bool begun_ = false;
  std::vector<int> next_;      // by slot: index in its domain of the option to try next
  std::vector<int> chosen_;    // by slot: its option, kOpen or kNobody
  std::vector<int> covered_;   // by required term: how many chosen options meet it
  std::vector<int> occupied_;  // by set of plan.apart and option: slots of the set that chose it
  std::vector<Amount> parts_;  // by slot: what its option gives of a divided amount
  std::vector<std::vector<int>> apart_of_;     // by slot: the sets of plan.apart that contain it
  std::vector<std::vector<int>> separate_of_;  // by slot: likewise of plan.separate

  // By slot without a choice: the options that it could still choose.
  std::vector<std::vector<int>> remaining_;
  // Used by CanPlace alone. By option: how many slots it can take at most, and which it has taken.
  std::vector<int64_t> places_;
  std::vector<std::vector<int>> placed_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_SEARCH_ROOT_SEARCH_H_
