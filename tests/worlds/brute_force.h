// BruteForce: every candidate of a request, found by trying everything.
//
// Written from the rules of candidates in tests/rules/placement.md alone, without care for speed.
// It shares no code with the search. For small worlds only.
#ifndef BERTH_TESTS_WORLDS_BRUTE_FORCE_H_
#define BERTH_TESTS_WORLDS_BRUTE_FORCE_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "placement/search/search.h"
#include "placement/state/state.h"

namespace berth::placement {

// What makes two candidates the same or not (P-200).
struct PlainCandidate {
  std::map<std::pair<ProviderId, std::string>, Amount> allocations;  // by provider and class
  std::map<std::string, std::set<ProviderId>> mappings;
  friend auto operator<=>(const PlainCandidate&, const PlainCandidate&) = default;
};

// The candidates under each root; only roots that have any. A candidate of sharing providers
// alone may come up under several.
using CandidatesByRoot = std::map<ProviderId, std::set<PlainCandidate>>;

// What a part of the rules alone would find.
struct BruteOptions {
  std::set<std::pair<std::string, std::string>> ignore_use;  // of suffix and class
  bool ignore_sums = false;                                  // P-197
  bool first_only = false;         // one of each root, that which comes first (P-209)
  std::optional<ProviderId> only;  // root
};
CandidatesByRoot AllByRoot(const State& state, const CandidateRequest& request,
                           const BruteOptions& options = {});

// All candidates of a well-formed `request`, which names nothing unknown; equivalent ones too. No
// nodes are looked at.
std::set<PlainCandidate> AllCandidates(const State& state, const CandidateRequest& request);

// What the search found, in the same form. REQUIRES: `state` is the one that was searched.
PlainCandidate Plain(const State& state, const Candidate& candidate);

// For messages.
std::string ToString(const State& state, const PlainCandidate& candidate);

}  // namespace berth::placement

#endif  // BERTH_TESTS_WORLDS_BRUTE_FORCE_H_
