// The account of a node: records, open claims and facts in, promises and owners out.
#include "tracker/account/account.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tracker/account/sample_records.h"

namespace berth::tracker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

NodeResources LargeHost() {
  NodeResources resources;
  resources.total = {48, 392944, 2637 * kMibPerGib};
  resources.reserve = {0, 2048, 0};
  return resources;
}

NodeResources HostWithCells() {
  NodeResources resources = LargeHost();
  resources.topology = MakeTopology();
  return resources;
}

// Four instances of 4 CPUs, 10240 MiB and 80 GiB (C-1).
NodeAccount FourInstances() {
  NodeAccount account(kHere, LargeHost());
  for (const char* uuid : {"a", "b", "c", "d"})
    account.PutInstance(MakeInstance(uuid, kHere, MakeFlavor("f", 4, 10240, 80)));
  return account;
}

void ExpectUsed(const NodeAccount& account, int64_t vcpus, int64_t memory_mib, int64_t disk_gib) {
  EXPECT_EQ(account.used().vcpus, vcpus);
  EXPECT_EQ(account.used().memory_mib, memory_mib);
  EXPECT_EQ(account.used_disk_gib(), disk_gib);
  EXPECT_EQ(account.Rebuilt(), account);  // T-394
}

TEST(NodeAccount, AFinishedEvacuationCountsNothing) {
  NodeAccount account = FourInstances();
  Instance gone = MakeInstance("e", kThere, MakeFlavor("g", 8, 16384, 80));
  Migration evacuation = MakeMigration(gone, MigrationType::kEvacuation, "done", kHere, kThere);
  account.PutInstance(gone);
  account.PutMigration(evacuation);
  ExpectUsed(account, 16, 43008, 320);  // C-1, T-137
  gone.task_state = "rebuilding";
  account.PutInstance(gone);
  ExpectUsed(account, 16, 43008, 320);  // C-1, T-343: the status alone is enough
  evacuation.status = "accepted";
  account.PutMigration(evacuation);
  ExpectUsed(account, 24, 59392, 400);  // C-1: with both gates open it counts
  gone.task_state = "";
  account.PutInstance(gone);
  ExpectUsed(account, 16, 43008, 320);  // C-1, T-343: the state alone is enough
}

TEST(NodeAccount, EachNodeCountsItsOwnInstances) {
  NodeAccount here(kHere, NodeResources());
  NodeAccount there(kThere, NodeResources());
  for (NodeAccount* const account : {&here, &there}) {
    account->PutInstance(MakeInstance("a", kHere, MakeFlavor("f", 1, 1, 1)));
    account->PutInstance(MakeInstance("b", kThere, MakeFlavor("f", 1, 1, 1)));
  }
  EXPECT_THAT(here.tracked_instances(), ElementsAre("a"_uuid));   // T-117
  EXPECT_THAT(there.tracked_instances(), ElementsAre("b"_uuid));  // T-117
  here.ReplaceRecords({MakeInstance("c", kHere, MakeFlavor("f", 1, 1, 1))}, {});
  EXPECT_THAT(here.tracked_instances(), ElementsAre("c"_uuid));  // T-117: nothing of before is left
}

TEST(NodeAccount, AnEvacuationToHereCounts) {
  NodeAccount account = FourInstances();
  Instance comes = MakeInstance("e", kThere, MakeFlavor("g", 8, 16384, 80));
  comes.task_state = "rebuilding";
  account.PutInstance(comes);
  account.PutMigration(MakeMigration(comes, MigrationType::kEvacuation, "accepted", kThere, kHere));
  ExpectUsed(account, 24, 59392, 400);                                               // C-1, T-133
  EXPECT_THAT(account.tracked_migrations(), ElementsAre(Pair("e"_uuid, "m"_uuid)));  // T-134
  EXPECT_THAT(account.tracked_instances(),
              ElementsAre("a"_uuid, "b"_uuid, "c"_uuid, "d"_uuid));  // T-115
  EXPECT_EQ(account.statistics().instances(), 4);
}

