#include "services/watch/messages.h"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "google/protobuf/arena.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "placement/commands/command.h"
#include "placement/ground/check.h"
#include "services/wire/allocation.h"
#include "services/wire/catalog.h"
#include "services/wire/fleet.h"
#include "services/wire/instance.h"
#include "services/wire/provider.h"

namespace berth::services {

using placement::Catalog;
using placement::Changes;
using placement::ConsumerId;
using placement::FeedCommand;
using placement::ProviderId;
using placement::Scope;
using placement::TreeFacts;

pb::EntityKind WireKind(placement::EntityKind kind) {
  switch (kind) {
    case placement::EntityKind::kProvider:
      return pb::ENTITY_KIND_PROVIDER;
    case placement::EntityKind::kProviderUsage:
      return pb::ENTITY_KIND_PROVIDER_USAGE;
    case placement::EntityKind::kConsumer:
      return pb::ENTITY_KIND_CONSUMER;
    case placement::EntityKind::kResourceClass:
      return pb::ENTITY_KIND_RESOURCE_CLASS;
    case placement::EntityKind::kTrait:
      return pb::ENTITY_KIND_TRAIT;
    case placement::EntityKind::kService:
      return pb::ENTITY_KIND_SERVICE;
    case placement::EntityKind::kNode:
      return pb::ENTITY_KIND_NODE;
    case placement::EntityKind::kAggregate:
      return pb::ENTITY_KIND_AGGREGATE;
    case placement::EntityKind::kServerGroup:
      return pb::ENTITY_KIND_SERVER_GROUP;
    case placement::EntityKind::kInstance:
      return pb::ENTITY_KIND_INSTANCE;
    case placement::EntityKind::kMigration:
      return pb::ENTITY_KIND_MIGRATION;
  }
  return pb::ENTITY_KIND_UNSPECIFIED;
}

namespace {

// The tag of WatchResponse.changes: field 2, length-delimited.
constexpr char kChangesTag = 2 << 3 | 2;

std::vector<TreePlace> PlacesOf(const TreeFacts& facts, const std::vector<ProviderId>& providers) {
  std::vector<TreePlace> places;
  for (const ProviderId provider : providers) {
    const ProviderId root = facts.RootOf(provider);
    const auto same = [root](const TreePlace& place) { return place.root == root; };
    if (std::any_of(places.begin(), places.end(), same)) continue;
    const auto* aggregates = facts.AggregatesOf(root);
    places.push_back(
        {root, aggregates == nullptr ? std::vector<placement::AggregateId>() : *aggregates});
  }
  return places;
}

std::vector<ProviderId> ProvidersOf(const placement::Consumer& consumer) {
  std::vector<ProviderId> providers;
  for (const placement::Allocation& row : consumer.allocations) {
    if (providers.empty() || providers.back() != row.provider) providers.push_back(row.provider);
  }
  return providers;
}

template <typename Kind, typename... Kinds>
concept IsOneOf = (std::is_same_v<Kind, Kinds> || ...);

// Makes the ToldChanges of one command. First come the command's own changes and those derived from
// them. Then come, with own_ false, the neighbours: entities that did not change, but whose tree
// did.
//
// Each operator() handles one kind of change. If the entity still exists, it encodes the entity as
// it is after the command, with Present(). Then it calls Tell, TellConsumer or Add, which take the
// encoded entity and reset the arena.
class Teller {
 public:
  Teller(const FeedCommand& command, const Catalog& names, std::vector<ToldChange>* to)
      : command_(command), scope_(*command.scope), names_(names), to_(to) {}

  void TellAll() {
    for (const auto& change : *command_.changes) {
      const auto* removed = std::get_if<placement::ProviderRemoved>(&change);
      if (removed != nullptr) removed_.insert(removed->id);
    }
    for (const auto& change : *command_.changes) std::visit(*this, change);
    for (const auto& change : scope_.derived) std::visit(*this, change);
    own_ = false;
    for (const auto& change : scope_.neighbours) std::visit(*this, change);
  }
  // Ids that have no name in `names`. If there are any, the ToldChanges are invalid.
  const std::vector<placement::ClassId>& unknown_classes() const { return unknown_classes_; }
  const std::vector<placement::TraitId>& unknown_traits() const { return unknown_traits_; }

