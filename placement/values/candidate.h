// Candidate: one way to serve a request. It says what to allocate on which providers, and which
// providers serve which group. The request itself is in this file, too. Plain values.
#ifndef BERTH_PLACEMENT_VALUES_CANDIDATE_H_
#define BERTH_PLACEMENT_VALUES_CANDIDATE_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "placement/values/types.h"

namespace berth::placement {

struct Candidate {
  ProviderId root;
  // The amounts of all groups together: one allocation for each pair of provider and class, sorted
  // by this pair (P-202).
  std::vector<Allocation> allocations;
  std::vector<std::pair<std::string, std::vector<ProviderId>>>
      mappings;  // for each group, in the order of the groups: its suffix and its providers
};

enum class Strategy {
  kFirst,   // sorted by root id (P-209)
  kSpread,  // roots with the most free first
  kPack,    // roots with the least free first
  kRandom,  // in an order drawn from the seed
};

struct NamedWeight {
  std::string name;
  double weight = 0;
};

struct CandidateOrder {
  Strategy strategy = Strategy::kFirst;
  std::vector<NamedWeight> class_weights;  // 0..1000; empty: 1 for each class of the request
  std::vector<NamedWeight> trait_weights;  // -1000..1000
  uint64_t seed = 0;                       // of kRandom

  // Whether the request asks for an order. If not, candidates come in the order of their roots'
  // ids.
  bool given() const { return strategy != Strategy::kFirst || !trait_weights.empty(); }
};

inline constexpr double kWeightMax = 1000;

// One group of a request, with names as the caller wrote them. An "any-of set" is a list of which
// at least one member must match; if there are several sets, each must match.
struct RequestGroup {
  std::string suffix;  // empty: the unsuffixed group
  std::vector<NamedAmount> resources;
  std::vector<std::vector<std::string>> required;  // any-of sets of traits
  std::vector<std::string> forbidden;
  std::vector<std::vector<AggregateId>> member_of;  // any-of sets
  std::vector<AggregateId> forbidden_aggregates;
  std::optional<ProviderId> in_tree;
  // For classes of the unsuffixed group: the number of providers among which the class's amount may
  // be divided. A class that is not named here must come from one provider.
  std::vector<NamedAmount> max_providers;
};

enum class GroupPolicy { kUnset, kNone, kIsolate };

struct CandidateRequest {
  std::vector<RequestGroup> groups;
  GroupPolicy group_policy = GroupPolicy::kUnset;
  std::vector<std::vector<std::string>> same_subtree;       // each: suffixes of groups
  std::vector<std::vector<std::string>> isolate;            // each: suffixes of groups
  std::vector<std::vector<std::string>> separate_subtrees;  // each: suffixes of groups
  std::vector<std::vector<std::string>> root_required;      // any-of sets of traits (P-172)
  std::vector<std::string> root_forbidden;
  std::vector<std::vector<AggregateId>> root_member_of;  // any-of sets
  std::vector<AggregateId> root_forbidden_aggregates;
  std::vector<ProviderId> forbidden_roots;  // unknown ones are no error
  bool ignore_unknown_forbidden = false;    // a forbidden trait that does not exist is no error
  bool exclude_stale_roots = false;
  bool collapse_equivalent = false;  // one candidate for equal allocations (P-201)
  std::optional<int64_t> limit;      // at least 1 (P-208)
  CandidateOrder order;
};

// Limits the roots that a search may use, in addition to the conditions of the request.
struct SearchScope {
  std::optional<ProviderId> only;  // the only root; none: any root
  std::set<ProviderId> without;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_VALUES_CANDIDATE_H_