TEST(NodeAccount, ALiveMigrationCountsOnBothSides) {
  NodeAccount source(kHere, LargeHost());
  NodeAccount destination(kThere, LargeHost());
  Instance guest = MakeInstance("i", kHere, MakeFlavor("f", 2, 512, 1));
  guest.task_state = "migrating";
  Migration migration = MakeMigration(guest, MigrationType::kLive, "running", kHere, kThere);
  const auto put = [&] {
    for (NodeAccount* account : {&source, &destination}) {
      account->PutInstance(guest);
      account->PutMigration(migration);
    }
  };
  put();
  EXPECT_EQ(source.used().vcpus, 2);       // T-136
  EXPECT_EQ(destination.used().vcpus, 2);  // T-136
  guest.on = kThere;
  guest.task_state = "";
  migration.status = "completed";
  put();
  EXPECT_EQ(source.used().vcpus, 0);  // T-136: nothing is kept for a way back
  EXPECT_EQ(destination.used().vcpus, 2);
}

TEST(NodeAccount, ADiskIsCountedInMib) {
  NodeResources resources = LargeHost();
  resources.reserve.disk_mib = 1500;
  NodeAccount account(kHere, resources, {1, 100, 24});
  Flavor flavor = MakeFlavor("f", 2, 256, 10);
  flavor.ephemeral_disk_gib = 5;
  flavor.swap_mib = 512;
  account.PutInstance(MakeInstance("a", kHere, flavor));
  Instance volume = MakeInstance("b", kHere, flavor);
  volume.boot_from_volume = true;
  account.PutInstance(volume);
  EXPECT_EQ(account.used(),
            (Amounts{5, 2048 + 100 + 512, 1500 + 24 + 20 * kMibPerGib + 2 * 512}));  // T-105, T-113
  EXPECT_EQ(account.used_disk_gib(), 22);  // T-108: 1500 + 24 + 1024 MiB are 2 whole GiB
  EXPECT_EQ(account.free_disk_gib(), 2637 - 22);
}

TEST(NodeAccount, FreeMayBeNegative) {
  NodeResources resources;
  resources.total = {0, 1024, 10 * kMibPerGib};
  resources.reserve = {0, 2048, 11264};
  const NodeAccount account(kHere, resources);
  EXPECT_EQ(account.free().memory_mib, -1024);  // C-3, T-107
  EXPECT_EQ(account.free_disk_gib(), -1);       // C-3, T-107
  EXPECT_EQ(account.used_disk_gib(), 11);       // C-3
}

TEST(NodeAccount, AnOverheadCountsIfItIsSet) {
  NodeResources resources = LargeHost();
  Flavor flavor = MakeFlavor("f", 2, 256, 1);
  flavor.extra_specs["hw:emulator_threads_policy"] = "isolate";
  NodeAccount account(kHere, resources);
  account.PutInstance(MakeInstance("a", kHere, flavor));
  EXPECT_EQ(account.used().vcpus, 2);
  resources.overheads.isolated_emulator_vcpus = 1;
  account.SetResources(resources);
  ExpectUsed(account, 3, 2304, 1);  // T-142, T-114
  flavor.extra_specs["hw:emulator_threads_policy"] = "share";
  account.PutInstance(MakeInstance("a", kHere, flavor));
  ExpectUsed(account, 2, 2304, 1);
}

TEST(NodeAccount, ARemovableInstanceCountsNowhere) {
  NodeAccount account = FourInstances();
  const NodeAccount before = account;
  Instance more = MakeInstance("e", kHere, MakeFlavor("f", 4, 10240, 80));
  account.PutInstance(more);
  EXPECT_EQ(account.used().vcpus, 20);
  EXPECT_EQ(account.statistics().instances(), 5);
  more.vm_state = "deleted";
  account.PutInstance(more);
  EXPECT_EQ(account, before);  // T-112, T-115, T-121
  account.PutInstance(more);
  EXPECT_EQ(account, before);  // T-115: a second time adds nothing
  more.vm_state = "active";
  account.PutInstance(more);
  account.DropInstance("e"_uuid);
  EXPECT_EQ(account, before);
}

