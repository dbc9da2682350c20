#include "placement/search/root_scan.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "placement/ground/check.h"
#include "placement/search/constraint.h"

namespace berth::placement {
namespace {

constexpr size_t kCacheLine = 64;
// Up to so many trees of a chunk are sifted one by one, not all trees of the chunk at once.
constexpr size_t kFewTrees = 16;

// A lower bound of the largest part of a divided amount. Example: if at most three providers give
// 10 together, one of them gives at least 4.
Amount LargestPart(const DividedAmount& divided) {
  return (divided.demand.amount + divided.count - 1) / divided.count;
}

bool AnySharingOffers(const Sharing& sharing, ClassId resource_class) {
  return std::any_of(sharing.providers().begin(), sharing.providers().end(),
                     [&](const SharingProvider& each) {
                       return each.tree->config(each.position).FindInventory(resource_class) >= 0;
                     });
}

bool AnySharingCanTake(const Sharing& sharing, ClassId resource_class, Amount amount) {
  return std::any_of(sharing.providers().begin(), sharing.providers().end(),
                     [&](const SharingProvider& provider) {
                       return CanTake(*provider.tree, provider.position, {resource_class, amount});
                     });
}

// The largest amount of a class that a provider of the tree itself must be able to give, because no
// sharing provider can; 0 if there is none.
Amount OwnAmount(const SearchPlan& plan, const Sharing& sharing, int class_index) {
  Amount largest = 0;
  for (const Slot& slot : plan.slots) {
    for (const SlotDemand& demand : slot.demands) {
      if (demand.class_index != class_index || demand.amount <= largest) continue;
      if (AnySharingCanTake(sharing, plan.classes[class_index], demand.amount)) continue;
      largest = demand.amount;
    }
  }
  for (const DividedAmount& divided : plan.divided_amounts) {
    if (divided.demand.class_index != class_index) continue;
    if (AnySharingOffers(sharing, plan.classes[class_index])) continue;
    largest = std::max(largest, LargestPart(divided));
  }
  return largest;
}

// Whether `meets` is true of at least one sharing provider.
template <typename Meets>
bool AnyShares(const Sharing& sharing, const Meets& meets) {
  return std::any_of(sharing.providers().begin(), sharing.providers().end(),
                     [&](const SharingProvider& provider) {
                       return meets(provider.tree->config(provider.position));
                     });
}

// Prefetches `size` bytes at `begin` into the processor's cache.
void Fetch(const void* begin, size_t size) {
  for (size_t at = 0; at < size; at += kCacheLine) {
    __builtin_prefetch(static_cast<const char*>(begin) + at);
  }
}

// Whether the tree of `root` contains a sharing provider, which can serve other roots as well.
bool HoldsSharing(const Sharing& sharing, ProviderId root) {
  return std::any_of(
      sharing.providers().begin(), sharing.providers().end(),
      [&](const SharingProvider& provider) { return provider.tree->root_id() == root; });
}

}  // namespace

RootScan::RootScan(const State& state, const SearchPlan& plan, const Sharing& sharing)
    : state_(state), plan_(plan) {
  for (const PlannedGroup& group : plan.groups) {
    if (!group.tree || (group.suffixed() && HoldsSharing(sharing, *group.tree))) continue;
    only_given_ = true;
    only_ = state.FindTree(*group.tree);
  }
  if (plan.scope.only) {
    only_given_ = true;
    only_ = state.FindTree(*plan.scope.only);
  }
  NeedAmounts(sharing);
  NeedMarks(sharing);
  BarMarks(sharing);
}

void RootScan::NeedAmounts(const Sharing& sharing) {
  for (size_t c = 0; c < plan_.classes.size(); ++c) {
    const Amount amount = OwnAmount(plan_, sharing, static_cast<int>(c));
    if (amount == 0) continue;
    needed_.push_back({plan_.classes[c], amount});
    most_free_.push_back(state_.roots().most_free().Of(plan_.classes[c]));
  }
}

void RootScan::NeedMarks(const Sharing& sharing) {
  const auto no_sharing = [&sharing](const auto& meets) { return !AnyShares(sharing, meets); };
  for (const PlannedGroup& group : plan_.groups) {
    for (const std::vector<TraitId>& set : group.required) {
      if (no_sharing([&](const auto& provider) { return HasOneOf(provider, set); })) {
        needed_traits_.push_back(set);
      }
    }
    for (const std::vector<AggregateId>& set : group.member_of) {
      if (no_sharing([&](const auto& provider) { return !IsInNoneOf(provider, set); })) {
        needed_aggregates_.push_back(set);
      }
    }
  }
  const RootDemand& root = plan_.root;
  needed_aggregates_.insert(needed_aggregates_.end(), root.member_of.begin(), root.member_of.end());
}

// Collects the barred traits and aggregates. If a tree has one provider, and a group forbids a
// trait or aggregate of that provider, then the plan cannot fit under the tree. Exception: a
// sharing provider can serve the group instead.
void RootScan::BarMarks(const Sharing& sharing) {
  const auto add = [](const auto& from, auto& to) {
    to.insert(to.end(), from.begin(), from.end());
  };
  for (const PlannedGroup& group : plan_.groups) {
    const std::vector<TraitId>& traits = group.forbidden;
    if (!AnyShares(sharing, [&](const auto& each) { return HasNoneOf(each, traits); })) {
      add(traits, barred_traits_);
    }
    const std::vector<AggregateId>& aggregates = group.forbidden_aggregates;
    if (!AnyShares(sharing, [&](const auto& each) { return IsInNoneOf(each, aggregates); })) {
      add(aggregates, barred_aggregates_);
    }
  }
  add(plan_.root.forbidden_aggregates, barred_aggregates_);
}

const TreePtr* RootScan::Next() {
  if (plan_.hopeless) return nullptr;
  if (only_given_) {
    if (sifted_ || !only_) return nullptr;
    sifted_ = true;
    return &only_;
  }
  const auto& chunks = state_.roots().chunks();
  for (; chunk_ < chunks.size(); ++chunk_, sifted_ = false) {
    if (!sifted_ && !MayFit(chunk_)) continue;
    const RootChunk& chunk = *chunks[chunk_];
    if (!sifted_) Sift(chunk);
    while (at_ < chunk.ids.size()) {
      const size_t tree = at_++;
      FetchAhead(chunk, tree);
      if (may_fit_[tree]) return &chunk.trees[static_cast<int>(tree)];
    }
  }
  return nullptr;
}

// A tree of one provider consists of four blocks of memory, each with a pointer to the next block.
// After many claims the blocks are far apart. Waiting for four cache misses in a row would take
// longer than all other work on the tree. So the first block is prefetched 16 trees ahead. Each
// further block is prefetched 4 trees later, when the block with the pointer to it has arrived. Of a
// tree under which the plan certainly fits only the first one is needed.
void RootScan::FetchAhead(const RootChunk& chunk, size_t tree) const {
  const auto ahead = [&](size_t distance) -> const Tree* {
    const size_t at = tree + distance;
    return at < chunk.ids.size() && may_fit_[at] && !certain_[at]
               ? chunk.trees[static_cast<int>(at)].get()
               : nullptr;
  };
  constexpr size_t kFirst = 16;
  if (tree + kFirst < chunk.ids.size() && may_fit_[tree + kFirst]) {
    Fetch(chunk.trees[static_cast<int>(tree + kFirst)].get(), sizeof(Tree));
  }
  if (const Tree* const shape = ahead(12)) Fetch(shape->shape.get(), sizeof(TreeShape));
  if (const Tree* const root = ahead(8)) Fetch(&root->config(0), sizeof(ProviderConfig));
  if (const Tree* const rows = ahead(4)) {
    const std::vector<InventoryRow>& inventories = rows->config(0).inventories;
    Fetch(inventories.data(), inventories.size() * sizeof(InventoryRow));
  }
}

const RootChunk* RootScan::NextChunk(absl::FunctionRef<bool(const RootChunk&)> is_wanted,
                                     RootSet& may_fit) {
  if (plan_.hopeless) return nullptr;
  const auto& chunks = state_.roots().chunks();
  while (chunk_ < chunks.size()) {
    const size_t at = chunk_++;
    const RootChunk& chunk = *chunks[at];
    if (!MayFit(at) || !is_wanted(chunk)) continue;
    Sift(chunk);
    may_fit = may_fit_;
    if (may_fit.any()) return &chunk;
  }
  return nullptr;
}

bool RootScan::MayFit(size_t chunk) const {
  for (size_t i = 0; i < needed_.size(); ++i) {
    if (most_free_[i].empty() || most_free_[i][chunk] < needed_[i].amount) return false;
  }
  return true;
}

void RootScan::Sift(const RootChunk& chunk) {
  sifted_ = true;
  at_ = 0;
  may_fit_.set();
  SiftByMarks(*chunk.marks);
  if (may_fit_.any()) SiftByAmounts(chunk);
  if (may_fit_.none()) at_ = chunk.ids.size();
  if (!tells_certain_) return;
  certain_ = may_fit_ & chunk.marks->single;
  for (const ClassId resource_class : plan_.classes) {
    certain_ &= ~chunk.marks->coarse.Find(resource_class);
  }
}

void RootScan::SiftByMarks(const RootMarks& marks) {
  for (const std::vector<TraitId>& set : needed_traits_) {
    RootSet any;
    for (TraitId trait : set) any |= marks.traits.Find(trait);
    may_fit_ &= any;
  }
  for (const std::vector<TraitId>& set : plan_.root.required) {
    RootSet any;
    for (TraitId trait : set) any |= marks.RootsWith(trait);
    may_fit_ &= any;
  }
  for (const std::vector<AggregateId>& set : needed_aggregates_) {
    RootSet any;
    for (AggregateId aggregate : set) any |= marks.aggregates.Find(aggregate);
    may_fit_ &= any;
  }
  for (TraitId trait : plan_.root.forbidden) may_fit_ &= ~marks.RootsWith(trait);
  RootSet barred;
  for (TraitId trait : barred_traits_) barred |= marks.traits.Find(trait);
  for (AggregateId aggregate : barred_aggregates_) barred |= marks.aggregates.Find(aggregate);
  may_fit_ &= ~(barred & marks.single);
}

void RootScan::SiftFew(absl::Span<const RootChunk::Column* const> columns) {
  for (size_t i = may_fit_._Find_first(); i < may_fit_.size(); i = may_fit_._Find_next(i)) {
    for (size_t c = 0; c < columns.size(); ++c) {
      if (columns[c]->free->max[i] < needed_[c].amount) may_fit_.reset(i);
    }
  }
}

void RootScan::SiftByAmounts(const RootChunk& chunk) {
  absl::InlinedVector<const RootChunk::Column*, 8> columns;  // parallel to needed_
  for (const ClassAmount& need : needed_) {
    const auto column = std::find_if(
        chunk.columns.begin(), chunk.columns.end(),
        [&need](const auto& offered) { return offered.resource_class == need.resource_class; });
    BERTH_CHECK(column != chunk.columns.end());  // MayFit found enough of the class
    columns.push_back(&*column);
  }
  if (may_fit_.count() <= kFewTrees) return SiftFew(columns);
  // For each tree, a number that is negative if the tree has too little of some class: the
  // differences "free minus needed" of all classes, combined by a bitwise or, which keeps the sign
  // bit. The loops are so simple that the compiler uses vector instructions.
  std::array<int32_t, RootChunk::kRootsMax> spare{};
  for (size_t c = 0; c < columns.size(); ++c) {
    const auto amount = static_cast<int32_t>(needed_[c].amount);
    const int32_t* const free_max = columns[c]->free->max.data();
    for (size_t i = 0; i < spare.size(); ++i) spare[i] |= free_max[i] - amount;
  }
  int32_t all = -1;
  for (size_t i = 0; i < spare.size(); ++i) all &= spare[i];
  if (all < 0 && !needed_.empty()) {
    may_fit_.reset();
    return;
  }
  for (size_t i = 0; i < spare.size(); ++i) {
    if (spare[i] < 0) may_fit_.reset(i);
  }
}

}  // namespace berth::placement
