#include <functional>
#include <string>

#include "gtest/gtest.h"
#include "placement/values/faults.h"
#include "tests/placement/rules/record_world.h"

namespace berth::placement {
namespace {

TEST(RulesInstance, IsMadeAndReplaced) {
  RecordWorld world;
  InstanceRecord record = RecordWorld::InstanceOn(1, "h1");
  record.generation = Generation{77};                    // ignored
  record.created_at = absl::FromUnixSeconds(1'000'000);  // ignored
  record.deleted_at = record.created_at;                 // ignored
  ASSERT_EQ(world.Set(record), "OK");
  EXPECT_TRUE(world.last.result.created);
  const InstanceRecord made = world.instance(1);
  EXPECT_NE(made.generation, Generation{77});
  EXPECT_EQ(made.created_at, made.updated_at);
  EXPECT_NE(made.created_at, record.created_at);
  EXPECT_EQ(made.deleted_at, std::nullopt);
  EXPECT_EQ(made.flavor, record.flavor);
  EXPECT_EQ(made.body, "bytes");

  record.host = "h2";
  record.body = "others";
  ASSERT_EQ(world.Set(record, made.generation), "OK");
  EXPECT_FALSE(world.last.result.created);
  const InstanceRecord replaced = world.instance(1);
  EXPECT_EQ(replaced.generation, made.generation.Next());
  EXPECT_EQ(replaced.created_at, made.created_at);
  EXPECT_GT(replaced.updated_at, made.updated_at);
  EXPECT_EQ(replaced.host, "h2");
  EXPECT_EQ(replaced.body, "others");
}

TEST(RulesInstance, TheGenerationIsCompared) {
  RecordWorld world;
  const InstanceRecord record = RecordWorld::InstanceOn(1, "h1");
  EXPECT_EQ(world.Set(record, Generation{1}), "RECORD_CONFLICT");  // there is none
  ASSERT_EQ(world.Set(record), "OK");
  const Generation first = world.instance(1).generation;
  EXPECT_EQ(world.Set(record), "RECORD_CONFLICT");  // there is one
  EXPECT_EQ(world.Set(record, first.Next()), "RECORD_CONFLICT");
  ASSERT_EQ(world.Set(record, first), "OK");
  EXPECT_EQ(world.Set(record, first), "RECORD_CONFLICT");  // each write changes it
  EXPECT_EQ(world.Answer(DeleteInstance{record.id, first}), "RECORD_CONFLICT");
  EXPECT_EQ(world.Answer(DeleteInstance{record.id, first.Next()}), "OK");
  ASSERT_EQ(world.Set(record), "OK");
  EXPECT_GT(world.instance(1).generation, first.Next());  // never repeats for a uuid
}

TEST(RulesInstance, ADeletedStateDatesTheRecord) {
  RecordWorld world;
  InstanceRecord record = RecordWorld::InstanceOn(1, "h1");
  ASSERT_EQ(world.Set(record), "OK");
  record.vm_state = "deleted";
  ASSERT_EQ(world.Set(record, world.instance(1).generation), "OK");
  const std::optional<absl::Time> deleted_at = world.instance(1).deleted_at;
  EXPECT_EQ(deleted_at, world.instance(1).updated_at);
  record.task_state = "cleaning";
  ASSERT_EQ(world.Set(record, world.instance(1).generation), "OK");
  EXPECT_EQ(world.instance(1).deleted_at, deleted_at);  // when it became so
  record.vm_state = "active";
  ASSERT_EQ(world.Set(record, world.instance(1).generation), "OK");
  EXPECT_EQ(world.instance(1).deleted_at, std::nullopt);
}

struct BadInstance {
  const char* field;
  std::function<void(InstanceRecord&)> spoil;
};

TEST(RulesInstance, NamesTheFieldAtFault) {
  const std::string long_text(256, 'x');
  const BadInstance bad[] = {
      {"instance.name", [&](InstanceRecord& r) { r.name = long_text; }},
      {"instance.project_id", [](InstanceRecord& r) { r.project.clear(); }},
      {"instance.user_id", [](InstanceRecord& r) { r.user.clear(); }},
      {"instance.host", [](InstanceRecord& r) { r.host = "a\nb"; }},
      {"instance.node_uuid",
       [](InstanceRecord& r) {
         r.host.clear();
         r.node = ProviderId{Uuid{1, 1}};
       }},
      {"instance.vm_state", [](InstanceRecord& r) { r.vm_state.clear(); }},
      {"instance.task_state", [&](InstanceRecord& r) { r.task_state = long_text; }},
      {"instance.flavor.vcpus", [](InstanceRecord& r) { r.flavor.vcpus = -1; }},
      {"instance.flavor.memory_mib",
       [](InstanceRecord& r) { r.flavor.memory_mib = kAmountMax + 1; }},
      {"instance.flavor.root_disk_gib", [](InstanceRecord& r) { r.flavor.root_disk_gib = -1; }},
      {"instance.flavor.ephemeral_disk_gib",
       [](InstanceRecord& r) { r.flavor.ephemeral_disk_gib = -1; }},
      {"instance.flavor.swap_mib", [](InstanceRecord& r) { r.flavor.swap_mib = -1; }},
      {"instance", [](InstanceRecord& r) { r.body = std::string(kRecordBytesMax + 1, 'x'); }},
  };
  RecordWorld world;
  for (const BadInstance& one : bad) {
    InstanceRecord record = RecordWorld::InstanceOn(1, "h1");
    one.spoil(record);
    // Also if the generation is wrong: the form is checked first.
    EXPECT_EQ(world.Set(record, Generation{1}), std::string("INVALID_FIELD ") + one.field);
  }
  const InstanceRecord good = RecordWorld::InstanceOn(1, "h1");
  EXPECT_EQ(world.Answer(SetInstance{good, Generation{1}, {}, long_text}), "INVALID_FIELD reason");
  EXPECT_EQ(world.Answer(DeleteInstance{good.id, {}, long_text}), "INVALID_FIELD reason");
}

TEST(RulesInstance, DeletingTakesItsMigrationsAlong) {
  RecordWorld world;
  EXPECT_EQ(world.Answer(DeleteInstance{RecordWorld::Instance(1), {}}),
            "INSTANCE_NOT_FOUND instance_uuid");
  ASSERT_EQ(world.Set(RecordWorld::InstanceOn(1, "h1")), "OK");
  ASSERT_EQ(world.Set(RecordWorld::InstanceOn(2, "h1")), "OK");
  for (const uint64_t number : {1, 2, 3}) {
    ASSERT_EQ(world.Answer(CreateMigration{
                  RecordWorld::MigrationOf(number, number == 2 ? 2 : 1, "h1", "h2")}),
              "OK");
  }
  ASSERT_EQ(world.Answer(DeleteInstance{RecordWorld::Instance(1), {}}), "OK");
  const Records& records = world.world.state().records();
  EXPECT_EQ(records.FindInstance(RecordWorld::Instance(1)), nullptr);
  EXPECT_EQ(records.migrations().size(), 1);
  EXPECT_NE(records.FindMigration(RecordWorld::Migration(2)), nullptr);
}

}  // namespace
}  // namespace berth::placement