  void operator()(const placement::ProviderPut& put) {
    const placement::ProviderConfig& config = *put.config;
    for (const auto& row : config.inventories) KnowClass(row.resource_class);
    for (const placement::TraitId id : config.traits) {
      if (!names_.traits.Contains(id)) unknown_traits_.push_back(id);
    }
    FillConfig(names_, config, scope_.after.RootOf(config.id), pb::PROVIDER_VIEW_FULL,
               Present()->mutable_provider());
    Tell(pb::ENTITY_KIND_PROVIDER, config.id.ToString(), {config.id}, true);
  }
  void operator()(const placement::ProviderRemoved& removed) {
    const std::string key = removed.id.ToString();
    Tell(pb::ENTITY_KIND_PROVIDER_USAGE, key, {removed.id}, false);
    Tell(pb::ENTITY_KIND_PROVIDER, key, {removed.id}, false);
  }
  void operator()(const placement::ProviderUsed& used) {
    if (removed_.contains(used.id)) return;  // the removal of the provider implies it
    for (const auto& amount : used.used) KnowClass(amount.resource_class);
    FillProviderUsage(names_, used, scope_.after.RootOf(used.id),
                      Present()->mutable_provider_usage());
    Tell(pb::ENTITY_KIND_PROVIDER_USAGE, used.id.ToString(), {used.id}, true);
  }
  void operator()(const placement::ConsumerPut& put) {
    for (const auto& row : put.consumer->allocations) KnowClass(row.resource_class);
    FillHeld(names_, *put.consumer, Present()->mutable_consumer());
    TellConsumer(put.consumer->id, ProvidersOf(*put.consumer), true);
  }
  void operator()(const placement::ConsumerRemoved& removed) {
    TellConsumer(removed.id, {}, false);
  }
  void operator()(const placement::ClassPut& put) {
    FillClass(put.name, Present()->mutable_resource_class());
    Tell(pb::ENTITY_KIND_RESOURCE_CLASS, put.name, {}, true);
  }
  void operator()(const placement::TraitPut& put) {
    FillTrait(put.name, Present()->mutable_trait());
    Tell(pb::ENTITY_KIND_TRAIT, put.name, {}, true);
  }
  void operator()(const placement::ServicePut& put) {
    FillService(*put.service, nullptr, Present()->mutable_service());
    Tell(pb::ENTITY_KIND_SERVICE, put.service->id.ToString(), {}, true);
  }
  void operator()(const placement::NodePut& put) {
    FillNodeRecord(*put.node, Present()->mutable_node());
    Tell(pb::ENTITY_KIND_NODE, put.node->id.ToString(), {}, true);
  }
  // Of what is in no tree. The change has its uuid, or the scope has its key.
  template <typename Removed>
  requires IsOneOf<Removed, placement::NodeRemoved, placement::AggregateRemoved,
                   placement::ServerGroupRemoved, placement::InstanceRemoved,
                   placement::MigrationRemoved, placement::ClassRemoved, placement::TraitRemoved,
                   placement::ServiceRemoved>
  void operator()([[maybe_unused]] const Removed& removed) {
    std::string key;
    if constexpr (IsOneOf<Removed, placement::ClassRemoved, placement::TraitRemoved,
                          placement::ServiceRemoved>) {
      key = NextKey();
    } else {
      key = removed.id.ToString();
    }
    Tell(WireKind(*Removed::kEntity), key, {}, false);
  }
  void operator()(const placement::AggregatePut& put) {
    FillAggregate(*put.aggregate, Present()->mutable_aggregate());
    Tell(pb::ENTITY_KIND_AGGREGATE, put.aggregate->id.ToString(), {}, true);
  }
  void operator()(const placement::ServerGroupPut& put) {
    FillServerGroup(*put.group, Present()->mutable_server_group());
    Tell(pb::ENTITY_KIND_SERVER_GROUP, put.group->id.ToString(), {}, true);
  }
  void operator()(const placement::InstancePut& put) {
    FillInstance(*put.instance, Present()->mutable_instance());
    Tell(pb::ENTITY_KIND_INSTANCE, put.instance->id.ToString(), {}, true);
  }
  void operator()(const placement::MigrationPut& put) {
    FillMigration(*put.migration, Present()->mutable_migration());
    Tell(pb::ENTITY_KIND_MIGRATION, put.migration->id.ToString(), {}, true);
  }
  void operator()(const placement::FormatRaised&) {}  // watchers get no message: no entity changes

