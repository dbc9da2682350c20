// What a tracker's write changes of a record, and what a record gives to its instance alone.
#include "services/wire/record_write.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "placement/ground/boot_clock.h"
#include "services/wire/instance.h"
#include "tests/services/wire/record_write_samples.h"

namespace berth::services {
namespace {

using placement::InstanceRecord;
using ::testing::ElementsAre;

TEST(RecordWrite, TakesWhatATrackerDecidesAndKeepsTheRest) {
  const placement::WriteRecords command = Command(ClaimWrite());
  EXPECT_EQ(command.node, Node(kNode));
  EXPECT_EQ(command.expected_generation.value, 5);
  pb::Instance after;
  FillInstance(After(command, *InstanceOf("instance", Recorded())), &after);
  pb::Instance expected = Recorded();
  expected.set_host("h1");
  expected.set_node_uuid(kNode);
  expected.set_claimed_generation(5);
  expected.set_launched_on("h1");  // T-155
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

TEST(RecordWrite, KeepsWhichHostWasTheLastToClaimABuild) {
  pb::RecordWrite abort = ClaimWrite();
  const InstanceRecord claimed = After(Command(abort), *InstanceOf("instance", Recorded()));
  abort.mutable_instance()->clear_host();
  abort.mutable_instance()->clear_node_uuid();
  abort.mutable_instance()->clear_launched_on();
  pb::Instance after;
  FillInstance(After(Command(abort), claimed), &after);
  EXPECT_EQ(after.host(), "");
  EXPECT_EQ(after.launched_on(), "h1");  // T-165
}

TEST(RecordWrite, TakesStateAndTaskTogetherIfThereIsAState) {
  pb::RecordWrite repair = ClaimWrite();
  repair.mutable_instance()->set_vm_state("error");
  repair.mutable_instance()->clear_task_state();
  const InstanceRecord after = After(Command(repair), *InstanceOf("instance", Recorded()));
  EXPECT_EQ(after.vm_state, "error");  // T-33
  EXPECT_EQ(after.task_state, "");     // T-33
}

TEST(RecordWrite, NamesWhatARecordGivesToItsInstanceAlone) {
  pb::RecordWrite write = ClaimWrite();
  write.mutable_instance()->mutable_numa_cells(0)->add_reserved_cpus(5);
  pb::GuestCell* const unplaced = write.mutable_instance()->add_numa_cells();
  (*unplaced->mutable_pinning())[1] = 7;
  pb::NamedUnit* const unit = write.mutable_instance()->add_named_units();
  unit->set_provider_uuid(kOther);
  unit->set_resource_class("CUSTOM_PMEM");
  unit->set_name("ns_0");
  const placement::WriteRecords command = Command(write);
  const InstanceRecord record = After(command, *InstanceOf("instance", Recorded()));
  const placement::HeldParts& held = HeldOf(record);
  EXPECT_THAT(held.own.List(), ElementsAre("c0/4", "c0/5", "d0000:3b:00.1",
                                           absl::StrCat("u", kOther, "/CUSTOM_PMEM/ns_0")));
  EXPECT_EQ(held.context, nullptr);
}

TEST(RecordWrite, NamesBothSidesOfAMove) {
  pb::RecordWrite write = ClaimWrite();
  pb::MigrationContext* const context = write.mutable_instance()->mutable_migration_context();
  context->set_migration_uuid(kMigration);
  context->mutable_new_flavor()->set_id("large");
  Pin(0, 4, context->mutable_old_numa_cells());
  Pin(1, 6, context->mutable_new_numa_cells());
  pb::Instance recorded = Recorded();
  recorded.mutable_flavor()->set_id("small");
  const placement::WriteRecords command = Command(write);
  const InstanceRecord record = After(command, *InstanceOf("instance", recorded));
  const placement::HeldParts& held = HeldOf(record);
  EXPECT_EQ(record.flavor_id, "small");
  EXPECT_THAT(held.own.List(), ElementsAre("c0/4", "d0000:3b:00.1"));
  ASSERT_NE(held.context, nullptr);
  EXPECT_EQ(held.context->migration, placement::MigrationId::Parse(kMigration));
  EXPECT_FALSE(held.context->has_old_flavor);
  EXPECT_TRUE(held.context->has_new_flavor);
  EXPECT_THAT(held.context->before.List(), ElementsAre("c0/4"));
  EXPECT_THAT(held.context->after.List(), ElementsAre("c1/6"));
}

// As in the tracker: the nil uuid names no migration.
TEST(RecordWrite, AContextMayNameNoMigration) {
  pb::Instance recorded = Recorded();
  for (const std::string& uuid : {std::string(), placement::Uuid().ToString()}) {
    recorded.mutable_migration_context()->set_migration_uuid(uuid);
    const InstanceRecord record = *InstanceOf("instance", recorded);
    const placement::HeldParts& held = HeldOf(record);
    ASSERT_NE(held.context, nullptr);
    EXPECT_EQ(held.context->migration, std::nullopt) << uuid;
  }
}

// The record may still have the devices that the instance had before it was shelved.
TEST(RecordWrite, ADeviceIsForTheRequestThatTheTrackerNames) {
  pb::Instance recorded = Recorded();
  pb::PciDevice* const before = recorded.add_pci_devices();
  before->set_address("0000:3b:00.1");
  before->set_vendor_id("8086");
  before->set_request_id("before");
  pb::RecordWrite write = ClaimWrite();
  for (const std::string& request_id : {std::string("now"), std::string()}) {
    write.mutable_instance()->mutable_pci_devices(0)->set_request_id(request_id);
    pb::Instance after;
    FillInstance(After(Command(write), *InstanceOf("instance", recorded)), &after);
    ASSERT_EQ(after.pci_devices_size(), 1);
    EXPECT_EQ(after.pci_devices(0).vendor_id(), "8086");
    EXPECT_EQ(after.pci_devices(0).request_id(), request_id);
  }
}

// A peer may name one device as often as a message has room for it.
TEST(RecordWrite, WhatIsKnownOfADeviceIsCopiedOnce) {
  constexpr int kDevices = 20'000;
  pb::Instance recorded = Recorded();
  pb::RecordWrite write = ClaimWrite();
  write.mutable_instance()->clear_pci_devices();
  for (int i = 0; i < kDevices; ++i) {
    recorded.add_pci_devices();
    write.mutable_instance()->add_pci_devices();
  }
  recorded.mutable_pci_devices(kDevices - 1)->set_vendor_id("8086");
  const placement::WriteRecords command = Command(write);
  const placement::BootTime begun = placement::BootNow();
  pb::Instance after;
  FillInstance(After(command, *InstanceOf("instance", recorded)), &after);
  EXPECT_LT(placement::BootNow() - begun, absl::Seconds(1));
  ASSERT_EQ(after.pci_devices_size(), kDevices);
  EXPECT_EQ(after.pci_devices(0).vendor_id(), "8086");
  EXPECT_EQ(after.pci_devices(1).vendor_id(), "");
}

// The tracker names the devices by their addresses, and does not know all of a flavor.
TEST(RecordWrite, ARevertedInstanceHasItsFlavorRequestsAndDevicesOfBefore) {
  pb::Instance recorded = Recorded();
  pb::MigrationContext* const context = recorded.mutable_migration_context();
  context->set_migration_uuid(kMigration);
  context->mutable_old_flavor()->set_id("old");
  context->mutable_old_flavor()->set_vcpus(7);
  context->add_old_pci_requests()->set_request_id("request");
  context->mutable_old_pci_requests(0)->set_count(1);
  context->add_old_pci_devices()->set_address("0000:3b:00.1");
  context->mutable_old_pci_devices(0)->set_vendor_id("8086");
  pb::RecordWrite write = ClaimWrite();
  write.mutable_migration()->set_uuid(kMigration);
  for (const pb::MoveEnd end : {pb::MOVE_END_FAILED, pb::MOVE_END_REVERTED}) {
    write.set_end(end);
    const placement::WriteRecords command = Command(write);
    EXPECT_EQ(command.migration->end, static_cast<placement::MoveEnd>(end));
    pb::Instance after;
    FillInstance(After(command, *InstanceOf("instance", recorded)), &after);
    const bool back = end == pb::MOVE_END_REVERTED;
    EXPECT_EQ(after.flavor().vcpus(), back ? 7 : 2);  // T-174
    EXPECT_EQ(after.pci_requests_size(), back ? 1 : 0);
    EXPECT_EQ(after.pci_devices(0).vendor_id(), back ? "8086" : "");
    EXPECT_FALSE(after.has_migration_context());
  }
}

}  // namespace
}  // namespace berth::services
