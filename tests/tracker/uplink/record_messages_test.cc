// Records of instances and migrations: to messages and back, and into a node's account.
#include "tracker/uplink/record_messages.h"

#include <google/protobuf/unknown_field_set.h>

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/account/sample_records.h"
#include "tests/tracker/facts/test_data.h"
#include "tracker/uplink/push.h"

namespace berth::tracker {
namespace {

namespace v1 = placement::v1;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Draws records with every field that a message has.
class RandomRecords {
 public:
  explicit RandomRecords(uint64_t seed) : random_(seed) {}

  int Below(int count) { return static_cast<int>(random_() % static_cast<uint64_t>(count)); }
  bool Coin() { return Below(2) == 0; }
  std::string Text() { return "text-" + std::to_string(Below(1000)); }
  Uuid RandomUuid() { return ShortUuid(Text()); }

  // All sets of a record together are smaller than the sets that are read of one.
  CpuSet Cpus() {
    CpuSet cpus;
    for (int i = Below(4); i > 0; --i) cpus.Insert(Below(16384));
    return cpus;
  }
  GuestCell Cell() {
    GuestCell cell;
    if (Coin()) cell.host_cell = Below(8);
    cell.shared_cpus = Cpus();
    cell.pinned_cpus = Cpus();
    cell.memory_mib = Below(100000);
    cell.page_size_kib = Coin() ? Below(4) - 3 : 2048;
    if (Coin()) cell.cpu_policy = static_cast<CpuPolicy>(Below(3));
    if (Coin()) cell.cpu_thread_policy = static_cast<CpuThreadPolicy>(Below(3));
    for (int i = Below(4); i > 0; --i) cell.pinning[Below(16)] = Below(64);
    cell.reserved_cpus = Cpus();
    return cell;
  }
  Assigned RandomAssigned() {
    Assigned assigned;
    if (Coin()) {
      assigned.topology.emplace();
      for (int i = 1 + Below(3); i > 0; --i) assigned.topology->cells.push_back(Cell());
      if (Coin()) {
        assigned.topology->emulator_threads_policy = static_cast<EmulatorThreadsPolicy>(Below(2));
      }
    }
    for (int i = Below(3); i > 0; --i) {
      assigned.devices.push_back(absl::StrCat(Text(), "-", i));
      if (Coin()) assigned.request_ids[assigned.devices.back()] = absl::StrCat("r", i);
    }
    for (int i = Below(3); i > 0; --i) {
      assigned.units.push_back({RandomUuid(), Text(), absl::StrCat(Text(), "-", i)});
    }
    return assigned;
  }
  std::vector<DeviceRequest> Requests() {
    std::vector<DeviceRequest> requests;
    for (int i = Below(3); i > 0; --i) {
      DeviceRequest& request = requests.emplace_back();
      request.request_id = Text();
      request.count = 1 + Below(4);
      request.source = static_cast<DeviceRequestSource>(Below(2));
      if (request.source == DeviceRequestSource::kFlavorAlias) request.alias_name = Text();
      if (Coin()) request.alternatives.push_back({{"vendor_id", Text()}});
      request.numa_policy = static_cast<DeviceNumaPolicy>(Below(4));
      if (Coin()) request.providers = {{RandomUuid(), request.count}};
    }
    return requests;
  }
  Flavor RandomFlavor() {
    return {Text(),     Below(64),  Below(100000),     Below(100),
            Below(100), Below(100), {{Text(), Text()}}};
  }
  Instance RandomInstance() {
    Instance instance = MakeInstance(Text(), {Text(), RandomUuid()}, RandomFlavor());
    instance.generation = Below(1000);
    instance.claimed_generation = Below(1000);
    if (Coin()) instance.launched_on = Text();
    instance.task_state = Coin() ? "" : Text();
    instance.boot_from_volume = Coin();
    if (!instance.boot_from_volume) instance.image = {{Text(), Text()}};
    instance.assigned = RandomAssigned();
    instance.device_requests = Requests();
    instance.hidden = Coin();
    if (Coin()) return instance;
    instance.context = {RandomUuid(),     std::nullopt, std::nullopt, RandomAssigned(),
                        RandomAssigned(), Requests(),   Requests()};
    if (Coin()) instance.context->old_flavor = RandomFlavor();
    if (Coin()) instance.context->new_flavor = RandomFlavor();
    return instance;
  }

