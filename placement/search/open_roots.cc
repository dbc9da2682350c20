#include "placement/search/open_roots.h"

#include <algorithm>
#include <utility>

namespace berth::placement {
namespace {

// Roots and candidates are dropped only if more than kKeptAlways of them are kept, and also more
// than kKeptTimes the number of wanted candidates.
constexpr int64_t kKeptAlways = 256;
constexpr int64_t kKeptTimes = 4;

}  // namespace

Visit OpenRoots::PopBest() {
  std::pop_heap(open_.begin(), open_.end(),
                [](const Open& a, const Open& b) { return IsBefore(b.rank, a.rank); });
  Visit visit = std::move(open_.back().visit);
  open_.pop_back();
  kept_ -= 1 + static_cast<int64_t>(visit.ahead.size());
  return visit;
}

void OpenRoots::Push(const RankedRoot& rank, Visit visit, int64_t wanted) {
  kept_ += 1 + static_cast<int64_t>(visit.ahead.size());
  open_.push_back({rank, std::move(visit)});
  std::push_heap(open_.begin(), open_.end(),
                 [](const Open& a, const Open& b) { return IsBefore(b.rank, a.rank); });
  if (kept_ > kKeptAlways && kept_ / kKeptTimes > wanted) Prune(wanted);
}

void OpenRoots::Prune(int64_t wanted) {
  // No heap needs to be made: a list that is sorted best first is a valid heap.
  std::sort(open_.begin(), open_.end(),
            [](const Open& a, const Open& b) { return IsBefore(a.rank, b.rank); });
  if (static_cast<int64_t>(open_.size()) > wanted) {
    open_.erase(open_.begin() + wanted, open_.end());
  }
  int64_t rounds = 1;
  while (CountIn(rounds) < wanted && CountIn(rounds) < CountIn(rounds + 1)) ++rounds;
  kept_ = 0;
  for (Open& open : open_) {
    std::vector<Ahead>& ahead = open.visit.ahead;
    if (static_cast<int64_t>(ahead.size()) > rounds) {
      ahead.erase(ahead.begin(), ahead.end() - rounds);  // the first ones are the worst
    }
    kept_ += 1 + static_cast<int64_t>(ahead.size());
  }
}

int64_t OpenRoots::CountIn(int64_t rounds) const {
  int64_t count = 0;
  for (const Open& open : open_) {
    count += std::min(static_cast<int64_t>(open.visit.ahead.size()), rounds);
  }
  return count;
}

}  // namespace berth::placement
