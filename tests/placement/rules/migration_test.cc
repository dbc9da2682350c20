#include <functional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/placement/rules/record_world.h"

namespace berth::placement {
namespace {

class RulesMigration : public testing::Test {
 protected:
  RulesMigration() { world_.Set(RecordWorld::InstanceOn(1, "h1")); }

  std::string Create(const MigrationRecord& record) {
    return world_.Answer(CreateMigration{record});
  }
  std::string Update(const std::string& expected, const std::string& status) {
    return world_.Answer(UpdateMigration{RecordWorld::Migration(1), expected, status, {}, {}});
  }
  std::vector<MigrationId> MovesOf(const std::string& host) const {
    std::vector<MigrationId> ids;
    for (const MigrationPtr& one : world_.world.state().records().MovesOf(host)) {
      ids.push_back(one->id);
    }
    return ids;
  }

  RecordWorld world_;
};

TEST_F(RulesMigration, BeginsAsAccepted) {
  ASSERT_EQ(Create(RecordWorld::MigrationOf(1, 1, "h1", "")), "OK");
  EXPECT_EQ(world_.migration(1).status, "accepted");  // T-125
  EXPECT_EQ(world_.migration(1).created_at, world_.migration(1).updated_at);
  EXPECT_EQ(Create(RecordWorld::MigrationOf(1, 1, "h1", "")), "DUPLICATE_MIGRATION migration.uuid");
  EXPECT_EQ(Create(RecordWorld::MigrationOf(2, 9, "h1", "")),
            "INSTANCE_NOT_FOUND migration.instance_uuid");
  EXPECT_EQ(Create(RecordWorld::MigrationOf(1, 9, "h1", "")),
            "INSTANCE_NOT_FOUND migration.instance_uuid");  // in this order
}

// The consumer of a migration has its uuid, and so has the consumer of an instance.
TEST_F(RulesMigration, HasNoUuidOfAnInstance) {
  ASSERT_EQ(world_.Set(RecordWorld::InstanceOn(2, "h1")), "OK");
  MigrationRecord record = RecordWorld::MigrationOf(1, 1, "h1", "");
  record.id = MigrationId{record.instance.uuid};
  ASSERT_EQ(Create(record), "INVALID_FIELD migration.uuid");
  record.id = MigrationId{RecordWorld::Instance(2).uuid};
  ASSERT_EQ(Create(record), "UUID_IN_USE migration.uuid");
  ASSERT_EQ(Create(RecordWorld::MigrationOf(1, 1, "h1", "")), "OK");
  InstanceRecord instance = RecordWorld::InstanceOn(3, "h1");
  instance.id = InstanceId{RecordWorld::Migration(1).uuid};
  EXPECT_EQ(world_.Set(instance, Generation{1}), "RECORD_CONFLICT");  // first, in this order
  EXPECT_EQ(world_.Set(instance), "UUID_IN_USE instance.uuid");
}

TEST_F(RulesMigration, NamesTheFieldAtFault) {
  struct BadMigration {
    const char* field;
    std::function<void(MigrationRecord&)> spoil;
  };
  const BadMigration bad[] = {
      {"migration.uuid", [](MigrationRecord& r) { r.id = MigrationId{r.instance.uuid}; }},
      {"migration.type", [](MigrationRecord& r) { r.type = MigrationType{}; }},
      {"migration.type", [](MigrationRecord& r) { r.type = MigrationType{5}; }},
      {"migration.status", [](MigrationRecord& r) { r.status = std::string(256, 'x'); }},
      {"migration.source_host", [](MigrationRecord& r) { r.source_host.clear(); }},
      {"migration.destination_host", [](MigrationRecord& r) { r.destination_host = "\n"; }},
      {"migration.destination_node_uuid",
       [](MigrationRecord& r) {
         r.destination_node = ProviderId{Uuid{1, 1}};
       }},
      {"migration.old_flavor_id",
       [](MigrationRecord& r) { r.old_flavor_id = std::string(256, 'x'); }},
      {"migration.new_flavor_id", [](MigrationRecord& r) { r.new_flavor_id = "\n"; }},
  };
  for (const BadMigration& one : bad) {
    MigrationRecord record = RecordWorld::MigrationOf(1, 9, "h1", "");
    one.spoil(record);
    EXPECT_EQ(Create(record), std::string("INVALID_FIELD ") + one.field);
  }
  const MigrationRecord good = RecordWorld::MigrationOf(1, 9, "h1", "");
  EXPECT_EQ(world_.Answer(CreateMigration{good, {}, "two\nlines"}), "INVALID_FIELD reason");
}

TEST_F(RulesMigration, ChangesOnlyFromTheExpectedStatus) {
  EXPECT_EQ(Update("accepted", "running"), "MIGRATION_NOT_FOUND migration_uuid");
  ASSERT_EQ(Create(RecordWorld::MigrationOf(1, 1, "h1", "")), "OK");
  const MigrationRecord made = world_.migration(1);
  EXPECT_EQ(Update("", "running"), "INVALID_FIELD expected_status");
  EXPECT_EQ(Update("accepted", "a\nb"), "INVALID_FIELD status");
  EXPECT_EQ(world_.Answer(UpdateMigration{
                RecordWorld::Migration(1), "accepted", "done", {}, {}, {}, std::string(256, 'x')}),
            "INVALID_FIELD reason");
  EXPECT_EQ(Update("running", "done"), "RECORD_CONFLICT");
  ASSERT_EQ(Update("accepted", "running"), "OK");
  EXPECT_EQ(Update("accepted", "running"), "RECORD_CONFLICT");
  EXPECT_EQ(world_.migration(1).status, "running");
  EXPECT_EQ(world_.migration(1).generation, made.generation.Next());
  EXPECT_EQ(world_.migration(1).created_at, made.created_at);
  EXPECT_GT(world_.migration(1).updated_at, made.updated_at);
}

TEST_F(RulesMigration, GetsItsDestinationLater) {
  ASSERT_EQ(Create(RecordWorld::MigrationOf(1, 1, "h1", "")), "OK");
  const std::optional<ProviderId> node = ProviderId{Uuid{7, 7}};
  UpdateMigration update{RecordWorld::Migration(1), "accepted", "", {}, node};
  EXPECT_EQ(world_.Answer(update), "INVALID_FIELD destination_node_uuid");
  update.destination_host = "h2";
  ASSERT_EQ(world_.Answer(update), "OK");
  EXPECT_EQ(world_.migration(1).destination_host, "h2");
  EXPECT_EQ(world_.migration(1).destination_node, node);
  EXPECT_EQ(world_.migration(1).status, "accepted");
  ASSERT_EQ(Update("accepted", "running"), "OK");  // keeps the destination
  EXPECT_EQ(world_.migration(1).destination_host, "h2");
  EXPECT_EQ(world_.migration(1).destination_node, node);
}

// The trackers of both hosts are told of a migration for as long as it may hold resources.
TEST_F(RulesMigration, IsFoundByBothHostsUntilItIsOver) {
  const std::vector<MigrationId> one = {RecordWorld::Migration(1)};
  ASSERT_EQ(Create(RecordWorld::MigrationOf(1, 1, "h1", "h2")), "OK");
  std::string status = "accepted";
  for (const char* next : {"running", "no such word", "error"}) {  // T-125
    EXPECT_EQ(MovesOf("h1"), one) << status;                       // T-123
    EXPECT_EQ(MovesOf("h2"), one) << status;
    ASSERT_EQ(Update(status, next), "OK");
    status = next;
  }
  EXPECT_EQ(MovesOf("h1"), one);  // T-123
  ASSERT_EQ(Update("error", "failed"), "OK");
  EXPECT_TRUE(MovesOf("h1").empty());  // T-124
  EXPECT_TRUE(MovesOf("h2").empty());
  EXPECT_EQ(world_.world.state().records().MigrationsOf(RecordWorld::Instance(1)).size(), 1u);
}

}  // namespace
}  // namespace berth::placement
