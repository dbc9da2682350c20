#include "services/wire_candidate.h"

#include <utility>

#include "services/wire_provider.h"

namespace berth::services {

using placement::AggregateId;
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
  auto member_of = AggregateSets(field + ".member_of", from.member_of());
  BERTH_RETURN_IF_ERROR(member_of.status());
  group.member_of = *std::move(member_of);
  auto forbidden =
      ParseIds<AggregateId>(field + ".forbidden_aggregate_uuids", from.forbidden_aggregate_uuids());
  BERTH_RETURN_IF_ERROR(forbidden.status());
  group.forbidden_aggregates = *std::move(forbidden);
  if (from.has_in_tree()) {
    const auto in_tree = ParseId<ProviderId>(field + ".in_tree", from.in_tree());
    BERTH_RETURN_IF_ERROR(in_tree.status());
    group.in_tree = *in_tree;
  }
  if (!from.max_providers().empty()) return NotOffered(field + ".max_providers");
  return group;
}

// What the search does not do yet: refused by name instead of being passed over.
absl::Status CheckOffered(const pb::FindCandidatesRequest& request) {
  const pb::CandidateQuery& query = request.query();
  const std::pair<bool, const char*> fields[] = {
      {query.root_member_of_size() > 0, "query.root_member_of"},
      {query.root_forbidden_aggregate_uuids_size() > 0, "query.root_forbidden_aggregate_uuids"},
      {query.isolate_size() > 0, "query.isolate"},
      {query.separate_subtrees_size() > 0, "query.separate_subtrees"},
      {query.ignore_unknown_forbidden_traits(), "query.ignore_unknown_forbidden_traits"},
      {query.exclude_stale_roots(), "query.exclude_stale_roots"},
      {request.has_order(), "order"},
      {request.collapse_equivalent(), "collapse_equivalent"},
  };
  for (const auto& [is_set, field] : fields) {
    if (is_set) return NotOffered(field);
  }
  return absl::OkStatus();
}

// Every term names one trait: the root needs all of them.
absl::Status RootTraits(const pb::CandidateQuery& query, CandidateRequest* to) {
  for (const pb::TraitTerm& term : query.root_required_traits()) {
    if (term.any_of().empty()) {
      return InvalidField("query.root_required_traits.any_of", "names no trait");
    }
    if (term.any_of_size() > 1) return NotOffered("query.root_required_traits.any_of");
    to->root_required.push_back(term.any_of(0));
  }
  to->root_forbidden = TextsOf(query.root_forbidden_traits());
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

}  // namespace

absl::StatusOr<CandidateRequest> CandidateRequestOf(const pb::FindCandidatesRequest& request) {
  CandidateRequest to;
  if (!request.has_query()) return InvalidField("query", "is required");
  for (const pb::RequestGroup& from : request.query().groups()) {
    auto group = GroupOf(absl::StrCat("query.groups[", to.groups.size(), "]"), from);
    BERTH_RETURN_IF_ERROR(group.status());
    to.groups.push_back(*std::move(group));
  }
  to.group_policy = PolicyOf(request.query().group_policy());
  for (const pb::SuffixSet& set : request.query().same_subtree()) {
    to.same_subtree.push_back(TextsOf(set.suffixes()));
  }
  BERTH_RETURN_IF_ERROR(RootTraits(request.query(), &to));
  if (request.has_limit()) to.limit = request.limit();
  BERTH_RETURN_IF_ERROR(CheckOffered(request));
  return to;
}

}  // namespace berth::services