TEST(NodeAccount, AChangeOfStateMovesTheCounters) {
  NodeAccount account(kHere, LargeHost());
  Instance instance = MakeInstance("a", kHere, MakeFlavor("f", 4, 10240, 80));
  account.PutInstance(instance);
  instance.task_state = "rescuing";
  account.PutInstance(instance);
  EXPECT_EQ(account.statistics().current_workload(), 1);  // T-119: the last snapshot is taken back
  EXPECT_EQ(account.statistics().instances(), 1);         // T-116
  EXPECT_EQ(account.Rebuilt().statistics(), account.statistics());  // T-118: counted anew
}

TEST(NodeAccount, CellsAreCountedOnBothSidesOfAResizeInPlace) {
  NodeAccount account(kHere, HostWithCells());
  Instance instance = MakeInstance("a", kHere, MakeFlavor("small", 2, 512, 1));
  instance.assigned = {MakePinned({0, 1}), {"0000:81:00.0"}, {{"p"_uuid, "PMEM", "ns0"}}};
  instance.vm_state = "active";
  instance.task_state = "resize_prep";
  instance.context =
      MigrationContext{"m"_uuid,
                       instance.flavor,
                       MakeFlavor("large", 3, 1024, 1),
                       instance.assigned,
                       {MakePinned({2, 3, 4}), {"0000:81:01.0"}, {{"p"_uuid, "PMEM", "ns1"}}},
                       {},
                       {}};
  Migration resize = MakeMigration(instance, MigrationType::kResize, "pre-migrating", kHere, kHere);
  account.PutInstance(instance);
  account.PutMigration(resize);
  const auto pinned = [&] { return account.owners().cells()[0].usage.pinned_cpus.ToString(); };
  EXPECT_EQ(pinned(), "0-4");                         // T-134, T-395
  EXPECT_EQ(account.promised().migrations.pcpus, 3);  // T-110
  EXPECT_THAT(account.owners().by_device(), SizeIs(2));
  EXPECT_THAT(account.owners().by_unit(), SizeIs(2));  // T-149
  EXPECT_EQ(account.used().vcpus, 5);                  // T-135
  instance.flavor = *instance.context->new_flavor;     // switched: the old side waits for a revert
  instance.assigned = instance.context->new_assigned;
  instance.vm_state = "resized";
  instance.task_state = "";
  account.PutInstance(instance);
  EXPECT_EQ(pinned(), "0-4");
  EXPECT_EQ(account.used().vcpus, 5);
  EXPECT_EQ(account.Rebuilt(), account);
  resize.status = "confirmed";
  account.PutMigration(resize);
  EXPECT_EQ(pinned(), "2-4");
  EXPECT_THAT(account.owners().by_unit(),
              ElementsAre(Pair(NamedUnit{"p"_uuid, "PMEM", "ns1"}, "a"_uuid)));
}

TEST(NodeAccount, ASwitchedGuestHasTheCellsOfItsContext) {
  NodeAccount account(kHere, HostWithCells());
  Instance instance = MakeInstance("a", kHere, MakeFlavor("f", 2, 512, 1));
  instance.assigned.topology = MakePinned({0, 1});  // of the host that it came from
  instance.context =
      MigrationContext{"m"_uuid, {}, {}, instance.assigned, {MakePinned({6, 7}), {}, {}}, {}, {}};
  account.PutInstance(instance);
  account.PutMigration(
      MakeMigration(instance, MigrationType::kLive, "post-migrating", kThere, kHere));
  EXPECT_EQ(account.owners().cells()[0].usage.pinned_cpus.ToString(), "6-7");  // T-50
}

// A migration that brought the instance here has not ended, and a later one takes it away again.
// The context is the later one's, with cells of the next node.
TEST(NodeAccount, AnInstanceThatStillIsHereHasItsOwnCells) {
  NodeAccount account(kHere, HostWithCells());
  Instance instance = MakeInstance("a", kHere, MakeFlavor("f", 2, 512, 1));
  instance.task_state = "migrating";
  instance.assigned.topology = MakePinned({0, 1});
  instance.context = MigrationContext{
      "later"_uuid, {}, {}, instance.assigned, {MakePinned({6, 7}), {}, {}}, {}, {}};
  Migration came = MakeMigration(instance, MigrationType::kLive, "error", kThere, kHere);
  Migration later = MakeMigration(instance, MigrationType::kLive, "running", kHere, kThere);
  later.uuid = "later"_uuid;
  later.created_at += absl::Seconds(9);
  account.PutMigration(came);
  account.PutMigration(later);
  account.PutInstance(instance);
  EXPECT_EQ(account.owners().cells()[0].usage.pinned_cpus.ToString(), "0-1");  // T-50, T-395
}

