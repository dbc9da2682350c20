// Random commands, told to watchers with every kind of filter: what each has put together is, after
// every command, what a snapshot with its filter would hold.
#include <map>
#include <random>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "gtest/gtest.h"
#include "placement/log/feed.h"
#include "services/watch/messages.h"
#include "services/watch/snapshot.h"
#include "tests/worlds/random_commands.h"
#include "tests/worlds/seed.h"

namespace berth::services {
namespace {

using placement::Changes;
using placement::LogCommand;
using placement::Scope;
using placement::ScopeMaker;
using placement::State;

using Key = std::pair<int, std::string>;

std::string Deterministic(const google::protobuf::Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&out);
  out.Trim();
  return bytes;
}

Key KeyOf(const pb::Entity& entity) {
  switch (entity.entity_case()) {
    case pb::Entity::kProvider:
      return {pb::ENTITY_KIND_PROVIDER, entity.provider().uuid()};
    case pb::Entity::kProviderUsage:
      return {pb::ENTITY_KIND_PROVIDER_USAGE, entity.provider_usage().provider_uuid()};
    case pb::Entity::kConsumer:
      return {pb::ENTITY_KIND_CONSUMER, entity.consumer().uuid()};
    case pb::Entity::kResourceClass:
      return {pb::ENTITY_KIND_RESOURCE_CLASS, entity.resource_class().name()};
    case pb::Entity::kTrait:
      return {pb::ENTITY_KIND_TRAIT, entity.trait().name()};
    case pb::Entity::kService:
      return {pb::ENTITY_KIND_SERVICE, entity.service().uuid()};
    case pb::Entity::kNode:
      return {pb::ENTITY_KIND_NODE, entity.node().uuid()};
    case pb::Entity::kAggregate:
      return {pb::ENTITY_KIND_AGGREGATE, entity.aggregate().uuid()};
    case pb::Entity::kServerGroup:
      return {pb::ENTITY_KIND_SERVER_GROUP, entity.server_group().uuid()};
    case pb::Entity::kInstance:
      return {pb::ENTITY_KIND_INSTANCE, entity.instance().uuid()};
    case pb::Entity::kMigration:
      return {pb::ENTITY_KIND_MIGRATION, entity.migration().uuid()};
    case pb::Entity::ENTITY_NOT_SET:
      break;
  }
  return {};
}

// What a watcher puts together from what it is told.
class Mirror {
 public:
  void Apply(const WatchMessage& message) {
    pb::WatchResponse response;
    ASSERT_TRUE(response.ParseFromString(*message));
    for (const pb::Change& change : response.changes()) {
      if (change.has_present()) {
        pb::Entity present = change.present();
        std::string& thing = things_[KeyOf(present)];
        if (present.has_node() && !present.node().has_facts()) {
          pb::Entity before;
          before.ParseFromString(thing);
          if (before.node().has_facts()) {
            *present.mutable_node()->mutable_facts() = before.node().facts();
          }
        }
        thing = Deterministic(present);
      } else {
        things_.erase({change.removed().kind(), change.removed().key()});
      }
    }
    complete_ = response.complete();
  }
  bool complete() const { return complete_; }
  const std::map<Key, std::string>& things() const { return things_; }