 private:
  void KnowClass(placement::ClassId id) {
    if (!names_.classes.Contains(id)) unknown_classes_.push_back(id);
  }

  std::string NextKey() {
    return next_key_ < scope_.removed_keys.size() ? scope_.removed_keys[next_key_++] : "";
  }

  // Fills in who asked for the change, and why. A command that the ledger itself submits has no author.
  void FillAuthor(pb::Change* change) {
    if (command_.actor == placement::kLeaseActor) return;
    change->set_actor(command_.actor);
    change->set_request_id(command_.request_id);
    change->set_reason(command_.reason);
    if (command_.method != nullptr) change->set_method(*command_.method);
  }

  pb::Entity* Present() {
    message_ = google::protobuf::Arena::CreateMessage<pb::Change>(&arena_);
    FillAuthor(message_);
    return message_->mutable_present();
  }

  void TellConsumer(ConsumerId id, const std::vector<ProviderId>& holds, bool is_present) {
    const auto gave_up =
        std::lower_bound(scope_.gave_up.begin(), scope_.gave_up.end(), id,
                         [](const auto& entry, ConsumerId wanted) { return entry.first < wanted; });
    std::vector<ProviderId> held = holds;
    const bool gave = gave_up != scope_.gave_up.end() && gave_up->first == id;
    if (gave) held.insert(held.end(), gave_up->second.begin(), gave_up->second.end());
    Add(pb::ENTITY_KIND_CONSUMER, id.ToString(), held, holds, gave, is_present);
  }

  void Tell(pb::EntityKind kind, const std::string& key, const std::vector<ProviderId>& providers,
            bool is_present) {
    Add(kind, key, providers, is_present ? providers : std::vector<ProviderId>(), !is_present,
        is_present);
  }

  void Add(pb::EntityKind kind, const std::string& key, const std::vector<ProviderId>& before,
           const std::vector<ProviderId>& after, bool moved, bool is_present) {
    BERTH_CHECK(is_present == (message_ != nullptr) && (is_present || after.empty()));
    ToldChange told;
    told.kind = kind;
    told.own = own_;
    told.in_trees = !before.empty() || !after.empty();
    told.moved = moved || scope_.trees_changed;
    told.after = PlacesOf(scope_.after, after);
    if (told.moved) {
      told.before = PlacesOf(scope_.trees_changed ? scope_.before : scope_.after, before);
    }
    if (is_present) told.present = WatchElement(*message_);
    if (told.moved || !is_present) told.removed = WatchElement(*Removed(kind, key));
    to_->push_back(std::move(told));
    message_ = nullptr;
    arena_.Reset();
  }

  const pb::Change* Removed(pb::EntityKind kind, const std::string& key) {
    auto* message = google::protobuf::Arena::CreateMessage<pb::Change>(&arena_);
    FillAuthor(message);
    message->mutable_removed()->set_kind(kind);
    message->mutable_removed()->set_key(key);
    return message;
  }

