// Which records of instances and migrations a tracker is told of, and when they are taken back.
#include "services/report/record_push.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/report/push_slice.h"

namespace berth::services {
namespace {

using placement::InstanceId;
using placement::InstancePut;
using placement::MigrationId;
using placement::MigrationPut;
using placement::ProviderId;
using placement::Uuid;

// Told as "instances i1, migrations m1; removed i2": numbers of ids.
class RecordPushTest : public ::testing::Test {
 protected:
  static ProviderId Node(uint64_t number) { return ProviderId{Uuid{7, number}}; }

  void Put(uint64_t number, const std::string& host, std::optional<ProviderId> node) {
    auto instance = std::make_shared<placement::InstanceRecord>();
    instance->id = InstanceId{Uuid{11, number}};
    instance->generation = placement::Generation{++generation_};
    instance->host = host;
    instance->node = node;
    Apply({InstancePut{std::move(instance)}});
  }
  void Move(uint64_t number, uint64_t instance, const std::string& to, const std::string& status,
            placement::MigrationType type = placement::MigrationType::kLive) {
    auto migration = std::make_shared<placement::MigrationRecord>();
    migration->id = MigrationId{Uuid{12, number}};
    migration->generation = placement::Generation{++generation_};
    migration->instance = InstanceId{Uuid{11, instance}};
    migration->source_host = "h1";
    migration->source_node = Node(1);
    migration->destination_host = to;
    migration->status = status;
    migration->type = type;
    Apply({MigrationPut{std::move(migration)}});
  }
  void Apply(const placement::Changes& changes) {
    state_.Apply(changes);
    for (const auto& change : changes) AddRecord(change, &changed_);
  }

  // What the node is told of the changes since the last call of Forget.
  std::string Told(const std::string& host, uint64_t node) const {
    return TextOf(host, node, changed_);
  }
  std::string ToldAll(const std::string& host, uint64_t node) const {
    PushScope all;
    all.complete = true;
    return TextOf(host, node, all);
  }
  void Forget() { changed_ = PushScope(); }
  std::string Text(const std::string& host, uint64_t node, const PushScope& scope) const {
    return TextOf(host, node, scope);
  }
  const placement::State& State() const { return state_; }

 private:
  static void Add(const std::string& uuid, char kind, std::string* to) {
    absl::StrAppend(to, to->empty() ? "" : " ", std::string(1, kind), Uuid::Parse(uuid)->low);
  }
  std::string TextOf(const std::string& host, uint64_t node, const PushScope& scope) const {
    pb::Push push;
    PushScope rest = scope;
    if (scope.complete) NameAll(state_, host, Node(node), &rest);
    FillSlice(state_, host, Node(node), &rest, &push);
    EXPECT_FALSE(push.more());
    EXPECT_EQ(rest.size(), 0u);
    std::string present, removed;
    for (const auto& instance : push.instances()) Add(instance.uuid(), 'i', &present);
    for (const auto& migration : push.migrations()) Add(migration.uuid(), 'm', &present);
    for (const auto& uuid : push.removed_instance_uuids()) Add(uuid, 'i', &removed);
    for (const auto& uuid : push.removed_migration_uuids()) Add(uuid, 'm', &removed);
    return removed.empty() ? present : absl::StrCat(present, " - ", removed);
  }

