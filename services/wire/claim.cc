#include "services/wire/claim.h"

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "services/wire/allocation.h"
#include "services/wire/candidate.h"
#include "services/wire/instance.h"

namespace berth::services {

using placement::CommandBody;
using placement::ConsumerId;
using placement::MemberAffinity;
using placement::ProviderId;

namespace {

// Converts one member of a claim. `at` is the path of the member in the request, followed by a dot,
// for example `members[2].`. If the request itself is the member, `at` is empty.
absl::StatusOr<placement::ClaimMember> MemberOf(const std::string& at, bool has_consumer,
                                                const pb::ClaimConsumer& consumer, bool has_query,
                                                const pb::CandidateQuery& query) {
  placement::ClaimMember member;
  if (!has_consumer) return InvalidField(at + "consumer", "is required");
  BERTH_ASSIGN_OR_RETURN(
      const auto id, ParseId<ConsumerId>(at + "consumer.consumer_uuid", consumer.consumer_uuid()));
  member.consumer = id;
  if (consumer.expected_case() == pb::ClaimConsumer::EXPECTED_NOT_SET) {
    return placement::Refuse(
        absl::StatusCode::kInvalidArgument, "GENERATION_REQUIRED",
        absl::StrCat(
            at, "consumer needs new_consumer if it is new, else the generation that you read last"),
        {{{"field", at + "consumer.generation"}, {"consumer", id.ToString()}}});
  }
  if (consumer.has_generation()) {
    member.expected_generation = placement::Generation{consumer.generation()};
  }
  if (consumer.has_lease()) member.lease = DurationOf(consumer.lease());
  member.project = consumer.project_id();
  member.user = consumer.user_id();
  member.type = consumer.consumer_type();
  if (consumer.has_instance()) {
    BERTH_ASSIGN_OR_RETURN(auto record, InstanceOf(at + "consumer.instance", consumer.instance()));
    member.instance = std::make_shared<const placement::InstanceRecord>(std::move(record));
  }
  if (!has_query) return InvalidField(at + "query", "is required");
  BERTH_ASSIGN_OR_RETURN(member.query, CandidateQueryOf(at + "query", query));
  return member;
}

absl::StatusOr<MemberAffinity> AffinityOf(pb::MemberAffinity affinity) {
  switch (affinity) {
    case pb::MEMBER_AFFINITY_UNSPECIFIED:
      return MemberAffinity::kNone;
    case pb::MEMBER_AFFINITY_SAME_ROOT:
      return MemberAffinity::kSameRoot;
    case pb::MEMBER_AFFINITY_DIFFERENT_ROOTS:
      return MemberAffinity::kDifferentRoots;
    default:
      return InvalidField("affinity", "has a value that this release does not know");
  }
}

void FillCandidate(const placement::Catalog& catalog, const placement::Candidate& candidate,
                   pb::Candidate* to) {
  FillAllocations(
      catalog, nullptr, candidate.allocations, [](ProviderId) { return true; },
      to->mutable_allocations());
  for (const auto& [suffix, providers] : candidate.mappings) {
    pb::GroupMapping* mapping = to->add_mappings();
    mapping->set_suffix(suffix);
    for (const ProviderId provider : providers) mapping->add_provider_uuids(provider.ToString());
  }
  to->set_root_uuid(candidate.root.ToString());
}

// The generation of the record that the command created for the instance; 0 if it created none.
int64_t RecordGeneration(const placement::Decision& decision, ConsumerId instance) {
  for (const placement::Change& change : *decision.changes) {
    const auto* put = std::get_if<placement::InstancePut>(&change);
    if (put != nullptr && put->instance->id.uuid == instance.uuid) {
      return put->instance->generation.value;
    }
  }
  return 0;
}

}  // namespace

absl::StatusOr<CommandBody> ClaimCommand(const pb::ClaimRequest& request) {
  placement::PlaceClaims command;
  command.one = true;
  BERTH_ASSIGN_OR_RETURN(auto member, MemberOf("", request.has_consumer(), request.consumer(),
                                               request.has_query(), request.query()));
  command.members.push_back(std::move(member));
  BERTH_ASSIGN_OR_RETURN(command.order, CandidateOrderOf(request.order()));
  return command;
}

absl::StatusOr<CommandBody> ClaimManyCommand(const pb::ClaimManyRequest& request) {
  placement::PlaceClaims command;
  for (const pb::ClaimMember& from : request.members()) {
    BERTH_ASSIGN_OR_RETURN(
        auto member,
        MemberOf(absl::StrCat("members[", command.members.size(), "]."), from.has_consumer(),
                 from.consumer(), from.has_query(), from.query()));
    command.members.push_back(std::move(member));
  }
  BERTH_ASSIGN_OR_RETURN(command.affinity, AffinityOf(request.affinity()));
  BERTH_ASSIGN_OR_RETURN(command.order, CandidateOrderOf(request.order()));
  return command;
}

void FillClaim(const WriteAnswer& answer, pb::ClaimResponse* response) {
  const placement::Result& result = answer.decision.result;
  if (!result.consumers.empty()) {
    response->set_generation(result.consumers[0].second.value);
    response->set_instance_generation(RecordGeneration(answer.decision, result.consumers[0].first));
  }
  if (!result.candidates.empty()) {
    FillCandidate(answer.catalog, result.candidates[0], response->mutable_candidate());
  }
  response->set_seed(result.seed);
}

void FillClaimMany(const WriteAnswer& answer, pb::ClaimManyResponse* response) {
  const placement::Result& result = answer.decision.result;
  for (size_t m = 0; m < result.consumers.size() && m < result.candidates.size(); ++m) {
    pb::ClaimedMember* member = response->add_members();
    member->set_consumer_uuid(result.consumers[m].first.ToString());
    member->set_generation(result.consumers[m].second.value);
    member->set_instance_generation(RecordGeneration(answer.decision, result.consumers[m].first));
    FillCandidate(answer.catalog, result.candidates[m], member->mutable_candidate());
  }
  response->set_seed(result.seed);
}

}  // namespace berth::services
