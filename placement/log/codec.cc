#include "placement/log/codec.h"

#include <google/protobuf/arena.h>

#include <algorithm>
#include <utility>

#include "placement/ground/check.h"
#include "placement/ground/status_macros.h"
#include "placement/log/answer.pb.h"
#include "placement/log/messages.h"

namespace berth::placement {
namespace {

namespace pb = ledger::v1;

absl::Status UnknownKind() {
  return absl::DataLossError("the log holds a change that this release cannot read");
}

template <typename Field>
absl::StatusOr<std::shared_ptr<const Changes>> DecodeChanges(const Field& messages) {
  auto changes = std::make_shared<Changes>();
  changes->reserve(messages.size());
  for (const pb::Change& message : messages) {
    if (!DecodeChange(message, changes.get())) {
      return UnknownKind();
    }
  }
  return changes;
}

// Whether each position in `scope` is that of one of `count` changes.
bool NamesChanges(const Scope& scope, size_t count) {
  return std::all_of(
      scope.other_hosts.begin(), scope.other_hosts.end(), [count](const HostNews& news) {
        return std::all_of(news.changes.begin(), news.changes.end(), [count](int32_t at) {
          return at >= 0 && static_cast<size_t>(at) < count;
        });
      });
}

template <typename Field>
void AddProvider(ProviderId provider, Field* halves) {
  halves->Add(provider.uuid.high);
  halves->Add(provider.uuid.low);
}

template <typename Field>
ProviderId ProviderAt(const Field& halves, int at) {
  return ProviderId{Uuid{halves.Get(2 * at), halves.Get(2 * at + 1)}};
}

void EncodePlace(const Candidate& candidate, pb::Place* out) {
  EncodeId(candidate.root.uuid, out->mutable_root());
  for (const Allocation& allocation : candidate.allocations) {
    AddProvider(allocation.provider, out->mutable_providers());
    out->add_classes(static_cast<uint32_t>(allocation.resource_class));
    out->add_amounts(allocation.amount);
  }
  for (const auto& [suffix, providers] : candidate.mappings) {
    pb::PlacedGroup* group = out->add_groups();
    group->set_suffix(suffix);
    for (const ProviderId provider : providers) AddProvider(provider, group->mutable_providers());
  }
}

Candidate DecodePlace(const pb::Place& in) {
  Candidate candidate;
  candidate.root = ProviderId{DecodeId(in.root())};
  const int rows = std::min({in.providers_size() / 2, in.classes_size(), in.amounts_size()});
  for (int i = 0; i < rows; ++i) {
    candidate.allocations.push_back(
        {ProviderAt(in.providers(), i), ClassId{in.classes(i)}, in.amounts(i)});
  }
  for (const pb::PlacedGroup& group : in.groups()) {
    auto& [suffix, providers] =
        candidate.mappings.emplace_back(group.suffix(), std::vector<ProviderId>());
    for (int i = 0; i < group.providers_size() / 2; ++i) {
      providers.push_back(ProviderAt(group.providers(), i));
    }
  }
  return candidate;
}

void EncodeResult(const Result& result, pb::Answer* out) {
  for (const ProviderAnswer& provider : result.providers) {
    pb::ProviderAnswer* message = out->add_providers();
    EncodeProvider(*provider.config, message->mutable_provider());
    EncodeId(provider.root.uuid, message->mutable_root());
  }
  for (const auto& [consumer, generation] : result.consumers) {
    pb::ConsumerAnswer* message = out->add_consumers();
    EncodeId(consumer.uuid, message->mutable_id());
    message->set_generation(generation.value);
  }
  out->set_created(result.created);
  for (const ConsumerId absent : result.absent) EncodeId(absent.uuid, out->add_absent());
  for (const OverCapacity& over : result.over_capacity) {
    pb::OverCapacity* message = out->add_over_capacity();
    message->set_resource_class(over.resource_class);
    message->set_used(over.used);
    message->set_capacity(over.capacity);
    EncodeId(over.provider.uuid, message->mutable_provider());
  }
  for (const std::string& trait : result.unknown_traits) out->add_unknown_traits(trait);
  for (const std::string& warning : result.warnings) out->add_warnings(warning);
  for (const Candidate& candidate : result.candidates) EncodePlace(candidate, out->add_places());
  out->set_seed(result.seed);
  out->set_imported(result.imported);
}

Result DecodeResult(const pb::Answer& in) {
  Result result;
  for (const pb::ProviderAnswer& provider : in.providers()) {
    result.providers.push_back(
        {DecodeProvider(provider.provider()), ProviderId{DecodeId(provider.root())}});
  }
  for (const pb::ConsumerAnswer& consumer : in.consumers()) {
    result.consumers.emplace_back(ConsumerId{DecodeId(consumer.id())},
                                  Generation{consumer.generation()});
  }
  result.created = in.created();
  for (const pb::Id& absent : in.absent()) result.absent.push_back(ConsumerId{DecodeId(absent)});
  for (const pb::OverCapacity& over : in.over_capacity()) {
    result.over_capacity.push_back({ProviderId{DecodeId(over.provider())}, over.resource_class(),
                                    over.used(), over.capacity()});
  }
  result.unknown_traits.assign(in.unknown_traits().begin(), in.unknown_traits().end());
  result.warnings.assign(in.warnings().begin(), in.warnings().end());
  for (const pb::Place& place : in.places()) result.candidates.push_back(DecodePlace(place));
  result.seed = in.seed();
  result.imported = in.imported();
  return result;
}

// The position of `method` in the batch's methods, counted from 1. Adds it if it is new.
uint32_t MethodIn(const std::string& method, pb::Batch* batch) {
  const auto& methods = batch->methods();
  const auto found = std::find(methods.begin(), methods.end(), method);
  const auto position = static_cast<uint32_t>(found - methods.begin()) + 1;
  if (found == methods.end()) batch->add_methods(method);
  return position;
}

}  // namespace

std::string EncodeBatch(const std::vector<LogCommand>& commands) {
  google::protobuf::Arena arena;
  auto* batch = google::protobuf::Arena::CreateMessage<pb::Batch>(&arena);
  for (const LogCommand& command : commands) {
    pb::Command* message = batch->add_commands();
    message->set_actor(command.actor);
    message->set_request_id(command.request_id);
    message->set_reason(command.reason);
    for (const Change& change : *command.changes) EncodeChange(change, message->add_changes());
    if (command.scope != nullptr) EncodeScope(*command.scope, message->mutable_scope());
    if (command.method != nullptr) message->set_method(MethodIn(*command.method, batch));
  }
  return batch->SerializeAsString();
}

absl::StatusOr<std::vector<LogCommand>> DecodeBatch(absl::string_view payload) {
  google::protobuf::Arena arena;
  auto* batch = google::protobuf::Arena::CreateMessage<pb::Batch>(&arena);
  if (!batch->ParseFromArray(payload.data(), static_cast<int>(payload.size()))) {
    return absl::DataLossError("a log row cannot be read");
  }
  // The commands of a batch share the names of their methods.
  std::vector<std::shared_ptr<const std::string>> methods = {nullptr};
  for (const std::string& name : batch->methods()) {
    methods.push_back(std::make_shared<const std::string>(name));
  }
  std::vector<LogCommand> commands;
  for (const pb::Command& message : batch->commands()) {
    BERTH_ASSIGN_OR_RETURN(auto changes, DecodeChanges(message.changes()));
    if (message.method() >= methods.size()) return absl::DataLossError("a log row names no method");
    std::shared_ptr<Scope> scope;
    if (message.has_scope()) {
      scope = std::make_shared<Scope>();
      if (!DecodeScope(message.scope(), scope.get())) return UnknownKind();
      if (!NamesChanges(*scope, changes->size())) {
        return absl::DataLossError("a log row names no change");
      }
    }
    commands.push_back({message.actor(), message.request_id(), std::move(changes), message.reason(),
                        std::move(scope), methods[message.method()]});
  }
  return commands;
}

std::string EncodeAnswer(const Decision& decision) {
  // A batch remembers only what succeeded.
  BERTH_CHECK(decision.status.ok() && decision.changes != nullptr);
  google::protobuf::Arena arena;
  auto* answer = google::protobuf::Arena::CreateMessage<pb::Answer>(&arena);
  answer->set_epoch(decision.revision.epoch);
  answer->set_revision(decision.revision.number);
  answer->set_fresh(decision.fresh.value);
  // An import may change the whole ledger, and its answer does not need the changes.
  const bool keeps_changes = decision.result.imported == 0;
  for (const Change& change : *decision.changes) {
    if (keeps_changes) EncodeChange(change, answer->add_changes());
  }
  EncodeResult(decision.result, answer);
  answer->set_method(decision.asked.method);
  answer->set_subject(decision.asked.subject);
  answer->set_decided_at_us(absl::ToUnixMicros(decision.decided_at));
  return answer->SerializeAsString();
}

absl::StatusOr<Decision> DecodeAnswer(absl::string_view answer) {
  google::protobuf::Arena arena;
  auto* message = google::protobuf::Arena::CreateMessage<pb::Answer>(&arena);
  if (!message->ParseFromArray(answer.data(), static_cast<int>(answer.size()))) {
    return absl::DataLossError("a kept answer cannot be read");
  }
  BERTH_ASSIGN_OR_RETURN(auto changes, DecodeChanges(message->changes()));
  Decision decision;
  decision.revision = {message->epoch(), message->revision()};
  decision.fresh = Generation{message->fresh()};
  decision.changes = std::move(changes);
  decision.result = DecodeResult(*message);
  decision.asked = {message->method(), message->subject()};
  decision.decided_at = absl::FromUnixMicros(message->decided_at_us());
  decision.replayed = true;
  return decision;
}

}  // namespace berth::placement
