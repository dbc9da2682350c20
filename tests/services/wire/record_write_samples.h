// The records and writes that the tests of RecordWrite begin with.
#ifndef BERTH_TESTS_SERVICES_WIRE_RECORD_WRITE_SAMPLES_H_
#define BERTH_TESTS_SERVICES_WIRE_RECORD_WRITE_SAMPLES_H_

#include "gtest/gtest.h"
#include "placement/records/tracker_edit.h"
#include "services/wire/record_write.h"

namespace berth::services {

inline constexpr char kNode[] = "11111111-1111-4111-8111-111111111111";
inline constexpr char kOther[] = "22222222-2222-4222-8222-222222222222";
inline constexpr char kInstance[] = "33333333-3333-4333-8333-333333333333";
inline constexpr char kMigration[] = "44444444-4444-4444-8444-444444444444";

inline placement::ProviderId Node(const char* uuid) { return *placement::ProviderId::Parse(uuid); }

inline pb::Instance Recorded() {
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

inline void Pin(int cell, int cpu, google::protobuf::RepeatedPtrField<pb::GuestCell>* cells) {
  pb::GuestCell* const guest = cells->Add();
  guest->set_host_cell(cell);
  (*guest->mutable_pinning())[0] = cpu;
}

inline placement::WriteRecords Command(const pb::RecordWrite& write) {
  const auto command = WriteRecordsOf(write, {"h1", placement::Uuid::Random()});
  EXPECT_TRUE(command.ok()) << command.status();
  return *command;
}

// The record after the write that the command asks for.
inline placement::InstanceRecord After(const placement::WriteRecords& command,
                                       const placement::InstanceRecord& before) {
  const bool reverts = command.migration && command.migration->end == placement::MoveEnd::kReverted;
  return placement::TrackerEdit(before, *command.written, reverts);
}

inline pb::RecordWrite ClaimWrite() {
  pb::RecordWrite write;
  write.set_node_uuid(kNode);
  write.mutable_instance()->set_uuid(kInstance);
  write.mutable_instance()->set_generation(5);
  write.mutable_instance()->set_host("h1");
  write.mutable_instance()->set_node_uuid(kNode);
  write.mutable_instance()->set_claimed_generation(5);
  write.mutable_instance()->set_launched_on("h1");
  write.mutable_instance()->set_name("not taken");
  write.mutable_instance()->set_task_state("not taken");
  Pin(0, 4, write.mutable_instance()->mutable_numa_cells());
  write.mutable_instance()->add_pci_devices()->set_address("0000:3b:00.1");
  return write;
}

}  // namespace berth::services

#endif  // BERTH_TESTS_SERVICES_WIRE_RECORD_WRITE_SAMPLES_H_