TEST(NodeAccount, ACpuHasOneOwnerWhateverRecordsSay) {
  NodeAccount account(kHere, HostWithCells());
  const NodeAccount empty = account;
  Instance first = MakeInstance("a", kHere, MakeFlavor("f", 2, 512, 1));
  first.assigned = {MakePinned({0, 1}), {"0000:81:00.0"}, {}};
  Instance second = first;
  second.uuid = "b"_uuid;
  second.assigned.topology = MakePinned({1, 2});
  account.PutInstance(second);
  account.PutInstance(first);
  EXPECT_EQ(account.used().vcpus, 4);                                          // T-61
  EXPECT_EQ(account.owners().cells()[0].usage.pinned_cpus.ToString(), "0-1");  // T-61, T-284
  EXPECT_THAT(account.owners().by_device(), ElementsAre(Pair("0000:81:00.0", "a"_uuid)));  // T-395
  EXPECT_THAT(account.faults(), SizeIs(2));
  EXPECT_EQ(account.Rebuilt(), account);  // T-394: in whatever order they came
  account.DropInstance("a"_uuid);
  EXPECT_EQ(account.owners().cells()[0].usage.pinned_cpus.ToString(), "1-2");
  EXPECT_THAT(account.faults(), IsEmpty());
  account.DropInstance("b"_uuid);
  EXPECT_EQ(account, empty);
}

TEST(NodeAccount, CpusOfAGuestThatCannotBeCountedAreNotOffered) {
  NodeAccount account(kHere, HostWithCells());
  Instance guest = MakeInstance("a", kHere, MakeFlavor("f", 2, 512, 1));
  guest.assigned.topology = MakePinned({4, 7});
  account.PutInstance(guest);
  NodeResources shrunk = HostWithCells();
  shrunk.topology->cells[0].dedicated_cpus = CpuSet::Range(0, 6);
  account.SetResources(shrunk);
  EXPECT_THAT(account.faults(), SizeIs(1));
  EXPECT_EQ(account.owners().OfferedCells()[0].usage.pinned_cpus.ToString(), "4");  // T-395
  EXPECT_EQ(account.Rebuilt(), account);
  account.SetResources(HostWithCells());
  EXPECT_EQ(account.owners().OfferedCells()[0].usage.pinned_cpus.ToString(), "4,7");
  account.DropInstance("a"_uuid);
  EXPECT_TRUE(account.owners().OfferedCells()[0].usage.pinned_cpus.empty());
}

TEST(NodeAccount, APartThatCannotBeReadIsAFault) {
  NodeAccount account(kHere, {});
  Instance broken = MakeInstance("a", kHere, MakeFlavor("f", 2, 512, 1));
  broken.unreadable = "it names CPU -1";
  account.PutInstance(broken);
  EXPECT_EQ(account.used().vcpus, 2);                         // T-61
  EXPECT_EQ(account.faults().at(0).text, "it names CPU -1");  // T-61
}

TEST(NodeAccount, AnInstanceWithoutTopologyUsesNoCell) {
  NodeAccount account(kHere, HostWithCells());
  account.PutInstance(MakeInstance("a", kHere, MakeFlavor("f", 2, 512, 1)));
  EXPECT_EQ(account.owners().cells()[0].usage, CellUsage());  // T-285
}

// A claim of the instance `i` on this node.
OpenClaim MakeClaim() {
  Instance instance = MakeInstance("i", kHere, MakeFlavor("f", 4, 1024, 10));
  instance.vm_state = "building";
  instance.assigned.topology = MakePinned({0, 1});
  return {"claim", instance, std::nullopt};
}

