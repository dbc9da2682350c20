// OpenRoots: the roots that an ordered search has examined, but of which it has taken no candidate
// yet. A priority queue: the best root is on top.
//
// A root waits here as long as a root that is not yet examined could be better. If many roots wait,
// the queue drops those that the search will not reach, so that the queue's memory is limited to a
// few times the number of wanted candidates. Owned by one search.
#ifndef BERTH_PLACEMENT_SEARCH_OPEN_ROOTS_H_
#define BERTH_PLACEMENT_SEARCH_OPEN_ROOTS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "placement/search/root_ranking.h"
#include "placement/search/root_search.h"
#include "placement/values/candidate.h"

namespace berth::placement {

// A candidate of an open root that was found early, to compare it with other candidates of the
// root.
struct Ahead {
  Candidate candidate;
  std::vector<const Tree*> trees;  // the trees of the candidate's providers
  int64_t by_traits = 0;           // the score that the traits of these providers give
};

// The search under one root, and the candidates that were found but not yet taken, best one last.
struct Visit {
  std::unique_ptr<RootSearch> search;
  std::vector<Ahead> ahead;
  bool ended = false;  // the root has no candidates besides those in `ahead`
};

class OpenRoots {
 public:
  bool empty() const { return open_.empty(); }
  // REQUIRES: not empty.
  const RankedRoot& best() const { return open_.front().rank; }
  Visit PopBest();

  // Adds a root. The score in `rank` is final. `wanted`: the most candidates that the search will
  // still take, from all roots together.
  void Push(const RankedRoot& rank, Visit visit, int64_t wanted);

 private:
  struct Open {
    RankedRoot rank;
    Visit visit;
  };

  // Drops the roots and candidates that cannot be among the next `wanted` candidates. The search
  // takes candidates in rounds: in each round one of each root, the best root first.
  void Prune(int64_t wanted);
  // How many of the kept candidates `rounds` rounds take. A round takes at most one of each root.
  int64_t CountIn(int64_t rounds) const;

  std::vector<Open> open_;  // a heap, the best root first
  int64_t kept_ = 0;        // number of roots and candidates in open_
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_SEARCH_OPEN_ROOTS_H_
