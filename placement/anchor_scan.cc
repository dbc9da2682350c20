#include "placement/anchor_scan.h"

#include <algorithm>

#include "placement/constraint.h"

namespace berth::placement {
namespace {

bool AnySharingCanTake(const Sharing& sharing, ClassId resource_class, Amount amount) {
  return std::any_of(sharing.providers().begin(), sharing.providers().end(),
                     [&](const SharingProvider& provider) {
                       return CanTake(*provider.tree, provider.position, {resource_class, amount});
                     });
}

// The largest amount of a class that some slot can have from the anchor's tree alone; 0: none.
Amount OwnAmount(const SearchPlan& plan, const Sharing& sharing, int class_index) {
  Amount largest = 0;
  for (const Slot& slot : plan.slots) {
    for (const SlotDemand& demand : slot.demands) {
      if (demand.class_index != class_index || demand.amount <= largest) continue;
      if (AnySharingCanTake(sharing, plan.classes[class_index], demand.amount)) continue;
      largest = demand.amount;
    }
  }
  return largest;
}

// Whether the tree of `root` holds a sharing provider: it can then serve other anchors.
bool HoldsSharing(const Sharing& sharing, ProviderId root) {
  return std::any_of(
      sharing.providers().begin(), sharing.providers().end(),
      [&](const SharingProvider& provider) { return provider.tree->root_id() == root; });
}

}  // namespace

AnchorScan::AnchorScan(const State& state, const SearchPlan& plan, const Sharing& sharing)
    : state_(state), plan_(plan) {
  for (const PlannedGroup& group : plan.groups) {
    if (!group.tree || (group.suffixed() && HoldsSharing(sharing, *group.tree))) continue;
    only_given_ = true;
    only_ = state.FindTree(*group.tree);
  }
  for (size_t c = 0; c < plan.classes.size(); ++c) {
    const Amount amount = OwnAmount(plan, sharing, static_cast<int>(c));
    if (amount > 0) needed_.push_back({plan.classes[c], amount});
  }
}

const TreePtr* AnchorScan::Next() {
  if (plan_.hopeless) return nullptr;
  if (only_given_) {
    if (chunk_ > 0 || !only_) return nullptr;
    chunk_ = 1;
    return &only_;
  }
  const auto& chunks = state_.roots().chunks();
  while (chunk_ < chunks.size()) {
    const RootChunk& chunk = *chunks[chunk_];
    if (at_ > 0 || Sift(chunk)) {
      while (at_ < chunk.ids.size()) {
        const size_t tree = at_++;
        if (spare_[tree] >= 0) return &chunk.trees[tree];
      }
    }
    ++chunk_;
    at_ = 0;
  }
  return nullptr;
}

bool AnchorScan::Sift(const RootChunk& chunk) {
  spare_.fill(0);
  for (const ClassAmount& need : needed_) {
    const auto column = std::find_if(
        chunk.columns.begin(), chunk.columns.end(),
        [&need](const auto& offered) { return offered.resource_class == need.resource_class; });
    if (column == chunk.columns.end()) return false;
    // Both are within 0..kAmountMax, so that the difference is an int32; its sign is the answer,
    // and or-ing keeps it. Written for the compiler to take many trees at once.
    const auto amount = static_cast<int32_t>(need.amount);
    for (size_t i = 0; i < spare_.size(); ++i) spare_[i] |= column->free_max[i] - amount;
  }
  int32_t all = -1;
  for (size_t i = 0; i < spare_.size(); ++i) all &= spare_[i];
  return needed_.empty() || all >= 0;
}

}  // namespace berth::placement
