#include "services/wire_candidate.h"

#include <utility>

#include "services/wire_allocation.h"
#include "services/wire_provider.h"

namespace berth::services {

using placement::AggregateId;
using placement::CandidateRequest;
using placement::ProviderId;
using placement::SearchResult;
using placement::State;

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

void FillSummary(const State& state, const placement::Tree& tree, int position,
                 pb::ProviderSummary* to) {
  const placement::ProviderConfig& config = tree.config(position);
  to->set_provider_uuid(config.id.ToString());
  if (config.parent) to->set_parent_uuid(config.parent->ToString());
  to->set_root_uuid(tree.root_id().ToString());
  to->set_name(config.name);
  for (std::string& name : TraitNames(state.catalog(), config.traits)) {
    to->add_traits(std::move(name));
  }
  for (size_t row = 0; row < config.inventories.size(); ++row) {
    const placement::InventoryRow& inventory = config.inventories[row];
    const std::string* name = ClassName(state.catalog(), inventory.resource_class);
    if (name == nullptr) continue;
    pb::ResourceSummary& summary = (*to->mutable_resources())[*name];
    summary.set_capacity(inventory.capacity);
    summary.set_used(tree.used_of(position, static_cast<int>(row)));
  }
}

// By uuid, over all trees (P-205).
void FillSummaries(const State& state, const SearchResult& result,
                   pb::FindCandidatesResponse* response) {
  std::vector<std::pair<ProviderId, std::pair<const placement::Tree*, int>>> places;
  for (const placement::TreePtr& tree : result.trees) {
    for (int position = 0; position < tree->size(); ++position) {
      places.push_back({tree->config(position).id, {&*tree, position}});
    }
  }
  std::sort(places.begin(), places.end());
  for (const auto& [id, place] : places) {
    FillSummary(state, *place.first, place.second, response->add_summaries());
  }
}

void FillCandidate(const State& state, const placement::Candidate& candidate, pb::Candidate* to) {
  to->set_root_uuid(candidate.anchor.ToString());
  FillAllocations(
      state.catalog(), nullptr, candidate.allocations, [](ProviderId) { return true; },
      to->mutable_allocations());
  for (const auto& [suffix, providers] : candidate.mappings) {
    pb::GroupMapping* mapping = to->add_mappings();
    mapping->set_suffix(suffix);
    for (const ProviderId provider : providers) mapping->add_provider_uuids(provider.ToString());
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

void FillCandidates(const State& state, const pb::FindCandidatesRequest& request,
                    const SearchResult& result, pb::FindCandidatesResponse* response) {
  for (const placement::Candidate& candidate : result.candidates) {
    FillCandidate(state, candidate, response->add_candidates());
  }
  if (!request.omit_summaries()) FillSummaries(state, result, response);
  response->set_truncated(result.truncated);
}

}  // namespace berth::services
