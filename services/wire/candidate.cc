#include "services/wire/candidate.h"

#include <random>
#include <utility>

#include "services/wire/provider.h"

namespace berth::services {

using placement::AggregateId;
using placement::CandidateOrder;
using placement::CandidateRequest;
using placement::ProviderId;

namespace {

absl::StatusOr<placement::RequestGroup> GroupOf(const std::string& field,
                                                const pb::RequestGroup& from) {
  placement::RequestGroup group;
  group.suffix = from.suffix();
  for (const auto* entry : SortedEntries(from.resources())) {
    group.resources.push_back({entry->first, entry->second});
  }
  group.required = TraitSets(from.required_traits());
  group.forbidden = TextsOf(from.forbidden_traits());
  BERTH_ASSIGN_OR_RETURN(group.member_of, AggregateSets(field + ".member_of", from.member_of()));
  BERTH_ASSIGN_OR_RETURN(group.forbidden_aggregates,
                         ParseIds<AggregateId>(field + ".forbidden_aggregate_uuids",
                                               from.forbidden_aggregate_uuids()));
  if (from.has_in_tree()) {
    BERTH_ASSIGN_OR_RETURN(group.in_tree, ParseId<ProviderId>(field + ".in_tree", from.in_tree()));
  }
  for (const auto* entry : SortedEntries(from.max_providers())) {
    group.max_providers.push_back({entry->first, entry->second});
  }
  return group;
}

// Returns a copy of `sets`; each set lists suffixes of groups.
template <typename Sets>
std::vector<std::vector<std::string>> SuffixSets(const Sets& sets) {
  std::vector<std::vector<std::string>> texts;
  for (const pb::SuffixSet& set : sets) texts.push_back(TextsOf(set.suffixes()));
  return texts;
}

// Converts the query's conditions on roots.
absl::Status SetRoot(const std::string& field, const pb::CandidateQuery& query,
                     CandidateRequest* to) {
  to->root_required = TraitSets(query.root_required_traits());
  to->root_forbidden = TextsOf(query.root_forbidden_traits());
  BERTH_ASSIGN_OR_RETURN(to->root_member_of,
                         AggregateSets(field + ".root_member_of", query.root_member_of()));
  BERTH_ASSIGN_OR_RETURN(to->root_forbidden_aggregates,
                         ParseIds<AggregateId>(field + ".root_forbidden_aggregate_uuids",
                                               query.root_forbidden_aggregate_uuids()));
  BERTH_ASSIGN_OR_RETURN(to->forbidden_roots,
                         ParseIds<placement::ProviderId>(field + ".forbidden_root_uuids",
                                                         query.forbidden_root_uuids()));
  return absl::OkStatus();
}

placement::GroupPolicy PolicyOf(pb::GroupPolicy policy) {
  switch (policy) {
    case pb::GROUP_POLICY_NONE:
      return placement::GroupPolicy::kNone;
    case pb::GROUP_POLICY_ISOLATE:
      return placement::GroupPolicy::kIsolate;
    default:
      return placement::GroupPolicy::kUnset;
  }
}

// A random seed. Never 0, because 0 in an answer means that nothing was chosen at random.
uint64_t NewSeed() {
  static thread_local std::mt19937_64 random{std::random_device{}()};
  return std::max<uint64_t>(random(), 1);
}

}  // namespace

absl::StatusOr<CandidateRequest> CandidateQueryOf(const std::string& field,
                                                  const pb::CandidateQuery& query) {
  CandidateRequest to;
  for (const pb::RequestGroup& from : query.groups()) {
    BERTH_ASSIGN_OR_RETURN(auto group,
                           GroupOf(absl::StrCat(field, ".groups[", to.groups.size(), "]"), from));
    to.groups.push_back(std::move(group));
  }
  to.group_policy = PolicyOf(query.group_policy());
  to.same_subtree = SuffixSets(query.same_subtree());
  to.isolate = SuffixSets(query.isolate());
  to.separate_subtrees = SuffixSets(query.separate_subtrees());
  BERTH_RETURN_IF_ERROR(SetRoot(field, query, &to));
  to.ignore_unknown_forbidden = query.ignore_unknown_forbidden_traits();
  to.exclude_stale_roots = query.exclude_stale_roots();
  return to;
}

absl::StatusOr<CandidateOrder> CandidateOrderOf(const pb::CandidateOrder& from) {
  CandidateOrder order;
  switch (from.strategy()) {
    case pb::STRATEGY_UNSPECIFIED:
    case pb::STRATEGY_FIRST:
      break;
    case pb::STRATEGY_SPREAD:
      order.strategy = placement::Strategy::kSpread;
      break;
    case pb::STRATEGY_PACK:
      order.strategy = placement::Strategy::kPack;
      break;
    case pb::STRATEGY_RANDOM:
      order.strategy = placement::Strategy::kRandom;
      order.seed = from.seed() != 0 ? from.seed() : NewSeed();
      break;
    default:
      return InvalidField("order.strategy", "has a value that this release does not know");
  }
  for (const auto* entry : SortedEntries(from.class_weights())) {
    order.class_weights.push_back({entry->first, entry->second});
  }
  for (const auto* entry : SortedEntries(from.trait_weights())) {
    order.trait_weights.push_back({entry->first, entry->second});
  }
  return order;
}

absl::StatusOr<CandidateRequest> CandidateRequestOf(const pb::FindCandidatesRequest& request) {
  if (!request.has_query()) return InvalidField("query", "is required");
  BERTH_ASSIGN_OR_RETURN(CandidateRequest to, CandidateQueryOf("query", request.query()));
  BERTH_ASSIGN_OR_RETURN(to.order, CandidateOrderOf(request.order()));
  if (request.has_limit()) to.limit = request.limit();
  to.collapse_equivalent = request.collapse_equivalent();
  return to;
}

}  // namespace berth::services
