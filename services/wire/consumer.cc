#include "services/wire/consumer.h"

#include <algorithm>
#include <variant>

namespace berth::services {

using placement::CommandBody;
using placement::ConsumerId;

absl::StatusOr<CommandBody> ReleaseConsumersCommand(const pb::ReleaseConsumersRequest& request) {
  placement::ReleaseConsumers command;
  for (const pb::ConsumerRelease& from : request.consumers()) {
    BERTH_ASSIGN_OR_RETURN(
        const auto id,
        ParseId<ConsumerId>(absl::StrCat("consumers[", command.consumers.size(), "].consumer_uuid"),
                            from.consumer_uuid()));
    command.consumers.push_back({id, ExpectedGeneration(from)});
  }
  return command;
}

absl::StatusOr<CommandBody> SetLeaseCommand(const pb::SetLeaseRequest& request) {
  BERTH_ASSIGN_OR_RETURN(const auto id, ConsumerIdOf(request));
  placement::SetLease command{id, ExpectedGeneration(request), std::nullopt};
  if (request.hold_case() == pb::SetLeaseRequest::HOLD_NOT_SET) {
    return InvalidField("lease", "or confirmed is required");
  }
  if (request.has_lease()) command.lease = DurationOf(request.lease());
  return command;
}

void FillReleaseConsumers(const WriteAnswer& answer, pb::ReleaseConsumersResponse* response) {
  const placement::Changes& changes = *answer.decision.changes;
  const auto is_release = [](const placement::Change& change) {
    return std::holds_alternative<placement::ConsumerRemoved>(change);
  };
  response->set_released_count(
      static_cast<int32_t>(std::count_if(changes.begin(), changes.end(), is_release)));
  for (const ConsumerId absent : answer.decision.result.absent) {
    response->add_absent_consumer_uuids(absent.ToString());
  }
}

void FillSetLease(const WriteAnswer& answer, pb::SetLeaseResponse* response) {
  for (const placement::Change& change : *answer.decision.changes) {
    const auto* put = std::get_if<placement::ConsumerPut>(&change);
    if (put == nullptr) continue;
    response->set_generation(put->consumer->generation.value);
    if (put->consumer->lease_expires_at) {
      SetTime(*put->consumer->lease_expires_at, response->mutable_lease_expires_at());
    }
  }
}

}  // namespace berth::services
