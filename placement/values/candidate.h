// Candidate: a place for a request: what to allocate, and which group is served where. A plain
// value.
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
  std::vector<Allocation> allocations;  // summed, rising by (provider, class) (P-202)
  std::vector<std::pair<std::string, std::vector<ProviderId>>>
      mappings;  // suffix -> providers, in group order
};

enum class Strategy {
  kFirst,   // by rising root id (P-209)
  kSpread,  // where most is free
  kPack,    // where least is free
  kRandom,  // by chance, from the seed
};

struct NamedWeight {
  std::string name;
  double weight = 0;
};

struct CandidateOrder {
  Strategy strategy = Strategy::kFirst;
  std::vector<NamedWeight> class_weights;  // 0..1000; empty: 1 for each class asked for
  std::vector<NamedWeight> trait_weights;  // -1000..1000
  uint64_t seed = 0;                       // of kRandom

  // Whether anything but the root's id decides.
  bool given() const { return strategy != Strategy::kFirst || !trait_weights.empty(); }
};

inline constexpr double kWeightMax = 1000;

// One request group (spec 7.1). Names as the caller wrote them.
struct RequestGroup {
  std::string suffix;  // empty: the unsuffixed group
  std::vector<NamedAmount> resources;
  std::vector<std::vector<std::string>> required;  // any-of sets, ANDed
  std::vector<std::string> forbidden;
  std::vector<std::vector<AggregateId>> member_of;  // any-of sets, ANDed
  std::vector<AggregateId> forbidden_aggregates;
  std::optional<ProviderId> in_tree;
  // Classes of the unsuffixed group with how many providers may share their amount; 1 for others.
  std::vector<NamedAmount> max_providers;
};

enum class GroupPolicy { kUnset, kNone, kIsolate };

struct CandidateRequest {
  std::vector<RequestGroup> groups;
  GroupPolicy group_policy = GroupPolicy::kUnset;
  std::vector<std::vector<std::string>> same_subtree;       // of suffixes
  std::vector<std::vector<std::string>> isolate;            // of suffixes
  std::vector<std::vector<std::string>> separate_subtrees;  // of suffixes
  std::vector<std::vector<std::string>> root_required;      // any-of sets, ANDed (P-172)
  std::vector<std::string> root_forbidden;
  std::vector<std::vector<AggregateId>> root_member_of;  // any-of sets, ANDed
  std::vector<AggregateId> root_forbidden_aggregates;
  bool ignore_unknown_forbidden = false;  // forbidden traits that do not exist are satisfied
  bool exclude_stale_roots = false;
  bool collapse_equivalent = false;  // one candidate for equal allocations (P-201)
  std::optional<int64_t> limit;      // at least 1 (P-208)
  CandidateOrder order;              // which come first
};

// Which roots a search may look under, beside what the request says.
struct SearchScope {
  std::optional<ProviderId> only;  // none: all
  std::set<ProviderId> without;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_VALUES_CANDIDATE_H_
