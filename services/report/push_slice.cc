#include "services/report/push_slice.h"

#include <set>

#include "placement/commands/node_providers.h"
#include "services/report/record_push.h"
#include "services/wire/allocation.h"
#include "services/wire/fleet.h"
#include "services/wire/instance.h"
#include "services/wire/provider.h"

namespace berth::services {

using placement::ConsumerId;
using placement::InstanceId;
using placement::MigrationId;
using placement::NodeProviders;
using placement::ProviderId;
using placement::State;

namespace {

// The bytes of an element's field number and length, at most.
constexpr size_t kElementBytes = 8;

size_t BytesOf(const std::string& text) { return text.size(); }
size_t BytesOf(const google::protobuf::Message& message) { return message.ByteSizeLong(); }

// A slice that is being filled.
class OpenSlice {
 public:
  OpenSlice(const State& state, const TrackedNode& node, PushScope* rest, pb::Push* to)
      : state_(state), node_(node), providers_(state, node.id), rest_(rest), to_(to) {}

  // Adds what `rest` names, and takes out the names that it added, until the slice is full. Returns
  // whether no name is left.
  bool Fill() {
    return AddAll(&rest_->providers) && AddAll(&rest_->consumers) && AddAll(&rest_->instances) &&
           AddAll(&rest_->migrations);
  }

 private:
  // Adds the entities whose ids are in `names` to the slice until it is full, and removes their ids
  // from `names`. Returns whether `names` is empty then.
  template <typename IdType>
  bool AddAll(std::set<IdType>* names) {
    while (!names->empty() && Add(*names->begin())) names->erase(names->begin());
    return names->empty();
  }

  // Adds one entity, or its removal if it does not concern the node. Returns false, and adds
  // nothing, if the slice has no room for it.
  bool Add(ProviderId id) {
    if (!providers_.Contains(id)) {
      return AddRemoval(id, to_->mutable_removed_provider_uuids());
    }
    FillProvider(state_, *state_.FindProvider(id), pb::PROVIDER_VIEW_FULL, to_->add_providers());
    return KeepsLast(to_->mutable_providers());
  }

  bool Add(ConsumerId id) {
    const placement::ConsumerPtr consumer = state_.FindConsumer(id);
    if (consumer != nullptr) {
      pb::Consumer* const filled = to_->add_consumers();
      FillConsumer(
          state_, *consumer, [this](ProviderId provider) { return providers_.Contains(provider); },
          filled);
      if (!filled->allocations().empty()) {
        NameMigrationOf(id);
        return KeepsLast(to_->mutable_consumers());
      }
      to_->mutable_consumers()->RemoveLast();
    }
    return AddRemoval(id, to_->mutable_removed_consumer_uuids());
  }

  // A migration that holds resources is a consumer with the uuid of the migration's record. The
  // tracker learns from the record for which guest the consumer holds them.
  void NameMigrationOf(ConsumerId id) {
    const MigrationId migration{id.uuid};
    if (FindFor(node_, state_.records(), migration) != nullptr) rest_->migrations.insert(migration);
  }

  bool Add(InstanceId id) {
    const placement::InstancePtr instance = FindFor(node_, state_.records(), id);
    if (instance == nullptr) return AddRemoval(id, to_->mutable_removed_instance_uuids());
    FillInstance(*instance, to_->add_instances());
    return KeepsLast(to_->mutable_instances());
  }

  bool Add(MigrationId id) {
    const placement::MigrationPtr migration = FindFor(node_, state_.records(), id);
    if (migration == nullptr) return AddRemoval(id, to_->mutable_removed_migration_uuids());
    FillMigration(*migration, to_->add_migrations());
    return KeepsLast(to_->mutable_migrations());
  }

  // A complete push contains no removals: the tracker forgets everything that the push lacks.
  template <typename IdType>
  bool AddRemoval(IdType id, google::protobuf::RepeatedPtrField<std::string>* removals) {
    if (to_->complete()) return true;
    *removals->Add() = id.ToString();
    return KeepsLast(removals);
  }

  // Whether the last element of `list` fits into the slice. If not, takes it out of the list.
  template <typename Element>
  bool KeepsLast(google::protobuf::RepeatedPtrField<Element>* list) {
    const size_t bytes = BytesOf(list->Get(list->size() - 1)) + kElementBytes;
    if (bytes_ > 0 && bytes_ + bytes > kSliceBytesMax) {
      list->RemoveLast();
      return false;
    }
    bytes_ += bytes;
    return true;
  }

  const State& state_;
  const TrackedNode node_;
  NodeProviders providers_;
  PushScope* const rest_;
  pb::Push* const to_;
  size_t bytes_ = 0;
};

}  // namespace

void NameAll(const State& state, const std::string& host, ProviderId node, PushScope* scope) {
  NodeProviders(state, node).ForEach([scope](const placement::ProviderPlace& place) {
    scope->providers.insert(place.config().id);
    place.consumers().ForEach(
        [scope](const ConsumerId& id, const auto&) { scope->consumers.insert(id); });
  });
  NameRecords(state.records(), host, scope);
}

void FillSlice(const State& state, const std::string& host, ProviderId node, PushScope* rest,
               pb::Push* to) {
  to->set_node_uuid(node.ToString());
  to->set_complete(rest->complete);
  const bool is_last = OpenSlice(state, {host, node}, rest, to).Fill();
  to->set_more(!is_last);
  const ServicePtr service = is_last && rest->service ? FindTracker(state, host) : nullptr;
  if (service != nullptr) FillService(*service, nullptr, to->mutable_service());
}

}  // namespace berth::services