 private:
  std::mt19937_64 random_;
};

void ExpectEqual(const std::vector<DeviceRequest>& a, const std::vector<DeviceRequest>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(std::tie(a[i].request_id, a[i].count, a[i].alias_name, a[i].source, a[i].alternatives,
                       a[i].numa_policy, a[i].providers),
              std::tie(b[i].request_id, b[i].count, b[i].alias_name, b[i].source, b[i].alternatives,
                       b[i].numa_policy, b[i].providers));
  }
}

void ExpectEqual(const Instance& a, const Instance& b) {
  EXPECT_EQ(std::tie(a.uuid, a.generation, a.on, a.project_id, a.vm_state, a.task_state, a.flavor),
            std::tie(b.uuid, b.generation, b.on, b.project_id, b.vm_state, b.task_state, b.flavor));
  EXPECT_EQ(a.assigned, b.assigned);
  EXPECT_EQ(a.claimed_generation, b.claimed_generation);
  EXPECT_EQ(a.launched_on, b.launched_on);
  EXPECT_EQ(std::tie(a.boot_from_volume, a.image, a.deleted, a.hidden, a.unreadable),
            std::tie(b.boot_from_volume, b.image, b.deleted, b.hidden, b.unreadable));
  ExpectEqual(a.device_requests, b.device_requests);
  ASSERT_EQ(a.context.has_value(), b.context.has_value());
  if (!a.context.has_value()) return;
  EXPECT_EQ(std::tie(a.context->migration_uuid, a.context->old_flavor, a.context->new_flavor),
            std::tie(b.context->migration_uuid, b.context->old_flavor, b.context->new_flavor));
  EXPECT_EQ(a.context->old_assigned, b.context->old_assigned);
  EXPECT_EQ(a.context->new_assigned, b.context->new_assigned);
  ExpectEqual(a.context->old_device_requests, b.context->old_device_requests);
  ExpectEqual(a.context->new_device_requests, b.context->new_device_requests);
}

TEST(RecordMessages, AnInstanceComesBackAsItWas) {
  RandomRecords records(TestSeed());
  for (int round = 0; round < 500; ++round) {
    const Instance instance = records.RandomInstance();
    ExpectEqual(ReadInstance(WireInstance(instance)), instance);
  }
}

TEST(RecordMessages, AMigrationComesBackAsItWas) {
  const Instance instance = MakeInstance("i", kHere, MakeFlavor("f", 1, 1, 1));
  for (const MigrationType type : {MigrationType::kCold, MigrationType::kResize,
                                   MigrationType::kLive, MigrationType::kEvacuation}) {
    Migration migration = MakeMigration(instance, type, "running", kHere, kThere);
    migration.generation = 7;
    migration.updated_at = absl::UnixEpoch() + absl::Microseconds(5);
    const Migration back = ReadMigration(WireMigration(migration));
    EXPECT_EQ(std::tie(back.uuid, back.generation, back.instance_uuid, back.type, back.status),
              std::tie(migration.uuid, migration.generation, migration.instance_uuid,
                       migration.type, migration.status));
    EXPECT_EQ(std::tie(back.source, back.destination, back.created_at, back.updated_at),
              std::tie(kHere, kThere, migration.created_at, migration.updated_at));
    EXPECT_EQ(back.old_flavor_id, "f");
    EXPECT_EQ(back.new_flavor_id, "f");
  }
}

TEST(RecordMessages, ACellOfANewerReleaseIsRead) {
  v1::Instance wire = WireInstance(MakeInstance("i", kHere, MakeFlavor("f", 1, 1, 1)));
  v1::GuestCell* const cell = wire.add_numa_cells();
  cell->set_memory_mib(512);
  cell->GetReflection()->MutableUnknownFields(cell)->AddVarint(999, 1);
  const Instance read = ReadInstance(wire);
  EXPECT_EQ(read.unreadable, "");  // T-268
  EXPECT_EQ(read.missing(), "it has fields of a newer release");
  ASSERT_TRUE(read.assigned.topology.has_value());
  const GuestCell& bare = read.assigned.topology->cells[0];
  EXPECT_EQ(bare.memory_mib, 512);        // T-268
  EXPECT_FALSE(bare.host_cell);           // T-268
  EXPECT_TRUE(bare.pinned_cpus.empty());  // T-268
  EXPECT_FALSE(bare.cpu_policy);          // T-268
}

TEST(RecordMessages, WhatCannotBeReadIsLeftOutAndNamed) {
  v1::Instance wire = WireInstance(MakeInstance("i", kHere, MakeFlavor("f", 1, 1, 1)));
  v1::GuestCell* const cell = wire.add_numa_cells();
  cell->set_memory_mib(512);
  cell->add_pinned_cpus(-1);
  const Instance read = ReadInstance(wire);
  EXPECT_EQ(read.unreadable, "it names CPU -1");  // T-61
  EXPECT_EQ(read.assigned.topology->cells[0].memory_mib, 512);
  cell->clear_pinned_cpus();
  cell->set_cpu_policy("strange");
  EXPECT_EQ(ReadInstance(wire).unreadable, "it has the cpu_policy `strange`");
}

constexpr char kUpper[] = "AAAAAAAA-AAAA-4AAA-8AAA-AAAAAAAAAAAA";
constexpr char kLower[] = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa";

TEST(RecordMessages, EveryUuidIsReadInLowerCase) {
  v1::Instance wire;
  wire.set_uuid(kUpper);
  wire.set_node_uuid(kUpper);
  wire.add_named_units()->set_provider_uuid(kUpper);
  wire.mutable_migration_context()->set_migration_uuid(kUpper);
  v1::PciRequest* const request = wire.add_pci_requests();
  request->set_count(2);
  request->add_provider_uuids(kUpper);
  request->add_provider_uuids(kLower);
  const Instance instance = ReadInstance(wire);
  EXPECT_EQ(instance.uuid.ToString(), kLower);
  EXPECT_EQ(instance.on.node_uuid.ToString(), kLower);
  EXPECT_EQ(instance.assigned.units[0].provider_uuid.ToString(), kLower);
  EXPECT_EQ(instance.context->migration_uuid.ToString(), kLower);
  EXPECT_THAT(*instance.device_requests[0].providers,
              ElementsAre(testing::Pair(ShortUuid(kLower), 2)));
  v1::Migration move;
  move.set_uuid(kUpper);
  move.set_instance_uuid(kUpper);
  move.set_source_node_uuid(kUpper);
  move.set_destination_node_uuid(kUpper);
  const Migration migration = ReadMigration(move);
  const Uuid lower = ShortUuid(kLower);
  EXPECT_EQ(std::tie(migration.uuid, migration.instance_uuid, migration.source.node_uuid,
                     migration.destination.node_uuid),
            std::make_tuple(lower, lower, lower, lower));
}

TEST(RecordMessages, AFieldThatIsNoUuidIsNamed) {
  const v1::Instance good = WireInstance(MakeInstance("i", kHere, MakeFlavor("f", 1, 1, 1)));
  for (const char* const text :
       {"i1", "{aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa}", "00000000-0000-0000-0000-000000000000"}) {
    v1::Instance wire = good;
    wire.set_uuid(text);
    EXPECT_EQ(ReadInstance(wire).unreadable, "uuid is not a uuid");
    EXPECT_EQ(ReadInstance(wire).uuid, Uuid());
    wire = good;
    wire.set_node_uuid(text);
    EXPECT_EQ(ReadInstance(wire).unreadable, "node_uuid is not a uuid");
    wire = good;
    wire.add_named_units()->set_provider_uuid(text);
    EXPECT_EQ(ReadInstance(wire).unreadable, "provider_uuid is not a uuid");
    wire = good;
    wire.mutable_migration_context()->set_migration_uuid(text);
    EXPECT_EQ(ReadInstance(wire).unreadable, "migration_uuid is not a uuid");
    wire = good;
    wire.add_pci_requests()->set_count(1);
    wire.mutable_pci_requests(0)->add_provider_uuids(text);
    EXPECT_EQ(ReadInstance(wire).unreadable, "provider_uuids is not a uuid");
    v1::Migration move;
    move.set_uuid(kLower);
    move.set_instance_uuid(text);
    EXPECT_EQ(ReadMigration(move).unreadable, "instance_uuid is not a uuid");
    move.set_uuid(text);
    EXPECT_EQ(ReadMigration(move).unreadable, "uuid is not a uuid");
  }
  EXPECT_EQ(ReadInstance(good).unreadable, "");
}

// The claims that take devices, cells or units wait until somebody has mended such a record.
TEST(ApplyPush, ARecordWithoutAUuidIsAFault) {
  Records records;
  NodeAccount account(kHere, NodeResources());
  v1::Push push;
  push.add_instances()->set_uuid("i1");
  push.add_migrations()->set_uuid("m1");
  ApplyPush(push, {}, &records, &account);
  EXPECT_THAT(account.unreadable(), testing::SizeIs(2));
  EXPECT_EQ(account, account.Rebuilt());
}

v1::Instance Recorded(const std::string& uuid, int64_t generation) {
  Instance instance = MakeInstance(uuid, kHere, MakeFlavor("f", 2, 512, 1));
  instance.generation = generation;
  return WireInstance(instance);
}

TEST(ApplyPush, UuidsInUpperCaseNameTheSameThings) {
  Records records;
  NodeAccount account(kHere, NodeResources());
  v1::Push push;
  *push.add_instances() = Recorded(kUpper, 1);
  push.mutable_instances(0)->set_uuid(kUpper);
  push.add_providers()->set_uuid(kUpper);
  push.add_consumers()->set_uuid(kUpper);
  push.mutable_consumers(0)->add_allocations()->set_provider_uuid(kUpper);
  ApplyPush(push, {}, &records, &account);
  EXPECT_THAT(account.tracked_instances(), ElementsAre(ShortUuid(kLower)));
  EXPECT_EQ(records.tree[0].uuid.ToString(), kLower);
  EXPECT_EQ(records.allocations[0].consumer_uuid.ToString(), kLower);
  EXPECT_EQ(records.allocations[0].provider_uuid.ToString(), kLower);
  v1::Push removal;
  removal.add_removed_instance_uuids(kUpper);
  removal.add_removed_provider_uuids(kUpper);
  removal.add_removed_consumer_uuids(kUpper);
  EXPECT_TRUE(ApplyPush(removal, {}, &records, &account));
  EXPECT_THAT(account.tracked_instances(), IsEmpty());
  EXPECT_THAT(records.tree, IsEmpty());
  EXPECT_THAT(records.allocations, IsEmpty());
}

TEST(ApplyPush, RecordsEnterTheAccount) {
  Records records;
  NodeAccount account(kHere, NodeResources());
  v1::Push push;
  *push.add_instances() = Recorded("a", 1);
  *push.add_instances() = Recorded("b", 1);
  EXPECT_TRUE(ApplyPush(push, {}, &records, &account));
  EXPECT_THAT(account.tracked_instances(), ElementsAre("a"_uuid, "b"_uuid));
  EXPECT_FALSE(ApplyPush(push, {}, &records, &account)) << "the same generations again";
  v1::Push removal;
  removal.add_removed_instance_uuids("a"_uuid.ToString());
  EXPECT_TRUE(ApplyPush(removal, {}, &records, &account));
  EXPECT_FALSE(ApplyPush(removal, {}, &records, &account));
  EXPECT_THAT(account.tracked_instances(), ElementsAre("b"_uuid));
  v1::Push all;
  all.set_complete(true);
  *all.add_instances() = Recorded("c", 1);
  EXPECT_TRUE(ApplyPush(all, {}, &records, &account));
  EXPECT_THAT(account.tracked_instances(), ElementsAre("c"_uuid));
  all.clear_instances();
  EXPECT_TRUE(ApplyPush(all, {}, &records, &account));
  EXPECT_THAT(account.tracked_instances(), IsEmpty());
}

}  // namespace
}  // namespace berth::tracker