  placement::State state_;
  PushScope changed_;
  int64_t generation_ = 0;
};

TEST_F(RecordPushTest, AnInstanceGoesToItsNodeAlone) {
  Put(1, "h1", Node(1));
  Put(2, "h1", std::nullopt);  // on a node that is not known yet
  Put(3, "", std::nullopt);
  EXPECT_EQ(ToldAll("h1", 1), "i1 i2");
  EXPECT_EQ(ToldAll("h1", 2), "i2");
  EXPECT_EQ(ToldAll("h2", 1), "");
  Forget();
  Put(1, "h2", Node(3));
  EXPECT_EQ(Told("h1", 1), " - i1");  // no longer there
  EXPECT_EQ(Told("h2", 3), "i1");
  Forget();
  Apply({placement::InstanceRemoved{InstanceId{Uuid{11, 1}}}});
  EXPECT_EQ(Told("h2", 3), " - i1");
}

TEST_F(RecordPushTest, BothSidesOfAMoveAreToldUntilItIsOver) {
  Put(1, "h1", Node(1));
  Forget();
  Move(1, 1, "h2", "accepted");
  EXPECT_EQ(Told("h1", 1), "i1 m1");
  EXPECT_EQ(Told("h2", 2), "i1 m1");
  EXPECT_EQ(ToldAll("h2", 2), "i1 m1");
  Forget();
  Move(1, 1, "h3", "running");  // another destination
  EXPECT_EQ(Told("h2", 2), " - i1 m1");
  EXPECT_EQ(Told("h3", 3), "i1 m1");
  Forget();
  Move(1, 1, "h3", "error");
  EXPECT_EQ(Told("h3", 3), "i1 m1");  // T-123: it may hold resources
  EXPECT_EQ(ToldAll("h3", 3), "i1 m1");
  Forget();
  Move(1, 1, "h3", "done");
  EXPECT_EQ(Told("h3", 3), " - i1 m1");  // T-124
  EXPECT_EQ(Told("h1", 1), "i1 - m1");
  EXPECT_EQ(ToldAll("h3", 3), "");
  EXPECT_EQ(ToldAll("h1", 1), "i1");
}

TEST_F(RecordPushTest, TheSourceOfAnEvacuationIsToldUntilItHasCleanedUp) {
  constexpr auto kEvacuation = placement::MigrationType::kEvacuation;
  Put(1, "h1", Node(1));
  Move(1, 1, "h2", "pre-migrating", kEvacuation);
  Put(1, "h2", Node(2));
  Forget();
  Move(1, 1, "h2", "done", kEvacuation);
  EXPECT_EQ(Told("h1", 1), "i1 m1");     // T-146
  EXPECT_EQ(ToldAll("h1", 1), "i1 m1");  // T-146
  EXPECT_EQ(Told("h2", 2), "i1 - m1");
  EXPECT_EQ(ToldAll("h2", 2), "i1");
  Forget();
  Move(1, 1, "h2", "completed", kEvacuation);
  EXPECT_EQ(Told("h1", 1), " - i1 m1");
  EXPECT_EQ(ToldAll("h1", 1), "");
}

// The migration was told of before; what it holds is told of when it holds it.
TEST_F(RecordPushTest, AMigrationThatHoldsSomethingIsToldOfAgain) {
  Put(1, "h1", Node(1));
  Move(1, 1, "h2", "queued");
  auto root = std::make_shared<placement::ProviderConfig>();
  root->id = Node(1);
  root->name = "n1";
  root->generation = {1};
  root->inventories = {{placement::ClassId{1}, placement::Inventory{.total = 10}, 10}};
  placement::Consumer consumer;
  consumer.id = placement::ConsumerId{Uuid{12, 1}};
  consumer.generation = {1};
  consumer.owner = std::make_shared<const placement::Owner>(placement::Owner{"p", "u", "TYPE"});
  consumer.allocations = {{Node(1), placement::ClassId{1}, 2}};
  consumer.created_at = consumer.updated_at = absl::UnixEpoch();
  Apply({placement::ClassPut{placement::ClassId{1}, "VCPU"}, placement::ProviderPut{root},
         placement::ConsumerPut{std::make_shared<const placement::Consumer>(consumer)},
         placement::ProviderUsed{Node(1), {2}, {{placement::ClassId{1}, 2}}}});
  PushScope delta;
  delta.consumers.insert(consumer.id);
  EXPECT_EQ(Text("h1", 1, delta), "m1");
}

TEST_F(RecordPushTest, OneRecordThatIsLargerThanASliceHasASliceOfItsOwn) {
  for (const uint64_t number : {1, 2, 3}) {
    auto instance = std::make_shared<placement::InstanceRecord>();
    instance->id = InstanceId{Uuid{11, number}};
    instance->generation = placement::Generation{static_cast<int64_t>(number)};
    instance->host = "h1";
    pb::Instance body;
    body.mutable_fault()->set_message(std::string(number == 2 ? kSliceBytesMax + 1 : 1, 'x'));
    instance->body = body.SerializeAsString();
    Apply({InstancePut{std::move(instance)}});
  }
  PushScope rest;
  rest.complete = true;
  NameAll(State(), "h1", Node(1), &rest);
  std::string told;
  bool more = true;
  for (int slices = 0; more && slices < 5; ++slices) {
    pb::Push push;
    FillSlice(State(), "h1", Node(1), &rest, &push);
    absl::StrAppend(&told, told.empty() ? "" : "; ");
    for (const auto& instance : push.instances()) {
      absl::StrAppend(&told, Uuid::Parse(instance.uuid())->low);
    }
    more = push.more();
  }
  EXPECT_EQ(told, "1; 2; 3");
}

TEST_F(RecordPushTest, ManyNamesMakeTheScopeComplete) {
  PushScope scope;
  scope.service = true;
  for (uint64_t i = 0; i < PushScope::kNamesMax; ++i) {
    AddRecord(placement::InstanceRemoved{InstanceId{Uuid{11, i}}}, &scope);
  }
  scope.Limit();
  EXPECT_FALSE(scope.complete);
  AddRecord(placement::MigrationRemoved{MigrationId{Uuid{12, 1}}}, &scope);
  scope.Limit();
  EXPECT_TRUE(scope.complete);
  EXPECT_TRUE(scope.service);
  EXPECT_EQ(scope.size(), 0u);
}

}  // namespace
}  // namespace berth::services
