#include "services/wire/catalog.h"

#include <optional>
#include <utility>

#include "placement/ground/check.h"

namespace berth::services {

using placement::Aggregate;
using placement::AggregateId;
using placement::CommandBody;

absl::StatusOr<CommandBody> CreateClassCommand(const pb::CreateClassRequest& request) {
  return placement::CreateClass{request.name(), false};
}
absl::StatusOr<CommandBody> EnsureClassCommand(const pb::EnsureClassRequest& request) {
  return placement::CreateClass{request.name(), true};
}
absl::StatusOr<CommandBody> DeleteClassCommand(const pb::DeleteClassRequest& request) {
  return placement::DeleteClass{request.name()};
}
absl::StatusOr<CommandBody> EnsureTraitCommand(const pb::EnsureTraitRequest& request) {
  return placement::EnsureTrait{request.name()};
}
absl::StatusOr<CommandBody> DeleteTraitCommand(const pb::DeleteTraitRequest& request) {
  return placement::DeleteTrait{request.name()};
}

void FillEnsureClass(const WriteAnswer& answer, pb::EnsureClassResponse* response) {
  response->set_created(answer.decision.result.created);
}
void FillEnsureTrait(const WriteAnswer& answer, pb::EnsureTraitResponse* response) {
  response->set_created(answer.decision.result.created);
}

void FillClass(const std::string& name, pb::ResourceClass* to) {
  to->set_name(name);
  to->set_standard(placement::IsStandardName(name));
}
void FillTrait(const std::string& name, pb::Trait* to) {
  to->set_name(name);
  to->set_standard(placement::IsStandardName(name));
}

absl::StatusOr<Aggregate> AggregateOf(const std::string& path, const pb::Aggregate& from) {
  BERTH_RETURN_IF_ERROR(ParseId<AggregateId>(path + ".uuid", from.uuid()).status());
  pb::Aggregate message = from;
  message.clear_generation();
  message.clear_created_at();
  message.clear_updated_at();
  std::optional<Aggregate> aggregate = placement::AggregateFrom(message);
  BERTH_CHECK(aggregate.has_value());  // its uuid has been parsed
  return *std::move(aggregate);
}

absl::StatusOr<CommandBody> SetAggregateCommand(const pb::SetAggregateRequest& request) {
  if (!request.has_aggregate()) return InvalidField("aggregate", "is required");
  BERTH_ASSIGN_OR_RETURN(Aggregate aggregate, AggregateOf("aggregate", request.aggregate()));
  return placement::SetAggregate{std::move(aggregate), ExpectedGeneration(request)};
}
absl::StatusOr<CommandBody> DeleteAggregateCommand(const pb::DeleteAggregateRequest& request) {
  BERTH_ASSIGN_OR_RETURN(const auto id,
                         ParseId<AggregateId>("aggregate_uuid", request.aggregate_uuid()));
  return placement::DeleteAggregate{id, ExpectedGeneration(request)};
}

void FillSetAggregate(const WriteAnswer& answer, pb::SetAggregateResponse* response) {
  for (const placement::Change& change : *answer.decision.changes) {
    const auto* put = std::get_if<placement::AggregatePut>(&change);
    if (put != nullptr) FillAggregate(*put->aggregate, response->mutable_aggregate());
  }
}

absl::Status CheckName(const std::string& name) {
  if (placement::IsUpperName(name)) return absl::OkStatus();
  return InvalidField("name", "must consist of 1 to 255 capital letters, digits and underscores");
}

}  // namespace berth::services
