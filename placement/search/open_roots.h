// OpenRoots: roots that a search has looked at and that wait for their first turn, the best on top.
//
// A root waits while another, not yet looked at, may be better; where that goes on for long, what
// the search cannot come to is dropped, so that no more is kept than a few times what it wants.
// Owned by one search.
#ifndef BERTH_PLACEMENT_SEARCH_OPEN_ROOTS_H_
#define BERTH_PLACEMENT_SEARCH_OPEN_ROOTS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "placement/search/root_ranking.h"
#include "placement/search/root_search.h"
#include "placement/values/candidate.h"

namespace berth::placement {

// A candidate that waits for its turn.
struct Ahead {
  Candidate candidate;
  std::vector<const Tree*> trees;
  int64_t by_traits = 0;
};

// A root that is looked at, and those of its candidates that were compared, the best last.
struct Visit {
  std::unique_ptr<RootSearch> search;
  std::vector<Ahead> ahead;
  bool ended = false;  // the root has no other candidates
};

class OpenRoots {
 public:
  bool empty() const { return open_.empty(); }
  // REQUIRES: not empty.
  const RankedRoot& best() const { return open_.front().rank; }
  Visit PopBest();

  // Adds a root whose rank is settled. `wanted`: how many candidates the search will take, from now
  // on, at most; roots take turns, one candidate each.
  void Push(const RankedRoot& rank, Visit visit, int64_t wanted);

 private:
  struct Open {
    RankedRoot rank;
    Visit visit;
  };

  // Drops what is behind the first `wanted` candidates of all.
  void Prune(int64_t wanted);
  // How many candidates come in so many rounds.
  int64_t CountIn(int64_t rounds) const;

  std::vector<Open> open_;  // a heap
  int64_t kept_ = 0;        // roots and candidates
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_SEARCH_OPEN_ROOTS_H_
