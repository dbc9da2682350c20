// RootSearch: finds all ways to serve a plan under one root, one after the other.
//
// A depth-first search over the slots of the plan. The search stops at each solution and can go on
// from there. The options of a slot are the providers that can serve the slot. Each slot tries its
// options in order of id, so that solutions come in lexicographic order of the ids, first slot
// first (P-209). After each choice the search tests whether the slots without a choice can still be
// served (root_pruning.cc). If they cannot, the search makes another choice. Every test is a
// necessary condition, so that no solution is lost (P-204). After the choice for the last slot, the
// tests are also sufficient.
//
// A divided amount is split among its providers in one way only. The providers give in order of id.
// Each provider gives as much as it can, but leaves enough for every later provider to give the
// smallest amount that its units allow. Example: the first provider has 8 GB free, and the second
// must give at least 4 GB. Then 10 GB are divided into 6 and 4. A solution is left out if one of
// its providers is not needed to reach the divided amount.
//
// Owned by one search and used by one thread. Can be used for one root after the other.
//
// Invariants, between calls:
//   1. room_ holds what each option can still give after all choices that are made.
//   2. The domain of a slot contains only options that meet every constraint that does not depend
//      on the choices for other slots.
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
  bool foreign = false;   // a sharing provider of another tree
  size_t first_room = 0;  // in RootSearch's room_: its first inventory's
  const ProviderConfig& config() const { return (*tree)->config(position); }
};

class RootSearch {
 public:
  // `plan` and `budget` must outlive the RootSearch.
  RootSearch(const SearchPlan& plan, StepBudget& budget);

  // Starts the search under the root of `tree`. `foreign` are the sharing providers of other trees
  // that serve the root, in order of id. `tree` and `foreign` must live until the next Begin.
  // Returns false if there is no solution; if it returns true, Next may still find none.
  bool Begin(const TreePtr& tree, const std::vector<const SharingProvider*>& foreign);
  // Finds the next solution. Returns false if there is none, or if the budget is spent. REQUIRES:
  // Begin returned true, and Next has not returned false since then.
  bool Next();

  // The solution that Next found.
  Candidate Solution() const;
  // The provider that serves the slot in the solution that Next found. Null: the slot belongs to a
  // divided amount that needs no further provider.
  const Option* chosen(int slot) const {
    return chosen_[slot] < 0 ? nullptr : &options_[chosen_[slot]];
  }
  // How much the slot's provider gives of the slot's divided amount, in the solution that Next
  // found. REQUIRES: the slot belongs to a divided amount, and chosen(slot) is not null.
  Amount part(int slot) const { return parts_[slot]; }
  // Whether each slot has only one option, so that the first solution is the only one.
  bool is_single() const { return single_; }

 private:
  // Used by Begin, to list the options and to find out what each option can serve and can give as
  // long as no slot has a choice.
  void ListOptions(const std::vector<const SharingProvider*>& foreign);
  bool FillDomains();
  bool ServesAlone(const Option& option, const PlannedGroup& group) const;
  bool ServesTogether(const Option& option, const PlannedGroup& group) const;
  void MeasureRoom();
  void NoteRequired();

  static constexpr int kOpen = -1;    // no choice is made for the slot
  static constexpr int kNobody = -2;  // chosen for a slot of a divided amount that is not needed

  // Used by Next, to make a choice and to test whether the earlier choices allow it.
  bool Advance(int slot);
  int FirstOption(int slot) const;
  void Choose(int slot, int option);
  void Undo(int slot);
  bool IsSuffixed(int slot) const { return plan_.groups[plan_.slots[slot].group].suffixed(); }
  bool Allows(int slot, int option) const;
  bool KeepsApart(int slot, int option) const;

  // Used by Next for the slots of divided amounts.
  bool AdvancePart(int slot);
  Amount MostOf(const SlotDemand& demand, int option) const;
  bool CanGivePart(const Option& option, const SlotDemand& demand) const;
  bool DividedAmountsCanBeMet(int from);
  bool DividedAmountCanBeMet(const DividedAmount& divided, int from);
  Amount MostAfter(const DividedAmount& divided, int last, int count) const;
  bool Divide(const DividedAmount& divided);

  // Defined in root_pruning.cc: the tests whether the slots without a choice, i.e. those from
  // `from` on, can be served.
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
  // What the option can still give of the class. Zero: it has no inventory of the class.
  Amount room(int option, int class_index) const;
  // Adds to it. REQUIRES: the option has an inventory of the class.
  void AddRoom(int option, const SlotDemand& demand, Amount amount);

  const SearchPlan& plan_;
  StepBudget& budget_;

  const TreePtr* tree_ = nullptr;
  std::vector<Option> options_;            // sorted by id
  std::vector<std::vector<int>> domains_;  // by slot: options, sorted
  std::vector<Amount> room_;               // by option and inventory: what it can still give
  std::vector<bool> has_required_;         // by option and required term of the unsuffixed group
  bool single_ = false;

  bool begun_ = false;
  std::vector<int> next_;      // by slot: index in its domain of the option to try next
  std::vector<int> chosen_;    // by slot: its option, kOpen or kNobody
  std::vector<int> covered_;   // by required term: how many chosen options meet it
  std::vector<int> occupied_;  // by set of plan.apart and option: slots of the set that chose it
  std::vector<Amount> parts_;  // by slot: what its option gives of a divided amount
  std::vector<std::vector<int>> apart_of_;     // by slot: the sets of plan.apart that contain it
  std::vector<std::vector<int>> separate_of_;  // by slot: the sets of plan.separate it is in

  // For each slot that has not chosen an option yet: the options that it can still choose.
  std::vector<std::vector<int>> remaining_;
  // For CanPlace. By option: how many slots the option can serve at most (places_, which the caller
  // of CanPlace sets), and which slots it serves in the matching so far (placed_).
  std::vector<int64_t> places_;
  std::vector<std::vector<int>> placed_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_SEARCH_ROOT_SEARCH_H_
