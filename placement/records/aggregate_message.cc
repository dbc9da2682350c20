#include "placement/records/aggregate_message.h"

#include <memory>
#include <utility>

#include "berth/placement/v1/aggregate.pb.h"
#include "placement/records/stored_time.h"

namespace berth::placement {

std::optional<Aggregate> AggregateFrom(const v1::Aggregate& message) {
  const std::optional<AggregateId> id = AggregateId::Parse(message.uuid());
  if (!id) return std::nullopt;
  Aggregate aggregate;
  aggregate.id = *id;
  aggregate.generation = Generation{message.generation()};
  aggregate.name = message.name();
  aggregate.metadata = {message.metadata().begin(), message.metadata().end()};
  if (!ReadTime(message.created_at(), &aggregate.created_at) ||
      !ReadTime(message.updated_at(), &aggregate.updated_at)) {
    return std::nullopt;
  }
  return aggregate;
}

void FillAggregate(const Aggregate& aggregate, v1::Aggregate* to) {
  to->Clear();
  to->set_uuid(aggregate.id.ToString());
  to->set_generation(aggregate.generation.value);
  to->set_name(aggregate.name);
  for (const auto& [key, value] : aggregate.metadata) (*to->mutable_metadata())[key] = value;
  *to->mutable_created_at() = TimestampOf(aggregate.created_at);
  *to->mutable_updated_at() = TimestampOf(aggregate.updated_at);
}

std::string StoredBytes(const Aggregate& aggregate) {
  v1::Aggregate message;
  FillAggregate(aggregate, &message);
  return message.SerializeAsString();
}

AggregatePtr StoredAggregateIn(absl::string_view bytes) {
  v1::Aggregate message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return nullptr;
  std::optional<Aggregate> aggregate = AggregateFrom(message);
  return aggregate ? std::make_shared<const Aggregate>(*std::move(aggregate)) : nullptr;
}

}  // namespace berth::placement