  const FeedCommand& command_;
  const Scope& scope_;
  const Catalog& names_;
  std::vector<ToldChange>* const to_;
  absl::flat_hash_set<ProviderId> removed_;
  google::protobuf::Arena arena_;
  pb::Change* message_ = nullptr;  // in arena_; Present makes it for the next Add
  size_t next_key_ = 0;
  bool own_ = true;
  std::vector<placement::ClassId> unknown_classes_;
  std::vector<placement::TraitId> unknown_traits_;
};

std::string Fields(const pb::WatchResponse& response) { return response.SerializeAsString(); }

// Gives each of `ids` in `names` the name that this id had. If that name has a newer id in `names`,
// the newer id is removed. Returns false if the name of an id is not known.
//
// Example: CUSTOM_A was class 7, was deleted, and was created again as class 9. A batch of the past
// names class 7. In `names` CUSTOM_A is class 9. The function makes CUSTOM_A class 7 again, as it
// was when the batch was committed. No change of that batch can name class 9.
template <typename IdType>
bool GoBack(const std::vector<IdType>& ids, const absl::flat_hash_map<IdType, std::string>& older,
            placement::NameTable<IdType>* names) {
  for (const IdType id : ids) {
    if (names->Contains(id)) continue;  // the list has this id twice
    const auto name = older.find(id);
    if (name == older.end()) return false;
    if (const std::optional<IdType> newer = names->Find(name->second)) names->Erase(*newer);
    names->Insert(id, name->second);
  }
  return true;
}

// Adds the ToldChanges of `command`. Returns false if a class or a trait has no known name.
bool TellCommand(const FeedCommand& command, const Names& names, std::vector<ToldChange>* to) {
  const size_t before = to->size();
  Teller teller(command, names.newest, to);
  teller.TellAll();
  if (teller.unknown_classes().empty() && teller.unknown_traits().empty()) return true;
  // When the command was decided, each name had only one id. `then` gets these ids.
  Catalog then = names.newest;
  if (!GoBack(teller.unknown_classes(), names.older_classes, &then.classes) ||
      !GoBack(teller.unknown_traits(), names.older_traits, &then.traits)) {
    return false;
  }
  to->resize(before);
  Teller again(command, then, to);
  again.TellAll();
  return again.unknown_classes().empty() && again.unknown_traits().empty();
}

}  // namespace

std::string WatchElement(const pb::Change& change) {
  const size_t size = change.ByteSizeLong();
  std::string bytes(1, kChangesTag);
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.WriteVarint32(static_cast<uint32_t>(size));
    change.SerializeWithCachedSizes(&out);
  }
  return bytes;
}

void FillProviderUsage(const Catalog& names, const placement::ProviderUsed& used, ProviderId root,
                       pb::ProviderUsage* to) {
  to->set_provider_uuid(used.id.ToString());
  to->set_root_uuid(root.ToString());
  to->set_allocation_generation(used.allocation_generation.value);
  for (const placement::ClassAmount& amount : used.used) {
    const std::string* name = ClassName(names, amount.resource_class);
    if (name != nullptr) (*to->mutable_used())[*name] = amount.amount;
  }
}

void FillHeld(const Catalog& names, const placement::Consumer& consumer, pb::Consumer* to) {
  FillConsumer(
      names, nullptr, consumer, [](ProviderId) { return true; }, to);
}

void FillNodeRecord(const placement::NodeRecord& node, pb::Node* to) {
  static const placement::State* const kNoServices = new placement::State();
  FillNode(*kNoServices, node, pb::NODE_VIEW_FULL, to);
}

absl::StatusOr<ToldRevisionPtr> ToldRevision::Of(const placement::FeedBatch& batch,
                                                 const Names& names) {
  auto told = std::make_shared<ToldRevision>();
  told->revision_ = batch.revision;
  pb::WatchResponse fields;
  SetRevision(batch.revision, fields.mutable_revision());
  SetTime(batch.ledger_time, fields.mutable_committed_at());
  told->part_ = Fields(fields);
  fields.set_complete(true);
  told->last_ = Fields(fields);
  for (const FeedCommand& command : batch.commands) {
    if (TellCommand(command, names, &told->changes_)) continue;
    return placement::Refuse(
        absl::StatusCode::kOutOfRange, "REVISION_COMPACTED",
        absl::StrCat("revision ", batch.revision.number,
                     " names a class or trait that has been deleted: begin with a snapshot"));
  }
  told->whole_ = told->Compose(WatchFilter());
  return told;
}

std::vector<WatchMessage> ToldRevision::MessagesFor(const WatchFilter& filter) const {
  return filter.everything() ? whole_ : Compose(filter);
}

std::vector<WatchMessage> ToldRevision::Compose(const WatchFilter& filter) const {
  std::vector<WatchMessage> messages;
  std::string elements;
  for (const ToldChange& change : changes_) {
    const std::string* element = filter.Told(change);
    if (element == nullptr) continue;
    if (!elements.empty() && elements.size() + element->size() > kWatchMessageBytesMax) {
      messages.push_back(std::make_shared<const std::string>(part_ + elements));
      elements.clear();
    }
    elements.append(*element);
  }
  if (elements.empty() && !filter.everything()) return messages;
  messages.push_back(std::make_shared<const std::string>(last_ + elements));
  return messages;
}

WatchMessage BeatMessage(placement::Revision revision) {
  pb::WatchResponse response;
  SetRevision(revision, response.mutable_revision());
  response.set_complete(true);
  return std::make_shared<const std::string>(Fields(response));
}

}  // namespace berth::services
