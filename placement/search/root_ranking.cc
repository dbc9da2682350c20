#include "placement/search/root_ranking.h"

#include <algorithm>

namespace berth::placement {
namespace {

constexpr size_t kKeptMin = 16;
constexpr size_t kKeptMax = 4096;
constexpr size_t kGrowth = 4;  // each scan keeps this many times the roots of the scan before it

// How long it takes to score a chunk, in steps of a search (measured): kStepsOfChunk for every
// chunk, and the other numbers in addition for each weighted class, for each weighted trait, and
// for random scores.
constexpr int64_t kStepsOfChunk = 12;
constexpr int64_t kStepsOfShare = 2;
constexpr int64_t kStepsOfTrait = 6;
constexpr int64_t kStepsOfDraw = 4;

// A hash whose values look random (the finalizer of splitmix64).
uint64_t Mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

// The random score of a root, from 0 to below kShareWhole * kWeightOne. The same root and seed
// always give the same score.
int64_t ChanceOf(ProviderId root, uint64_t seed) {
  const uint64_t mixed = Mix(Mix(seed ^ root.uuid.high) ^ root.uuid.low);
  return static_cast<int64_t>(mixed % static_cast<uint64_t>(kShareWhole * kWeightOne));
}

}  // namespace

RootRanking::RootRanking(const State& state, const SearchPlan& plan, const Sharing& sharing,
                         StepBudget& budget, int64_t wanted)
    : plan_(plan),
      budget_(budget),
      has_sharing_(!sharing.empty()),
      from_start_(state, plan, sharing),
      kept_max_(std::clamp(static_cast<size_t>(wanted), kKeptMin, kKeptMax)) {
  for (const TraitWeight& weighted : plan.order.traits) {
    shared_traits_.push_back(
        std::any_of(sharing.providers().begin(), sharing.providers().end(),
                    [&weighted](const SharingProvider& provider) {
                      return provider.tree->config(provider.position).HasTrait(weighted.trait);
                    }));
  }
}

const RankedRoot* RootRanking::Peek() {
  if (at_ == kept_.size() && !complete_) Refill();
  return at_ < kept_.size() ? &kept_[at_] : nullptr;
}

void RootRanking::Refill() {
  if (!kept_.empty()) {
    last_ = kept_.back();
    has_last_ = true;
    kept_max_ = std::min(kept_max_ * kGrowth, kKeptMax);
  }
  kept_.clear();
  at_ = 0;
  complete_ = true;
  if (from_start_.names_one_tree()) {
    const TreePtr* only = from_start_.Next();
    if (only != nullptr) {
      kept_.push_back({std::numeric_limits<int64_t>::max(), 0, (*only)->root_id(), only});
      complete_ = false;
    }
    return;
  }
  ScoreAll();
  // A scan that ended early has not seen all roots, so the kept roots need not be the best ones.
  if (budget_.spent()) kept_.clear();
  std::sort_heap(kept_.begin(), kept_.end(), IsBefore);
}

int64_t RootRanking::StepsOfChunk() const {
  const PlannedOrder& order = plan_.order;
  return kStepsOfChunk + kStepsOfShare * static_cast<int64_t>(order.shares.size()) +
         kStepsOfTrait * static_cast<int64_t>(order.traits.size()) +
         (order.strategy == Strategy::kRandom ? kStepsOfDraw : 0);
}

void RootRanking::ScoreAll() {
  RootScan scan = from_start_;
  RootSet may_fit;
  Scores by_root;
  Scores scores;
  while (!budget_.spent()) {
    const auto is_wanted = [this](const RootChunk& next) {
      if (MayBeKept(next)) return true;
      --budget_.left;
      complete_ = false;
      return false;
    };
    const RootChunk* chunk = scan.NextChunk(is_wanted, may_fit);
    if (chunk == nullptr) return;
    budget_.left -= StepsOfChunk();
    by_root.fill(0);
    if (plan_.order.strategy == Strategy::kRandom) {
      ScoreByChance(*chunk, by_root);
    } else {
      ScoreByShares(*chunk, by_root);
    }
    scores = by_root;
    AddTraits(*chunk, scores);
    for (int i = 0; i < static_cast<int>(chunk->ids.size()); ++i) {
      if (may_fit[i]) Offer({scores[i], by_root[i], chunk->ids[i], &chunk->trees[i]});
    }
  }
}

bool RootRanking::MayBeKept(const RootChunk& chunk) const {
  const PlannedOrder& order = plan_.order;
  if (kept_.size() < kept_max_ || order.strategy == Strategy::kRandom) return true;
  int64_t most = 0;
  for (const ClassWeight& weighted : order.shares) {
    if (weighted.weight <= 0) continue;
    for (const RootChunk::Column& column : chunk.columns) {
      if (column.resource_class != weighted.resource_class) continue;
      most += column.most_share * weighted.weight;
    }
  }
  for (const TraitWeight& weighted : order.traits) {
    most += std::max<int64_t>(weighted.weight, 0) * kShareWhole;
  }
  return most > kept_.front().score;
}

void RootRanking::Offer(const RankedRoot& root) {
  if (has_last_ && !IsBefore(last_, root)) return;
  if (kept_.size() == kept_max_) {
    complete_ = false;
    if (!IsBefore(root, kept_.front())) return;
    std::pop_heap(kept_.begin(), kept_.end(), IsBefore);
    kept_.pop_back();
  }
  kept_.push_back(root);
  std::push_heap(kept_.begin(), kept_.end(), IsBefore);
}

void RootRanking::ScoreByShares(const RootChunk& chunk, Scores& scores) const {
  for (const ClassWeight& weighted : plan_.order.shares) {
    const auto column =
        std::find_if(chunk.columns.begin(), chunk.columns.end(), [&weighted](const auto& offered) {
          return offered.resource_class == weighted.resource_class;
        });
    if (column == chunk.columns.end()) continue;
    const int32_t* const share = column->free->share.data();
    for (size_t i = 0; i < scores.size(); ++i) scores[i] += share[i] * weighted.weight;
  }
}

void RootRanking::ScoreByChance(const RootChunk& chunk, Scores& scores) const {
  for (size_t i = 0; i < chunk.ids.size(); ++i) {
    scores[i] = ChanceOf(chunk.ids[i], plan_.order.seed);
  }
}

void RootRanking::AddTraits(const RootChunk& chunk, Scores& scores) const {
  const std::vector<TraitWeight>& traits = plan_.order.traits;
  for (size_t t = 0; t < traits.size(); ++t) {
    const int64_t score = traits[t].weight * kShareWhole;
    const RootSet& having = chunk.marks->traits.Find(traits[t].trait);
    for (int i = 0; i < static_cast<int>(chunk.ids.size()); ++i) {
      if (score > 0) {
        if (having[i] || shared_traits_[t]) scores[i] += score;
      } else if (having[i] && !has_sharing_ && chunk.trees[i]->size() == 1) {
        scores[i] += score;  // the only provider of the tree will serve
      }
    }
  }
}

}  // namespace berth::placement
