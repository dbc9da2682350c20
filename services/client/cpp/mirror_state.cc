#include "services/client/cpp/mirror_state.h"

#include <algorithm>
#include <tuple>

namespace berth::client {
namespace {

namespace pb = ::berth::placement::v1;

absl::Status Unfit(const char* what) { return absl::DataLossError(what); }

// Whether the changes after the revision that was asked for cannot be had any more.
bool CannotResume(const std::string& reason) {
  return reason == "REVISION_LOST" || reason == "REVISION_COMPACTED" || reason == "EPOCH_UNKNOWN";
}

// Returns whether `view` had the entity.
bool Erase(const pb::EntityKey& name, uint64_t edition, View* view) {
  switch (name.kind()) {
    case pb::ENTITY_KIND_PROVIDER:
      return view->providers.Erase(name.key(), edition);
    case pb::ENTITY_KIND_PROVIDER_USAGE:
      return view->usages.Erase(name.key(), edition);
    case pb::ENTITY_KIND_CONSUMER:
      return view->consumers.Erase(name.key(), edition);
    case pb::ENTITY_KIND_RESOURCE_CLASS:
      return view->classes.Erase(name.key(), edition);
    case pb::ENTITY_KIND_TRAIT:
      return view->traits.Erase(name.key(), edition);
    case pb::ENTITY_KIND_SERVICE:
      return view->services.Erase(name.key(), edition);
    case pb::ENTITY_KIND_NODE:
      return view->nodes.Erase(name.key(), edition);
    case pb::ENTITY_KIND_INSTANCE:
      return view->instances.Erase(name.key(), edition);
    case pb::ENTITY_KIND_MIGRATION:
      return view->migrations.Erase(name.key(), edition);
    case pb::ENTITY_KIND_SERVER_GROUP:
      return view->server_groups.Erase(name.key(), edition);
    case pb::ENTITY_KIND_AGGREGATE:
      return view->aggregates.Erase(name.key(), edition);
    default:  // of a newer release
      return false;
  }
}

}  // namespace

int Compare(const pb::Revision& a, const pb::Revision& b) {
  const auto left = std::make_tuple(a.epoch(), a.number());
  const auto right = std::make_tuple(b.epoch(), b.number());
  return left < right ? -1 : left > right ? 1 : 0;
}

pb::WatchRequest MirrorState::Begin() {
  pb::WatchRequest request;
  for (const pb::EntityKind kind : kinds_) request.add_kinds(kind);
  if (snapshot_) {
    request.mutable_snapshot();
    draft_ = View();
  } else {
    *request.mutable_after_revision() = view_->revision;
    draft_ = *view_;
  }
  ++edition_;
  begun_ = false;
  fits_ = absl::OkStatus();
  changed_.clear();
  return request;
}

absl::Status MirrorState::Check(const pb::WatchResponse& message) const {
  if (message.snapshot() != snapshot_) {
    return Unfit(snapshot_ ? "changes came before the snapshot was complete"
                           : "a snapshot came that was not asked for");
  }
  if (!message.has_revision()) return Unfit("a message has no revision");
  if (begun_ && Compare(message.revision(), draft_.revision) != 0) {
    return Unfit("a revision began before the last one was complete");
  }
  const int later = view_ == nullptr ? 1 : Compare(message.revision(), view_->revision);
  if (snapshot_ && later < 0) {
    return absl::UnavailableError("the process lags: its snapshot is older than the view");
  }
  const bool fits = snapshot_ || later > 0;
  return fits ? absl::OkStatus() : Unfit("changes came of a revision that was complete already");
}

absl::StatusOr<bool> MirrorState::Apply(pb::WatchResponse* message) {
  const bool tells = !message->changes().empty() || message->snapshot();
  if (!fits_.ok()) return fits_;
  if (!tells && !message->complete()) return false;  // it says nothing
  if (tells || begun_) {
    fits_ = Check(*message);
    if (!fits_.ok()) return fits_;
    begun_ = true;
  } else if (snapshot_ || Compare(message->revision(), draft_.revision) < 0) {
    return false;  // of no use; otherwise it says how far the server has come
  }
  draft_.revision = message->revision();
  for (pb::Change& change : *message->mutable_changes()) ApplyChange(&change);
  if (!message->complete()) return false;
  std::sort(changed_.begin(), changed_.end());
  changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  change_ = {std::move(view_), std::make_shared<const View>(draft_), snapshot_,
             std::move(changed_)};
  view_ = change_.after;
  changed_.clear();
  ++edition_;
  snapshot_ = false;
  begun_ = false;
  return true;
}

bool MirrorState::End(const Failure& failure) {
  const bool anew =
      absl::IsDataLoss(fits_) || CannotResume(failure.reason) || (snapshot_ && begun_);
  snapshot_ = snapshot_ || anew;
  return anew;
}

void MirrorState::ApplyChange(pb::Change* change) {
  if (change->has_present()) Present(change->mutable_present());
  if (!change->has_removed() || !Erase(change->removed(), edition_, &draft_)) return;
  changed_.emplace_back(change->removed().kind(), change->removed().key());
}

template <typename Entity>
void MirrorState::Put(pb::EntityKind kind, Entity* sent, EntityMap<Entity>* map) {
  auto entity = std::make_shared<const Entity>(std::move(*sent));
  if (!snapshot_) changed_.emplace_back(kind, KeyOf(*entity));
  map->Put(std::move(entity), edition_);
}

void MirrorState::Present(pb::Entity* entity) {
  switch (entity->entity_case()) {
    case pb::Entity::kProvider:
      return Put(pb::ENTITY_KIND_PROVIDER, entity->mutable_provider(), &draft_.providers);
    case pb::Entity::kProviderUsage:
      return Put(pb::ENTITY_KIND_PROVIDER_USAGE, entity->mutable_provider_usage(), &draft_.usages);
    case pb::Entity::kConsumer:
      return Put(pb::ENTITY_KIND_CONSUMER, entity->mutable_consumer(), &draft_.consumers);
    case pb::Entity::kResourceClass:
      return Put(pb::ENTITY_KIND_RESOURCE_CLASS, entity->mutable_resource_class(), &draft_.classes);
    case pb::Entity::kTrait:
      return Put(pb::ENTITY_KIND_TRAIT, entity->mutable_trait(), &draft_.traits);
    case pb::Entity::kService:
      return Put(pb::ENTITY_KIND_SERVICE, entity->mutable_service(), &draft_.services);
    case pb::Entity::kNode: {
      pb::Node* node = entity->mutable_node();
      const auto old = node->has_facts() ? nullptr : draft_.nodes.Find(node->uuid());
      if (old != nullptr && old->has_facts()) *node->mutable_facts() = old->facts();
      return Put(pb::ENTITY_KIND_NODE, node, &draft_.nodes);
    }
    case pb::Entity::kInstance:
      return Put(pb::ENTITY_KIND_INSTANCE, entity->mutable_instance(), &draft_.instances);
    case pb::Entity::kMigration:
      return Put(pb::ENTITY_KIND_MIGRATION, entity->mutable_migration(), &draft_.migrations);
    case pb::Entity::kServerGroup:
      return Put(pb::ENTITY_KIND_SERVER_GROUP, entity->mutable_server_group(),
                 &draft_.server_groups);
    case pb::Entity::kAggregate:
      return Put(pb::ENTITY_KIND_AGGREGATE, entity->mutable_aggregate(), &draft_.aggregates);
    case pb::Entity::ENTITY_NOT_SET:
      return;
  }
}

}  // namespace berth::client
