#include "services/wire/allocation.h"

#include <set>
#include <utility>

namespace berth::services {

using placement::Allocation;
using placement::CommandBody;
using placement::ConsumerId;
using placement::ProviderId;
using placement::State;

namespace {

absl::Status CheckMappings(absl::string_view field, const pb::ConsumerAllocations& consumer) {
  std::set<std::string> suffixes;
  for (const pb::GroupMapping& mapping : consumer.mappings()) {
    const std::string at = absl::StrCat(field, ".mappings[", suffixes.size(), "]");
    if (mapping.provider_uuids().empty()) {
      return InvalidField(at, "must name at least one provider");
    }
    BERTH_RETURN_IF_ERROR(
        ParseIds<ProviderId>(at + ".provider_uuids", mapping.provider_uuids()).status());
    if (!suffixes.insert(mapping.suffix()).second) {
      return placement::Refuse(absl::StatusCode::kInvalidArgument, "DUPLICATE_PARAMETER",
                               absl::StrCat(at, ".suffix names '", mapping.suffix(), "' twice"),
                               {{{"field", at + ".suffix"}, {"suffix", mapping.suffix()}}});
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<placement::ConsumerAllocations> ConsumerOf(absl::string_view field,
                                                          const pb::ConsumerAllocations& from) {
  placement::ConsumerAllocations consumer;
  BERTH_ASSIGN_OR_RETURN(const auto id, ParseId<ConsumerId>(absl::StrCat(field, ".consumer_uuid"),
                                                            from.consumer_uuid()));
  consumer.consumer = id;
  if (from.expected_case() == pb::ConsumerAllocations::EXPECTED_NOT_SET) {
    return placement::Refuse(
        absl::StatusCode::kInvalidArgument, "GENERATION_REQUIRED",
        absl::StrCat(field,
                     " needs new_consumer if it is new, else the generation that you read last"),
        {{{"field", absl::StrCat(field, ".generation")}, {"consumer", id.ToString()}}});
  }
  if (from.has_generation())
    consumer.expected_generation = placement::Generation{from.generation()};
  if (from.has_lease()) consumer.lease = DurationOf(from.lease());
  consumer.project = from.project_id();
  consumer.user = from.user_id();
  consumer.type = from.consumer_type();
  BERTH_RETURN_IF_ERROR(CheckMappings(field, from));
  BERTH_ASSIGN_OR_RETURN(
      consumer.allocations,
      ProviderAmountsOf(absl::StrCat(field, ".allocations"), from.allocations()));
  return consumer;
}

absl::StatusOr<std::vector<placement::ProviderAmounts>> ProviderAmountsOf(
    absl::string_view field,
    const google::protobuf::RepeatedPtrField<pb::ProviderAllocation>& from) {
  std::vector<placement::ProviderAmounts> all;
  for (const pb::ProviderAllocation& allocation : from) {
    BERTH_ASSIGN_OR_RETURN(
        const auto provider,
        ParseId<ProviderId>(absl::StrCat(field, "[", all.size(), "].provider_uuid"),
                            allocation.provider_uuid()));
    placement::ProviderAmounts& amounts = all.emplace_back();
    amounts.provider = provider;
    for (const auto* entry : SortedEntries(allocation.resources())) {
      amounts.amounts.push_back({entry->first, entry->second});
    }
  }
  return all;
}

absl::StatusOr<std::vector<placement::ConsumerAllocations>> ConsumersOf(
    const google::protobuf::RepeatedPtrField<pb::ConsumerAllocations>& consumers) {
  std::vector<placement::ConsumerAllocations> all;
  for (const pb::ConsumerAllocations& from : consumers) {
    BERTH_ASSIGN_OR_RETURN(auto consumer,
                           ConsumerOf(absl::StrCat("consumers[", all.size(), "]"), from));
    all.push_back(std::move(consumer));
  }
  return all;
}

absl::StatusOr<CommandBody> SetAllocationsCommand(const pb::SetAllocationsRequest& request) {
  placement::SetAllocations command;
  command.keep_unchanged_rows = request.exempt_unchanged_amounts();
  BERTH_ASSIGN_OR_RETURN(command.consumers, ConsumersOf(request.consumers()));
  return command;
}

absl::StatusOr<CommandBody> AdjustAllocationsCommand(const pb::AdjustAllocationsRequest& request) {
  BERTH_ASSIGN_OR_RETURN(const auto id, ConsumerIdOf(request));
  placement::AdjustAllocations command{id, ExpectedGeneration(request), {}};
  for (const pb::AllocationAdjustment& from : request.adjustments()) {
    BERTH_ASSIGN_OR_RETURN(
        const auto provider,
        ParseId<ProviderId>(
            absl::StrCat("adjustments[", command.adjustments.size(), "].provider_uuid"),
            from.provider_uuid()));
    placement::ProviderAmounts& amounts = command.adjustments.emplace_back();
    amounts.provider = provider;
    for (const auto* entry : SortedEntries(from.amounts())) {
      amounts.amounts.push_back({entry->first, entry->second});
    }
  }
  return command;
}

absl::StatusOr<CommandBody> DeleteAllocationsCommand(const pb::DeleteAllocationsRequest& request) {
  BERTH_ASSIGN_OR_RETURN(const auto id, ConsumerIdOf(request));
  return placement::DeleteAllocations{id, ExpectedGeneration(request)};
}

void FillAdjustAllocations(const WriteAnswer& answer, pb::AdjustAllocationsResponse* response) {
  for (const placement::Change& change : *answer.decision.changes) {
    const auto* put = std::get_if<placement::ConsumerPut>(&change);
    if (put == nullptr) continue;
    FillConsumer(
        answer.catalog, nullptr, *put->consumer, [](ProviderId) { return true; },
        response->mutable_consumer());
  }
}

void FillSetAllocations(const WriteAnswer& answer, pb::SetAllocationsResponse* response) {
  for (const auto& [consumer, generation] : answer.decision.result.consumers) {
    (*response->mutable_consumer_generations())[consumer.ToString()] = generation.value;
  }
}

void FillAllocations(const placement::Catalog& catalog, const State* state,
                     const std::vector<Allocation>& allocations,
                     absl::FunctionRef<bool(ProviderId)> is_wanted,
                     google::protobuf::RepeatedPtrField<pb::ProviderAllocation>* to) {
  std::optional<ProviderId> last;
  pb::ProviderAllocation* group = nullptr;
  for (const Allocation& allocation : allocations) {
    if (allocation.provider != last) {
      last = allocation.provider;
      group = is_wanted(allocation.provider) ? to->Add() : nullptr;
      if (group == nullptr) continue;
      group->set_provider_uuid(allocation.provider.ToString());
      const auto place = state == nullptr ? std::nullopt : state->FindProvider(allocation.provider);
      if (place) {
        group->set_provider_generation(place->config().generation.value);
        group->set_provider_allocation_generation(place->allocation_generation().value);
      }
    }
    const std::string* name = ClassName(catalog, allocation.resource_class);
    if (group != nullptr && name != nullptr)
      (*group->mutable_resources())[*name] = allocation.amount;
  }
}

void FillConsumer(const State& state, const placement::Consumer& consumer,
                  absl::FunctionRef<bool(ProviderId)> is_wanted, pb::Consumer* to) {
  FillConsumer(state.catalog(), &state, consumer, is_wanted, to);
}

void FillConsumer(const placement::Catalog& catalog, const State* state,
                  const placement::Consumer& consumer,
                  absl::FunctionRef<bool(ProviderId)> is_wanted, pb::Consumer* to) {
  to->set_uuid(consumer.id.ToString());
  to->set_generation(consumer.generation.value);
  to->set_project_id(consumer.owner->project);
  to->set_user_id(consumer.owner->user);
  to->set_consumer_type(consumer.owner->type.empty() ? "unknown" : consumer.owner->type);
  FillAllocations(catalog, state, consumer.allocations, is_wanted, to->mutable_allocations());
  SetTime(consumer.created_at, to->mutable_created_at());
  SetTime(consumer.updated_at, to->mutable_updated_at());
  if (consumer.lease_expires_at) {
    SetTime(*consumer.lease_expires_at, to->mutable_lease_expires_at());
  }
}

void FillUsageGroup(const std::string& type, const placement::UsageGroup& group,
                    pb::UsageGroup* to) {
  to->set_consumer_type(type);
  to->set_consumer_count(group.consumer_count);
  for (const auto& [name, used] : group.used) (*to->mutable_resources())[name] = used;
}

}  // namespace berth::services