 private:
  std::map<Key, std::string> things_;
  bool complete_ = false;
};

std::string Words(const Key& key, const std::string* bytes) {
  pb::Entity entity;
  if (bytes != nullptr) entity.ParseFromString(*bytes);
  return absl::StrCat(pb::EntityKind_Name(static_cast<pb::EntityKind>(key.first)), " ", key.second,
                      bytes == nullptr ? " absent" : " " + entity.ShortDebugString(), "\n");
}

// What `mirror` holds otherwise than `wanted`, in words.
std::string Differences(const Mirror& mirror, const Mirror& wanted) {
  std::string words;
  for (const auto& [key, bytes] : wanted.things()) {
    const auto found = mirror.things().find(key);
    const std::string* held = found == mirror.things().end() ? nullptr : &found->second;
    if (held != nullptr && *held == bytes) continue;
    absl::StrAppend(&words, "holds  ", Words(key, held), "wanted ", Words(key, &bytes));
  }
  for (const auto& [key, bytes] : mirror.things()) {
    if (!wanted.things().contains(key)) absl::StrAppend(&words, "holds  ", Words(key, &bytes));
  }
  return words;
}

Mirror SnapshotOf(const State& state, const WatchFilter& filter) {
  Mirror mirror;
  WatchSnapshot snapshot(std::make_shared<const State>(state), filter);
  while (!snapshot.done()) {
    EXPECT_FALSE(mirror.complete());
    mirror.Apply(snapshot.Next());
  }
  EXPECT_TRUE(mirror.complete());
  return mirror;
}

struct Watching {
  pb::WatchRequest request;
  WatchFilter filter;
  Mirror mirror;
};

// A filter of any kind, on things of `state`.
pb::WatchRequest DrawRequest(const State& state, std::mt19937_64& random) {
  pb::WatchRequest request;
  const auto& kinds = *pb::EntityKind_descriptor();  // its first value is no kind
  for (int i = random() % 3 == 0 ? 2 : 0; i > 0; --i) {
    const auto drawn = static_cast<int>(1 + random() % (kinds.value_count() - 1));
    request.add_kinds(static_cast<pb::EntityKind>(kinds.value(drawn)->number()));
  }
  for (const auto& chunk : state.roots().chunks()) {
    for (int t = 0; t < chunk->trees.size(); ++t) {
      const placement::Tree& tree = *chunk->trees[t];
      const auto& member = tree.config(static_cast<int>(random() % tree.size()));
      if (random() % 6 == 0) request.add_in_trees(member.id.ToString());
      if (random() % 8 != 0) continue;
      for (const auto id : placement::AggregatesOf(tree)) {
        request.add_aggregate_uuids(id.ToString());
      }
    }
  }
  return request;
}

// The commands know services by host and binary; here each has a uuid, too.
Changes WithServiceIds(Changes changes) {
  for (placement::Change& change : changes) {
    auto* put = std::get_if<placement::ServicePut>(&change);
    if (put == nullptr) continue;
    auto service = std::make_shared<placement::ServiceRecord>(*put->service);
    service->id = {7, std::hash<std::string>()(service->host + "/" + service->binary)};
    put->service = std::move(service);
  }
  return changes;
}

// The batch as another process reads it from the log.
placement::FeedBatchPtr ThroughTheLog(const State& after, std::vector<LogCommand> log) {
  const auto decoded = placement::DecodeBatch(placement::EncodeBatch(log));
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  return placement::FeedBatchOf(after.position(), *decoded);
}

TEST(WatchTold, EveryMirrorEqualsASnapshot) {
  const uint64_t seed = placement::Seed();
  std::mt19937_64 random(seed);
  placement::RandomCommands commands(seed, 30, 40);
  State state;
  NameBook names;
  std::vector<Watching> watching;
  for (int round = 0; round < (kSanitized ? 300 : 600); ++round) {
    if (round % 20 == 10) {
      Watching next;
      if (round % 100 != 10) next.request = DrawRequest(state, random);
      const auto filter = WatchFilter::Of(next.request, state);
      ASSERT_TRUE(filter.ok()) << filter.status();
      next.filter = *filter;
      next.mirror = SnapshotOf(state, next.filter);
      if (watching.size() == 12) watching.erase(watching.begin());
      watching.push_back(std::move(next));
    }
    std::vector<LogCommand> log;
    for (uint64_t i = random() % 3; i < 3; ++i) {
      const auto changes = std::make_shared<const Changes>(WithServiceIds(commands.Next()));
      ScopeMaker maker(state, *changes);
      state.Apply(*changes);
      auto scope = std::make_shared<const Scope>(std::move(maker).Finish(state));
      log.push_back({"somebody", "id", changes, "", scope});
    }
    placement::Position position = state.position();
    position.revision = {1, position.revision.number + 1};
    state.set_position(position);
    const auto batch = ThroughTheLog(state, log);
    names.Learn(state.catalog());
    for (const auto& command : batch->commands) names.Learn(*command.changes);
    const auto told = ToldRevision::Of(*batch, *names.names());
    ASSERT_TRUE(told.ok()) << told.status();
    for (Watching& one : watching) {
      std::string heard;
      for (const WatchMessage& message : (*told)->MessagesFor(one.filter)) {
        one.mirror.Apply(message);
        pb::WatchResponse response;
        response.ParseFromString(*message);
        for (const pb::Change& change : response.changes()) {
          absl::StrAppend(&heard, "heard  ", change.ShortDebugString(), "\n");
        }
      }
      ASSERT_EQ(Differences(one.mirror, SnapshotOf(state, one.filter)), "")
          << "round " << round << ", " << one.request.ShortDebugString() << "\n"
          << heard;
      EXPECT_TRUE(one.mirror.complete());
    }
  }
}

// A name that was deleted and made again has two ids, and a watcher from before is told of both.
TEST(WatchTold, ANameThatCameAgainIsToldOfEitherTime) {
  constexpr placement::ClassId kOld{1}, kNew{9};
  NameBook names;
  names.Learn(Changes{placement::ClassPut{kNew, "CUSTOM_X"}});
  names.Learn(Changes{placement::ClassPut{kOld, "CUSTOM_X"}});
  for (const placement::ClassId id : {kOld, kNew}) {
    placement::Position position;
    position.revision = {1, 5};
    const Changes changes = {placement::ProviderUsed{placement::ProviderId{}, {}, {{id, 3}}}};
    const auto batch = placement::FeedBatchOf(
        position, {{"", "", std::make_shared<const Changes>(changes), "", nullptr}});
    const auto told = ToldRevision::Of(*batch, *names.names());
    ASSERT_TRUE(told.ok()) << told.status();
    pb::WatchResponse response;
    ASSERT_TRUE(response.ParseFromString(*(*told)->MessagesFor(WatchFilter())[0]));
    EXPECT_EQ(response.changes(0).present().provider_usage().used().at("CUSTOM_X"), 3);
  }
}

// Which call asked for a change is told, also by a process that read it in the log. A row of a
// release that did not record it tells no call.
TEST(WatchTold, TheMethodOfEachCommandIsTold) {
  const auto claim = std::make_shared<const std::string>("/berth.Allocations/Set");
  const auto release = std::make_shared<const std::string>("/berth.Consumers/Release");
  State state;
  std::vector<LogCommand> log;
  std::vector<std::string> wanted;
  for (const auto& method : {claim, release, claim, std::shared_ptr<const std::string>()}) {
    const Changes changes = {
        placement::ConsumerRemoved{placement::ConsumerId{placement::Uuid{1, log.size()}}}};
    log.push_back({"somebody", "", std::make_shared<const Changes>(changes), "", nullptr, method});
    wanted.push_back(method == nullptr ? "" : *method);
  }
  for (const auto& batch :
       {placement::FeedBatchOf(state.position(), log), ThroughTheLog(state, log)}) {
    const auto told = ToldRevision::Of(*batch, Names());
    ASSERT_TRUE(told.ok()) << told.status();
    pb::WatchResponse response;
    ASSERT_TRUE(response.ParseFromString(*(*told)->MessagesFor(WatchFilter())[0]));
    std::vector<std::string> methods;
    for (const pb::Change& change : response.changes()) methods.push_back(change.method());
    EXPECT_EQ(methods, wanted);
  }
}

TEST(WatchTold, WhoGoesOnNamesRoots) {
  const placement::ProviderId root{placement::Uuid{1, 1}}, child{placement::Uuid{1, 2}};
  State state;
  Changes changes;
  for (const placement::ProviderId id : {root, child}) {
    auto config = std::make_shared<placement::ProviderConfig>();
    config->id = id;
    config->name = id.ToString();
    if (id == child) config->parent = root;
    changes.push_back(placement::ProviderPut{std::move(config)});
  }
  state.Apply(changes);
  pb::WatchRequest request;
  request.add_in_trees(child.ToString());
  EXPECT_EQ(WatchFilter::Of(request, state)->roots(), std::vector{root});
  request.mutable_after_revision();
  EXPECT_EQ(WatchFilter::Of(request, state).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(WatchFilter::Of(request, State()).ok());  // malformed it is not
  request.set_in_trees(0, root.ToString());
  EXPECT_EQ(WatchFilter::Of(request, state)->roots(), std::vector{root});
}

TEST(WatchTold, ForeignFiltersAreRefused) {
  const State state;
  pb::WatchRequest request;
  request.add_in_trees("no uuid");
  EXPECT_EQ(WatchFilter::Of(request, state).status().code(), absl::StatusCode::kInvalidArgument);
  request.clear_in_trees();
  request.add_aggregate_uuids("no uuid");
  EXPECT_EQ(WatchFilter::Of(request, state).status().code(), absl::StatusCode::kInvalidArgument);
  request.clear_aggregate_uuids();
  for (int i = 0; i <= 1000; ++i) {
    EXPECT_TRUE(WatchFilter::Of(request, state).ok());
    request.add_in_trees(placement::Uuid::Random().ToString());
  }
  EXPECT_EQ(WatchFilter::Of(request, state).status().code(), absl::StatusCode::kInvalidArgument);
  request.mutable_in_trees()->Swap(request.mutable_aggregate_uuids());
  EXPECT_EQ(WatchFilter::Of(request, state).status().code(), absl::StatusCode::kInvalidArgument);
  request.clear_aggregate_uuids();
  request.add_kinds(pb::ENTITY_KIND_UNSPECIFIED);
  EXPECT_EQ(WatchFilter::Of(request, state).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace berth::services
