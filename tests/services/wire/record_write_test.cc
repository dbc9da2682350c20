// What a tracker's write changes of a record, and what a record gives to its instance alone.
#include "services/wire/record_write.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/wire/instance.h"

namespace berth::services {
namespace {

using placement::InstanceRecord;
using placement::MigrationRecord;
using placement::ProviderId;
using placement::Uuid;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kNode[] = "11111111-1111-4111-8111-111111111111";
constexpr char kOther[] = "22222222-2222-4222-8222-222222222222";
constexpr char kInstance[] = "33333333-3333-4333-8333-333333333333";
constexpr char kMigration[] = "44444444-4444-4444-8444-444444444444";

ProviderId Node(const char* uuid) { return *ProviderId::Parse(uuid); }

pb::Instance Recorded() {
  pb::Instance instance;
  instance.set_uuid(kInstance);
  instance.set_name("guest");
  instance.set_project_id("p");
  instance.set_user_id("u");
  instance.set_vm_state("building");
  instance.set_task_state("spawning");
  instance.mutable_flavor()->set_vcpus(2);
  (*instance.mutable_flavor()->mutable_extra_specs())["hw:cpu_policy"] = "dedicated";
  instance.mutable_image()->set_id("image");
  instance.set_group_uuid(kOther);
  instance.set_emulator_threads_policy("isolate");
  return instance;
}

void Pin(int cell, int cpu, google::protobuf::RepeatedPtrField<pb::GuestCell>* cells) {
  pb::GuestCell* const guest = cells->Add();
  guest->set_host_cell(cell);
  (*guest->mutable_pinning())[0] = cpu;
}

placement::WriteRecords Command(const pb::RecordWrite& write) {
  const auto command = WriteRecordsOf(write, {"h1", Uuid::Random()});
  EXPECT_TRUE(command.ok()) << command.status();
  return *command;
}

pb::RecordWrite Claim() {
  pb::RecordWrite write;
  write.set_node_uuid(kNode);
  write.mutable_instance()->set_uuid(kInstance);
  write.mutable_instance()->set_generation(5);
  write.mutable_instance()->set_host("h1");
  write.mutable_instance()->set_node_uuid(kNode);
  write.mutable_instance()->set_claimed_generation(5);
  write.mutable_instance()->set_name("not taken");
  write.mutable_instance()->set_task_state("not taken");
  Pin(0, 4, write.mutable_instance()->mutable_numa_cells());
  write.mutable_instance()->add_pci_devices()->set_address("0000:3b:00.1");
  return write;
}

TEST(RecordWrite, TakesWhatATrackerDecidesAndKeepsTheRest) {
  const placement::WriteRecords command = Command(Claim());
  EXPECT_EQ(command.node, Node(kNode));
  EXPECT_EQ(command.expected_generation.value, 5);
  pb::Instance after;
  FillInstance(*command.edit->Apply(*InstanceOf("instance", Recorded())), &after);
  pb::Instance expected = Recorded();
  expected.set_host("h1");
  expected.set_node_uuid(kNode);
  expected.set_claimed_generation(5);
  Pin(0, 4, expected.mutable_numa_cells());
  expected.set_emulator_threads_policy("");
  expected.add_pci_devices()->set_address("0000:3b:00.1");
  after.clear_generation();
  after.clear_created_at();
  after.clear_updated_at();
  EXPECT_EQ(after.DebugString(), [&] {
    pb::Instance filled;
    FillInstance(*InstanceOf("instance", expected), &filled);
    filled.clear_generation();
    filled.clear_created_at();
    filled.clear_updated_at();
    return filled.DebugString();
  }());
}

TEST(RecordWrite, TakesStateAndTaskTogetherIfThereIsAState) {
  pb::RecordWrite repair = Claim();
  repair.mutable_instance()->set_vm_state("error");
  repair.mutable_instance()->clear_task_state();
  const InstanceRecord after = *Command(repair).edit->Apply(*InstanceOf("instance", Recorded()));
  EXPECT_EQ(after.vm_state, "error");  // T-33
  EXPECT_EQ(after.task_state, "");     // T-33
}

TEST(RecordWrite, NamesWhatARecordGivesToItsInstanceAlone) {
  const auto edit = Command(Claim()).edit;
  InstanceRecord record = *edit->Apply(*InstanceOf("instance", Recorded()));
  EXPECT_THAT(edit->Held(record, {}, "h1", Node(kNode)),
              ElementsAre("CPU 4 of cell 0", "PCI device 0000:3b:00.1"));
  EXPECT_THAT(edit->Held(record, {}, "h1", Node(kOther)), IsEmpty());
  EXPECT_THAT(edit->Held(record, {}, "h2", Node(kNode)), IsEmpty());
}

TEST(RecordWrite, NamesBothSidesOfAMove) {
  pb::RecordWrite write = Claim();
  pb::MigrationContext* const context = write.mutable_instance()->mutable_migration_context();
  context->set_migration_uuid(kMigration);
  Pin(0, 4, context->mutable_old_numa_cells());
  Pin(1, 6, context->mutable_new_numa_cells());
  const auto edit = Command(write).edit;
  const InstanceRecord record = *edit->Apply(*InstanceOf("instance", Recorded()));
  MigrationRecord migration;
  migration.id = *placement::MigrationId::Parse(kMigration);
  migration.source_host = "h1";
  migration.source_node = Node(kNode);
  migration.destination_host = "h2";
  migration.destination_node = Node(kOther);
  const auto move = std::make_shared<const MigrationRecord>(migration);
  EXPECT_THAT(edit->Held(record, {move}, "h1", Node(kNode)),
              ElementsAre("CPU 4 of cell 0", "PCI device 0000:3b:00.1"));
  EXPECT_THAT(edit->Held(record, {move}, "h2", Node(kOther)), ElementsAre("CPU 6 of cell 1"));
}

// The tracker names the devices by their addresses, and does not know all of a flavor.
TEST(RecordWrite, ARevertedInstanceHasItsFlavorRequestsAndDevicesOfBefore) {
  pb::Instance recorded = Recorded();
  pb::MigrationContext* const context = recorded.mutable_migration_context();
  context->set_migration_uuid(kMigration);
  context->mutable_old_flavor()->set_id("old");
  context->mutable_old_flavor()->set_vcpus(7);
  context->add_old_pci_requests()->set_request_id("request");
  context->add_old_pci_devices()->set_address("0000:3b:00.1");
  context->mutable_old_pci_devices(0)->set_vendor_id("8086");
  pb::RecordWrite write = Claim();
  write.mutable_migration()->set_uuid(kMigration);
  for (const pb::MoveEnd end : {pb::MOVE_END_FAILED, pb::MOVE_END_REVERTED}) {
    write.set_end(end);
    const placement::WriteRecords command = Command(write);
    EXPECT_EQ(command.migration->end, static_cast<placement::MoveEnd>(end));
    pb::Instance after;
    FillInstance(*command.edit->Apply(*InstanceOf("instance", recorded)), &after);
    const bool back = end == pb::MOVE_END_REVERTED;
    EXPECT_EQ(after.flavor().vcpus(), back ? 7 : 2);  // T-174
    EXPECT_EQ(after.pci_requests_size(), back ? 1 : 0);
    EXPECT_EQ(after.pci_devices(0).vendor_id(), back ? "8086" : "");
    EXPECT_FALSE(after.has_migration_context());
  }
}

TEST(RecordWrite, AWithdrawalHasNoEdit) {
  pb::RecordWrite write = Claim();
  write.set_withdraw(true);
  EXPECT_EQ(Command(write).edit, nullptr);
}

TEST(RecordWrite, RefusesMisspelledUuids) {
  pb::RecordWrite write = Claim();
  write.set_node_uuid("n");
  EXPECT_FALSE(WriteRecordsOf(write, {}).ok());
  write = Claim();
  write.mutable_instance()->set_node_uuid("n");
  EXPECT_FALSE(WriteRecordsOf(write, {}).ok());
  write = Claim();
  write.mutable_migration()->set_uuid("m");
  EXPECT_FALSE(WriteRecordsOf(write, {}).ok());
  write = Claim();
  write.mutable_instance()->add_pci_devices()->set_address(std::string(200000, 'x'));
  EXPECT_FALSE(WriteRecordsOf(write, {}).ok()) << "a record has at most 64 KiB";
}

}  // namespace
}  // namespace berth::services
