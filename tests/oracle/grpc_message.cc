#include "tests/oracle/grpc_message.h"

#include <utility>

#include "placement/ground/check.h"

namespace berth::oracle {
namespace {

using google::protobuf::RepeatedPtrField;
using placement::GroupPolicy;

// An id that placement wrote: it is well-formed, or placement is not.
template <typename IdType>
IdType IdIn(const std::string& text) {
  const std::optional<IdType> id = IdType::Parse(text);
  BERTH_CHECK(id.has_value());
  return *id;
}

std::optional<ProviderId> ParentIn(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return IdIn<ProviderId>(text);
}

std::map<ProviderId, Amounts> AllocationsIn(
    const RepeatedPtrField<pb::ProviderAllocation>& messages) {
  std::map<ProviderId, Amounts> allocations;
  for (const pb::ProviderAllocation& message : messages) {
    Amounts& amounts = allocations[IdIn<ProviderId>(message.provider_uuid())];
    amounts = {message.resources().begin(), message.resources().end()};
  }
  return allocations;
}

FoundCandidate CandidateIn(const pb::Candidate& message) {
  FoundCandidate candidate;
  candidate.allocations = AllocationsIn(message.allocations());
  for (const pb::GroupMapping& mapping : message.mappings()) {
    std::set<ProviderId>& providers = candidate.mappings[mapping.suffix()];
    for (const std::string& uuid : mapping.provider_uuids()) {
      BERTH_CHECK(providers.insert(IdIn<ProviderId>(uuid)).second);
    }
  }
  return candidate;
}

void SetGroup(const placement::RequestGroup& from, pb::RequestGroup* to) {
  to->set_suffix(from.suffix);
  for (const placement::NamedAmount& wanted : from.resources) {
    (*to->mutable_resources())[wanted.resource_class] = wanted.amount;
  }
  for (const std::vector<std::string>& set : from.required) {
    pb::TraitTerm* term = to->add_required_traits();
    for (const std::string& trait : set) term->add_any_of(trait);
  }
  for (const std::string& trait : from.forbidden) to->add_forbidden_traits(trait);
  for (const std::vector<AggregateId>& set : from.member_of) {
    pb::AggregateTerm* term = to->add_member_of();
    for (AggregateId aggregate : set) term->add_any_of(aggregate.ToString());
  }
  for (AggregateId aggregate : from.forbidden_aggregates) {
    to->add_forbidden_aggregate_uuids(aggregate.ToString());
  }
  if (from.in_tree) to->set_in_tree(from.in_tree->ToString());
}

}  // namespace

pb::Inventory MessageOf(const Inventory& inventory) {
  pb::Inventory message;
  message.set_total(inventory.total);
  message.set_reserved(inventory.reserved);
  message.set_min_unit(inventory.min_unit);
  message.set_max_unit(inventory.max_unit);
  message.set_step_size(inventory.step_size);
  message.set_allocation_ratio(inventory.allocation_ratio);
  return message;
}

pb::ConsumerAllocations MessageOf(const placement::ConsumerAllocations& claim) {
  pb::ConsumerAllocations message;
  message.set_consumer_uuid(claim.consumer.ToString());
  if (claim.expected_generation) {
    message.set_generation(claim.expected_generation->value);
  } else {
    message.mutable_new_consumer();
  }
  message.set_project_id(claim.project);
  message.set_user_id(claim.user);
  message.set_consumer_type(claim.type);
  for (const placement::ProviderAmounts& from : claim.allocations) {
    pb::ProviderAllocation* to = message.add_allocations();
    to->set_provider_uuid(from.provider.ToString());
    for (const placement::NamedAmount& wanted : from.amounts) {
      (*to->mutable_resources())[wanted.resource_class] = wanted.amount;
    }
  }
  return message;
}

pb::CandidateQuery MessageOf(const CandidateRequest& request) {
  pb::CandidateQuery message;
  for (const placement::RequestGroup& group : request.groups) SetGroup(group, message.add_groups());
  if (request.group_policy == GroupPolicy::kNone) message.set_group_policy(pb::GROUP_POLICY_NONE);
  if (request.group_policy == GroupPolicy::kIsolate) {
    message.set_group_policy(pb::GROUP_POLICY_ISOLATE);
  }
  for (const std::vector<std::string>& set : request.same_subtree) {
    pb::SuffixSet* to = message.add_same_subtree();
    for (const std::string& suffix : set) to->add_suffixes(suffix);
  }
  for (const std::vector<std::string>& set : request.root_required) {
    pb::TraitTerm* term = message.add_root_required_traits();
    for (const std::string& trait : set) term->add_any_of(trait);
  }
  for (const std::string& trait : request.root_forbidden) message.add_root_forbidden_traits(trait);
  return message;
}

absl::StatusOr<Found> FoundIn(const pb::FindCandidatesResponse& response) {
  Found found;
  for (const pb::Candidate& candidate : response.candidates()) {
    if (!found.candidates.insert(CandidateIn(candidate)).second) {
      return absl::InternalError("a candidate came twice");
    }
  }
  for (const pb::ProviderSummary& from : response.summaries()) {
    Summary& summary = found.summaries[IdIn<ProviderId>(from.provider_uuid())];
    summary.parent = ParentIn(from.parent_uuid());
    summary.root = IdIn<ProviderId>(from.root_uuid());
    summary.traits = {from.traits().begin(), from.traits().end()};
    for (const auto& [name, amounts] : from.resources()) {
      summary.capacity[name] = amounts.capacity();
      summary.used[name] = amounts.used();
    }
  }
  return found;
}

ProviderView ViewOf(const pb::Provider& provider) {
  ProviderView view;
  view.name = provider.name();
  view.parent = ParentIn(provider.parent_uuid());
  view.root = IdIn<ProviderId>(provider.root_uuid());
  view.generation = Generation{provider.generation()};
  view.traits = {provider.traits().begin(), provider.traits().end()};
  for (const std::string& uuid : provider.aggregate_uuids()) {
    view.aggregates.insert(IdIn<AggregateId>(uuid));
  }
  for (const auto& [name, from] : provider.inventories()) {
    Inventory& to = view.inventories[name];
    to.total = from.total();
    to.reserved = from.reserved();
    to.min_unit = from.min_unit();
    to.max_unit = from.max_unit();
    to.step_size = from.step_size();
    to.allocation_ratio = from.allocation_ratio();
    view.used[name] = from.used();
  }
  return view;
}

ConsumerView ViewOf(const pb::Consumer& consumer) {
  return {Generation{consumer.generation()}, consumer.project_id(), consumer.user_id(),
          consumer.consumer_type(), AllocationsIn(consumer.allocations())};
}

}  // namespace berth::oracle