TEST(OpenClaims, AClaimCountsUntilItsRecordComesBack) {
  NodeAccount account(kHere, HostWithCells());
  const NodeAccount before = account;
  const OpenClaim claim = MakeClaim();
  account.Open(claim);
  EXPECT_EQ(account.used().vcpus, 4);  // T-105, T-182
  EXPECT_TRUE(account.IsTracked("i"_uuid));
  EXPECT_EQ(account.Rebuilt(), account);
  Instance unclaimed = claim.instance;  // somebody else's change, made before the claim
  unclaimed.on = {};
  unclaimed.assigned = {};
  unclaimed.task_state = "networking";
  account.PutInstance(unclaimed);
  EXPECT_EQ(account.used().vcpus, 4);
  EXPECT_EQ(account.statistics().current_workload(), 1);
  ASSERT_NE(account.OpenClaimOf("i"_uuid), nullptr);
  account.PutInstance(claim.instance);
  EXPECT_EQ(account.OpenClaimOf("i"_uuid), nullptr);  // T-182
  EXPECT_EQ(account.used().vcpus, 4);
  account.DropInstance("i"_uuid);
  EXPECT_EQ(account, before);
}

TEST(OpenClaims, AClaimStaysWhenAllRecordsAreReplaced) {
  NodeAccount account(kHere, HostWithCells());
  account.PutInstance(MakeInstance("old", kHere, MakeFlavor("f", 1, 1, 1)));
  account.Open(MakeClaim());
  account.ReplaceRecords({MakeInstance("new", kHere, MakeFlavor("f", 2, 512, 1))}, {});
  EXPECT_THAT(account.tracked_instances(), ElementsAre("i"_uuid, "new"_uuid));
  EXPECT_EQ(account.promised().claims, (Usage{{4, 1024, 10 * kMibPerGib}, 2}));
  EXPECT_EQ(account.promised().instances.amounts.vcpus, 2);
  EXPECT_EQ(account.Rebuilt(), account);  // T-394
  Instance recorded = MakeClaim().instance;
  account.ReplaceRecords({recorded}, {});
  EXPECT_EQ(account.OpenClaimOf("i"_uuid), nullptr);
  EXPECT_EQ(account.promised().claims, Usage());
}

TEST(OpenClaims, AClaimEndsByClose) {
  NodeAccount account(kHere, HostWithCells());
  const NodeAccount before = account;
  OpenClaim lasting = MakeClaim();  // with the same id
  lasting.instance.uuid = "a"_uuid;
  lasting.instance.assigned.topology = MakePinned({2, 3});
  account.Open(MakeClaim());
  account.Open(lasting);
  EXPECT_TRUE(account.Close("i"_uuid, "claim"));
  EXPECT_FALSE(account.Close("i"_uuid, "claim"));     // T-151
  EXPECT_NE(account.OpenClaimOf("a"_uuid), nullptr);  // T-182
  EXPECT_FALSE(account.Close("a"_uuid, "another id"));
  EXPECT_TRUE(account.Close("a"_uuid, "claim"));
  EXPECT_EQ(account, before);
}

TEST(NodeAccount, AMigrationThatBecomesAnotherInstancesLeavesTheFirst) {
  NodeAccount account(kHere, HostWithCells());
  Migration migration;
  migration.uuid = "m"_uuid;
  migration.instance_uuid = "a"_uuid;
  account.PutInstance(MakeInstance("a", kHere, MakeFlavor("f", 2, 512, 1)));
  account.PutMigration(migration);
  migration.instance_uuid = "b"_uuid;
  account.PutMigration(migration);
  account.DropMigration("m"_uuid);
  account.PutInstance(MakeInstance("a", kHere, MakeFlavor("f", 4, 512, 1)));
  EXPECT_EQ(account.used().vcpus, 4);
  EXPECT_EQ(account.Rebuilt(), account);  // T-394
}

TEST(OpenClaims, AClaimOfADeletedInstanceEnds) {
  NodeAccount account(kHere, HostWithCells());
  const NodeAccount before = account;
  account.Open(MakeClaim());
  Instance deleted = MakeClaim().instance;
  deleted.on = {};
  deleted.deleted = true;
  account.PutInstance(deleted);
  EXPECT_EQ(account.OpenClaimOf("i"_uuid), nullptr);  // T-166
  EXPECT_EQ(account, before);                         // T-166
}

}  // namespace
}  // namespace berth::tracker
