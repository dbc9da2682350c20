#include "services/wire_candidate.h"

#include <utility>

#include "services/wire_provider.h"
#include "services/wire_writer.h"

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

// About what a candidate or a summary of three classes takes.
constexpr size_t kBytesOfAnEntry = 192;

// Writes a FindCandidatesResponse field by field. What proto3 leaves out, default values, is left
// out here, too; map entries are whole.
class CandidatesWriter {
 public:
  CandidatesWriter(const State& state, std::string* to) : catalog_(state.catalog()), writer_(to) {}

  void Revision(const placement::Revision& revision) {
    pb::Revision message;
    SetRevision(revision, &message);
    writer_.Text(pb::FindCandidatesResponse::kRevisionFieldNumber, message.SerializeAsString());
  }

  void Candidate(const placement::Candidate& candidate) {
    writer_.Message(pb::FindCandidatesResponse::kCandidatesFieldNumber, [&] {
      Allocations(candidate.allocations);
      for (const auto& [suffix, providers] : candidate.mappings) Mapping(suffix, providers);
      writer_.Id(pb::Candidate::kRootUuidFieldNumber, candidate.anchor.uuid);
    });
  }

  // By uuid, over all trees (P-205).
  void Summaries(const std::vector<placement::TreePtr>& trees) {
    std::vector<std::pair<ProviderId, std::pair<const placement::Tree*, int>>> places;
    for (const placement::TreePtr& tree : trees) {
      for (int position = 0; position < tree->size(); ++position) {
        places.push_back({tree->config(position).id, {&*tree, position}});
      }
    }
    std::sort(places.begin(), places.end());
    for (const auto& [id, place] : places) Summary(*place.first, place.second);
  }

  void Truncated(bool truncated) {
    if (truncated) writer_.Number(pb::FindCandidatesResponse::kTruncatedFieldNumber, 1);
  }

 private:
  // Key and value of every map entry.
  static constexpr int kKey = 1;
  static constexpr int kValue = 2;

  void Allocations(const std::vector<placement::Allocation>& allocations) {
    for (auto next = allocations.begin(); next != allocations.end();) {
      const ProviderId provider = next->provider;
      writer_.Message(pb::Candidate::kAllocationsFieldNumber, [&] {
        writer_.Id(pb::ProviderAllocation::kProviderUuidFieldNumber, provider.uuid);
        for (; next != allocations.end() && next->provider == provider; ++next) {
          const std::string* name = ClassName(catalog_, next->resource_class);
          if (name == nullptr) continue;
          writer_.Message(pb::ProviderAllocation::kResourcesFieldNumber, [&] {
            writer_.Text(kKey, *name);
            writer_.Number(kValue, next->amount);
          });
        }
      });
    }
  }

  void Mapping(const std::string& suffix, const std::vector<ProviderId>& providers) {
    writer_.Message(pb::Candidate::kMappingsFieldNumber, [&] {
      if (!suffix.empty()) writer_.Text(pb::GroupMapping::kSuffixFieldNumber, suffix);
      for (const ProviderId provider : providers) {
        writer_.Id(pb::GroupMapping::kProviderUuidsFieldNumber, provider.uuid);
      }
    });
  }

  void Summary(const placement::Tree& tree, int position) {
    const placement::ProviderConfig& config = tree.config(position);
    writer_.Message(pb::FindCandidatesResponse::kSummariesFieldNumber, [&] {
      writer_.Id(pb::ProviderSummary::kProviderUuidFieldNumber, config.id.uuid);
      if (config.parent) {
        writer_.Id(pb::ProviderSummary::kParentUuidFieldNumber, config.parent->uuid);
      }
      writer_.Id(pb::ProviderSummary::kRootUuidFieldNumber, tree.root_id().uuid);
      writer_.Text(pb::ProviderSummary::kNameFieldNumber, config.name);
      for (const std::string& name : TraitNames(catalog_, config.traits)) {
        writer_.Text(pb::ProviderSummary::kTraitsFieldNumber, name);
      }
      for (size_t row = 0; row < config.inventories.size(); ++row) {
        const placement::InventoryRow& inventory = config.inventories[row];
        const std::string* name = ClassName(catalog_, inventory.resource_class);
        if (name == nullptr) continue;
        Resource(*name, inventory.capacity, tree.used_of(position, static_cast<int>(row)));
      }
    });
  }

  void Resource(const std::string& name, placement::Amount capacity, placement::Amount used) {
    writer_.Message(pb::ProviderSummary::kResourcesFieldNumber, [&] {
      writer_.Text(kKey, name);
      writer_.Message(kValue, [&] {
        if (capacity != 0) writer_.Number(pb::ResourceSummary::kCapacityFieldNumber, capacity);
        if (used != 0) writer_.Number(pb::ResourceSummary::kUsedFieldNumber, used);
      });
    });
  }

  const placement::Catalog& catalog_;
  WireWriter writer_;
};

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

std::string EncodeCandidates(const State& state, const pb::FindCandidatesRequest& request,
                             const SearchResult& result) {
  std::string encoded;
  encoded.reserve(kBytesOfAnEntry * (result.candidates.size() + result.trees.size()));
  CandidatesWriter writer(state, &encoded);
  writer.Revision(state.position().revision);
  for (const placement::Candidate& candidate : result.candidates) writer.Candidate(candidate);
  if (!request.omit_summaries()) writer.Summaries(result.trees);
  writer.Truncated(result.truncated);
  return encoded;
}

}  // namespace berth::services
