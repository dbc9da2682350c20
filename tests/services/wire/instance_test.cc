// The records of instances and migrations, from messages to values and back.
#include "services/wire/instance.h"

#include "absl/strings/ascii.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "tests/placement/records/filled_message.h"

namespace berth::services {
namespace {

const char* const kInstanceUuid = kFilledUuid;

TEST(InstanceWire, EveryFieldOfAnInstanceIsKept) {
  pb::Instance said;
  FillAll(&said);
  const auto record = InstanceOf("instance", said);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->generation, placement::Generation());  // the rule sets it, and the times
  pb::Instance told;
  FillInstance(*record, &told);
  said.set_generation(0);
  for (pb::Instance* one : {&said, &told}) {
    one->clear_created_at();
    one->clear_updated_at();
    one->clear_deleted_at();
  }
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(said, told))
      << said.DebugString() << told.DebugString();
}

TEST(InstanceWire, EveryFieldOfAMigrationIsKept) {
  pb::Migration said;
  FillAll(&said);
  const auto record = MigrationOf(said);
  ASSERT_TRUE(record.ok()) << record.status();
  pb::Migration told;
  FillMigration(*record, &told);
  said.set_generation(0);
  for (pb::Migration* one : {&said, &told}) {
    one->clear_created_at();
    one->clear_updated_at();
  }
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(said, told))
      << said.DebugString() << told.DebugString();
}

std::string FieldAtFault(const absl::Status& status) {
  const auto refusal = placement::RefusalOf(status);
  return refusal && !refusal->items.empty() ? refusal->items[0].at("field") : status.ToString();
}

TEST(InstanceWire, NamesTheFieldAtFault) {
  pb::Instance instance;
  EXPECT_EQ(FieldAtFault(InstanceOf("instance", instance).status()), "instance.uuid");
  instance.set_uuid(kInstanceUuid);
  EXPECT_EQ(FieldAtFault(InstanceOf("instance", instance).status()), "instance.flavor");
  instance.mutable_flavor();
  instance.set_node_uuid("x");
  EXPECT_EQ(FieldAtFault(InstanceOf("instance", instance).status()), "instance.node_uuid");
  pb::Migration migration;
  EXPECT_EQ(FieldAtFault(MigrationOf(migration).status()), "migration.uuid");
  migration.set_uuid(kInstanceUuid);
  EXPECT_EQ(FieldAtFault(MigrationOf(migration).status()), "migration.instance_uuid");
  migration.set_instance_uuid(kInstanceUuid);
  migration.set_source_node_uuid("x");
  EXPECT_EQ(FieldAtFault(MigrationOf(migration).status()), "migration.source_node_uuid");
  migration.set_source_node_uuid("");
  migration.set_destination_node_uuid("x");
  EXPECT_EQ(FieldAtFault(MigrationOf(migration).status()), "migration.destination_node_uuid");
}

TEST(InstanceWire, EveryFieldOfAnEndMoveIsRead) {
  pb::EndMoveRequest request;
  EXPECT_EQ(FieldAtFault(EndMoveCommand(request).status()), "migration_uuid");
  FillAll(&request);
  request.set_end(pb::MOVE_END_CANCELLED);
  const auto body = EndMoveCommand(request);
  ASSERT_TRUE(body.ok()) << body.status();
  const auto& command = std::get<placement::EndMove>(*body);
  EXPECT_EQ(command.migration.ToString(), kInstanceUuid);
  EXPECT_EQ(command.end, placement::MoveEnd::kCancelled);
  EXPECT_EQ(command.expected_generation, placement::Generation{8});
  EXPECT_EQ(command.expected_instance_generation, placement::Generation{8});
  EXPECT_EQ(command.expected_instance_consumer, placement::Generation{8});
  EXPECT_EQ(command.expected_migration_consumer, placement::Generation{8});
  EXPECT_EQ(command.instance->body, InstanceOf("instance", request.instance())->body);
  EXPECT_EQ(command.tracker->host, kInstanceUuid);
  EXPECT_EQ(command.tracker->incarnation.ToString(), kInstanceUuid);
  request.Clear();
  request.set_migration_uuid(kInstanceUuid);
  const auto bare = std::get<placement::EndMove>(*EndMoveCommand(request));
  EXPECT_EQ(bare.instance, nullptr);
  EXPECT_FALSE(bare.expected_generation || bare.expected_instance_generation ||
               bare.expected_instance_consumer || bare.expected_migration_consumer ||
               bare.tracker.has_value());
}

TEST(InstanceWire, ADeletionReleasesOnlyIfItSaysSo) {
  pb::DeleteInstanceRequest request;
  request.set_instance_uuid(kInstanceUuid);
  EXPECT_FALSE(std::get<placement::DeleteInstance>(*DeleteInstanceCommand(request)).release);
  FillAll(&request);
  EXPECT_TRUE(std::get<placement::DeleteInstance>(*DeleteInstanceCommand(request)).release);
}

// The numbers are the same, so a cast converts them.
TEST(InstanceWire, TheEndsOfAMoveHaveTheSameNumbers) {
  for (const placement::MoveEnding& ending : placement::MoveEndings()) {
    const std::string name = pb::MoveEnd_Name(static_cast<pb::MoveEnd>(ending.end));
    EXPECT_EQ(name, absl::StrCat("MOVE_END_", absl::AsciiStrToUpper(ending.status)));
  }
  EXPECT_EQ(static_cast<size_t>(pb::MoveEnd_MAX), placement::MoveEndings().size());
}

TEST(InstanceWire, EachWriteOfATrackerNamesItsProcess) {
  const auto check = [](const auto& command) { EXPECT_EQ(command.tracker->host, kInstanceUuid); };
  pb::SetInstanceRequest set;
  FillAll(&set);
  check(std::get<placement::SetInstance>(*SetInstanceCommand(set)));
  pb::CreateMigrationRequest create;
  FillAll(&create);
  check(std::get<placement::CreateMigration>(*CreateMigrationCommand(create)));
  pb::EndMoveRequest end;
  FillAll(&end);
  check(std::get<placement::EndMove>(*EndMoveCommand(end)));
  pb::UpdateMigrationRequest update;
  FillAll(&update);
  check(std::get<placement::UpdateMigration>(*UpdateMigrationCommand(update)));
  update.mutable_tracker()->set_incarnation("x");
  EXPECT_EQ(FieldAtFault(UpdateMigrationCommand(update).status()), "tracker.incarnation");
}

}  // namespace
}  // namespace berth::services
