// Who uses a node, and who is an orphan.
#include "tracker/audit/accounting.h"

#include <random>

#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/account/sample_records.h"
#include "tests/tracker/facts/test_data.h"
#include "tests/tracker/node/node_fixture.h"
#include "tracker/audit/drift.h"
#include "tracker/audit/resources.h"
#include "tracker/audit/views.h"
#include "tracker/claims/claim.h"

namespace berth::tracker {
namespace {

using std::chrono::seconds;

KnownAllocation Holds(const std::string& consumer, std::map<std::string, int64_t> amounts) {
  return {"root"_uuid, ShortUuid(consumer), Uuid(), std::move(amounts)};
}

TEST(Accounting, FreeIsNotClamped) {  // C-3, T-107
  Facts facts = OrdinaryFacts();
  facts.memory_mib = 1024;
  facts.local_disk_gib = 10;
  NodeConfiguration node;
  node.reserved_host_memory_mib = 2048;
  node.reserved_host_disk_mib = 11264;
  const Accounting account = Account(facts, node, nullptr, {});
  EXPECT_EQ(account.used().memory_mib, 2048);
  EXPECT_EQ(account.used_disk_gib(), 11);
  EXPECT_EQ(account.free().memory_mib, -1024);
  EXPECT_EQ(account.free().disk_mib, -1024);
}

TEST(Accounting, CountsAllocationsAsUsed) {  // C-1 with allocations in the place of instances
  NodeConfiguration node;
  node.reserved_host_memory_mib = 2048;
  Records records;
  for (const char* const consumer : {"a", "b", "c", "d"}) {
    records.allocations.push_back(
        Holds(consumer, {{"VCPU", 4}, {"MEMORY_MB", 10240}, {"DISK_GB", 80}}));
  }
  const Accounting account = Account(OrdinaryFacts(), node, &records, {});
  EXPECT_EQ(account.used().vcpus, 16);
  EXPECT_EQ(account.used().memory_mib, 43008);
  EXPECT_EQ(account.used_disk_gib(), 320);
  const std::vector<std::string> view = FinalView("n", account, OrdinaryFacts());
  EXPECT_EQ(view[0], "Total usable vcpus: 48, total allocated vcpus: 16");  // C-1, T-101
  EXPECT_EQ(view[1],
            "Final resource view: name=n phys_ram=392944MB used_ram=43008MB phys_disk=2637GB "
            "used_disk=320GB total_vcpus=48 used_vcpus=16 pci_stats=[] stats={\"uptime\":\"\"}");
}

TEST(Accounting, CountsDedicatedCpusTogetherWithShared) {  // T-110
  Records records;
  records.allocations = {Holds("a", {{"VCPU", 2}, {"PCPU", 3}})};
  const Accounting account = Account(OrdinaryFacts(), NodeConfiguration(), &records, {});
  EXPECT_EQ(account.allocated.vcpus, 5);
  EXPECT_EQ(account.pcpus_used(), 3);  // T-110, T-353
}

// An active instance of the node, with one dedicated CPU of two.
Instance RecordedInstance(const std::string& uuid) {
  Instance instance = MakeInstance(uuid, kHere, MakeFlavor("f", 2, 1024, 10));
  instance.assigned.topology = MakePinned({0});
  return instance;
}

TEST(Accounting, CountsWhatAnInstanceHoldsOnce) {
  NodeAccount promised(kHere, NodeResources());
  promised.PutInstance(RecordedInstance("a"));
  Instance moving = MakeInstance("b", kThere, MakeFlavor("f", 4, 2048, 20));
  moving.task_state = "migrating";
  promised.PutInstance(moving);
  promised.PutMigration(MakeMigration(moving, MigrationType::kLive, "running", kHere, kThere));
  Records records;
  records.allocations = {Holds("a", {{"VCPU", 1}, {"PCPU", 1}, {"MEMORY_MB", 1024}}),
                         Holds("m", {{"VCPU", 4}, {"MEMORY_MB", 2048}}),
                         Holds("other", {{"VCPU", 8}})};
  Orphan recorded;
  recorded.uuid = "a"_uuid;
  recorded.usage = {2, 1024, 0};
  const Accounting account =
      Account(OrdinaryFacts(), NodeConfiguration(), &records, {recorded}, &promised);
  EXPECT_EQ(account.promised.instances, (Usage{{2, 1024, 10240}, 1}));   // T-113
  EXPECT_EQ(account.promised.migrations, (Usage{{4, 2048, 20480}, 0}));  // T-221
  EXPECT_EQ(account.allocated, (Amounts{8, 0, 0}));
  EXPECT_EQ(account.orphans, Amounts());
  EXPECT_EQ(account.used(), (Amounts{14, 512 + 3072, 30720}));  // T-105
  EXPECT_EQ(account.pcpus_used(), 1);                           // T-110
  EXPECT_EQ(account.counters.at("num_instances"), 1);           // T-119
}

// Placement allocates the CPU of the emulator as a dedicated one: PCPU 3 (T-142).
TEST(Accounting, AnIsolatedEmulatorCountsAsADedicatedCpu) {
  Facts facts = OrdinaryFacts();
  facts.numa_topology = std::optional<NumaTopology>(MakeTopology());
  NodeAccount account(kHere, ResourcesOf(facts, NodeConfiguration()));
  InstanceClaim request;
  request.node_uuid = kHere.node_uuid;
  request.instance = MakeInstance("a", {}, MakeFlavor("f", 2, 1024, 10));
  request.instance.vm_state = "building";
  request.instance.flavor.extra_specs = {{"hw:cpu_policy", "dedicated"},
                                         {"hw:emulator_threads_policy", "isolate"}};
  request.limits.vcpus = 2;
  EXPECT_FALSE(ClaimInstance(ClaimSettings(), request, &account).ok());  // T-142
  request.limits.vcpus = 3;
  const auto claim = ClaimInstance(ClaimSettings(), request, &account);
  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_EQ(account.used().vcpus, 3);             // T-142
  EXPECT_EQ(account.promised().claims.pcpus, 3);  // T-110
  account.PutInstance(claim->instance);
  Records records;
  records.allocations = {Holds("a", {{"PCPU", 3}, {"MEMORY_MB", 1024}, {"DISK_GB", 10}})};
  EXPECT_TRUE(FindDrifts(account, records, NodeConfiguration()).empty());  // T-142
}

TEST(Accounting, ARecordThatCountsNothingLeavesItsAllocations) {
  NodeAccount promised(kHere, NodeResources());
  promised.PutInstance(MakeInstance("a", {}, MakeFlavor("f", 2, 1024, 10)));  // not claimed yet
  Records records;
  records.allocations = {Holds("a", {{"VCPU", 2}})};
  const Accounting account = Account(OrdinaryFacts(), NodeConfiguration(), &records, {}, &promised);
  EXPECT_EQ(account.allocated.vcpus, 2);
  EXPECT_EQ(account.promised, PromisedUsage());
  EXPECT_EQ(AccountingJson(account, {}),
            AccountingJson(Account(OrdinaryFacts(), {}, &records, {}), {}));
}

TEST(Accounting, TakesNothingButTotalsFromWhatWasObserved) {
  Facts busy = OrdinaryFacts();
  busy.vcpus_used = 40;
  busy.memory_used_mib = 300000;
  busy.local_disk_used_gib = 2000;
  const Accounting account = Account(busy, NodeConfiguration(), nullptr, {});
  EXPECT_EQ(account.used(), (Amounts{0, 512, 0}));  // T-51, T-105
}

TEST(Accounting, BeginsWithTheReserveAndKnowsNoRatio) {
  NodeConfiguration node;
  node.reserved_host_cpus = 2;
  node.reserved_host_memory_mib = 700;
  node.reserved_host_disk_mib = 2048;
  node.cpu_allocation_ratio = 16.0;
  node.ram_allocation_ratio = 1.5;
  Records records;
  const Accounting empty = Account(OrdinaryFacts(), node, &records, {});
  EXPECT_EQ(empty.used(), (Amounts{2, 700, 2048}));  // T-106
  EXPECT_EQ(empty.free().vcpus, 48 - 2);             // T-106, T-109
  records.allocations = {Holds("a", {{"VCPU", 100}})};
  const Accounting full = Account(OrdinaryFacts(), node, &records, {});
  EXPECT_EQ(full.used().vcpus, 102);       // T-109: more than there is
  EXPECT_EQ(full.free().vcpus, 48 - 102);  // T-109
}

TEST(Accounting, KeepsSmallPartsOfDisk) {  // T-108
  NodeConfiguration node;
  node.reserved_host_disk_mib = 600;
  Orphan orphan;
  orphan.usage.disk_mib = 600;
  const Accounting account = Account(OrdinaryFacts(), node, nullptr, {orphan});
  EXPECT_EQ(account.used_disk_gib(), 1);
}

TEST(Accounting, AddsUp) {  // T-392
  std::mt19937_64 random(TestSeed());
  const auto some = [&random](uint64_t limit) { return static_cast<int64_t>(random() % limit); };
  for (int round = 0; round < 200; ++round) {
    NodeConfiguration node;
    node.reserved_host_memory_mib = some(10000);
    node.reserved_host_cpus = some(4);
    Records records;
    Amounts expected{node.reserved_host_cpus, node.reserved_host_memory_mib, 0};
    for (int64_t i = some(20); i > 0; --i) {
      const Amounts one{some(8), some(9000), some(100) * 1024};
      records.allocations.push_back(Holds(
          std::to_string(i),
          {{"VCPU", one.vcpus}, {"MEMORY_MB", one.memory_mib}, {"DISK_GB", one.disk_mib / 1024}}));
      expected += one;
    }
    std::vector<Orphan> orphans(static_cast<size_t>(some(4)));
    for (Orphan& orphan : orphans) {
      orphan.usage = {some(8), some(9000), some(100000)};
      expected += orphan.usage;
    }
    const Accounting account = Account(OrdinaryFacts(), node, &records, orphans);
    EXPECT_EQ(account.used(), expected);  // T-105
    EXPECT_EQ(account.free().memory_mib, 392944 - expected.memory_mib);
  }
}

// A pass at a number of seconds, remembering the one before.
struct Passes {
  OrphanMemory memory;
  OrphanPolicy policy = OrphanPolicy::kWithhold;
  OrphanJudgement At(int second, const std::vector<Guest>& guests,
                     const std::vector<KnownAllocation>& allocations = {}) {
    OrphanJudgement judgement =
        JudgeOrphans(guests, allocations, policy, memory, MonotonicTime(seconds(second)),
                     absl::FromUnixSeconds(second), seconds(5));
    memory = judgement.memory;
    return judgement;
  }
};

TEST(Orphans, CountAtOnceAndAreWithheldOnceConfirmed) {  // C-18 as decided
  Passes passes;
  const std::vector<Guest> guests = {RunningGuest("u1", 2, 2048, 10)};
  OrphanJudgement first = passes.At(100, guests);
  ASSERT_EQ(first.orphans.size(), 1u);
  // Whoever started it, and with all that it uses.
  EXPECT_EQ(first.orphans[0].usage, (Amounts{2, 2048, 10240}));  // T-138, T-139 as decided
  EXPECT_FALSE(first.orphans[0].withheld);                       // T-141 as decided
  EXPECT_EQ(first.confirm_at, MonotonicTime(seconds(105)));
  EXPECT_FALSE(passes.At(104, guests).orphans[0].withheld);
  const OrphanJudgement third = passes.At(105, guests);
  EXPECT_TRUE(third.orphans[0].withheld);  // T-141 as decided
  EXPECT_EQ(third.confirm_at, std::nullopt);
  EXPECT_EQ(third.orphans[0].first_seen_at, absl::FromUnixSeconds(100));
  const Withheld sum = SumWithheld(third.orphans);
  EXPECT_EQ(sum.vcpus, 2);
  EXPECT_EQ(sum.memory_mib, 2048);
  EXPECT_EQ(sum.disk_gib, 10);
  EXPECT_TRUE(passes.At(106, {}).orphans.empty());
  EXPECT_FALSE(passes.At(107, guests).orphans[0].withheld);  // it starts anew
}

TEST(Orphans, AreOnlyReportedWhenSaidSo) {
  Passes passes;
  passes.policy = OrphanPolicy::kReport;
  const std::vector<Guest> guests = {RunningGuest("u1", 2, 2048, 10)};
  passes.At(0, guests);
  const OrphanJudgement later = passes.At(60, guests);
  EXPECT_EQ(later.orphans.size(), 1u);
  EXPECT_FALSE(later.orphans[0].withheld);
}

TEST(Orphans, DependOnStateAndClaim) {
  struct Case {
    GuestState state;
    const char* consumer;
    const char* instance;
    bool amounts;
    bool orphan;
  };
  const Case kCases[] = {
      {GuestState::kRunning, "", "", false, true},
      {GuestState::kPaused, "", "", false, true},  // T-138
      {GuestState::kBlocked, "", "", false, true},
      {GuestState::kShutOff, "", "", false, false},  // C-18
      {GuestState::kCrashed, "", "", false, false},
      {GuestState::kRunning, "u1", "", true, false},
      {GuestState::kRunning, "u1", "", false, true},    // a consumer that holds nothing here
      {GuestState::kRunning, "m1", "u1", true, false},  // held by its migration
      {GuestState::kRunning, "u2", "", true, true},
  };
  for (const Case& test : kCases) {
    Guest guest = RunningGuest("u1", 1, 512, 1);
    guest.state = test.state;
    std::vector<KnownAllocation> allocations;
    if (*test.consumer != '\0') {
      allocations.push_back({"root"_uuid, ShortUuid(test.consumer), ShortUuid(test.instance), {}});
      if (test.amounts) allocations[0].amounts["VCPU"] = 1;
    }
    EXPECT_EQ(Passes().At(0, {guest}, allocations).orphans.size(), test.orphan ? 1u : 0u)
        << static_cast<int>(test.state) << test.consumer;
  }
}

TEST(Orphans, AreWarnedAboutOnceAnHour) {  // T-141
  Passes passes;
  const std::vector<Guest> guests = {RunningGuest("u1", 1, 512, 1)};
  std::string warned;
  for (const int second : {0, 4, 5, 6, 3604, 3605, 3606}) {
    if (!passes.At(second, guests).to_warn.empty()) warned += std::to_string(second) + ' ';
  }
  EXPECT_EQ(warned, "5 3605 ");
}

TEST(Orphans, CountOneCpuWhenTheHypervisorWouldNotSay) {  // T-78
  Guest guest = RunningGuest("u1", 1, 512, 1);
  guest.vcpus = std::nullopt;
  guest.local_disk_bytes = (int64_t{1} << 30) + 1;
  const OrphanJudgement judgement = Passes().At(0, {guest});
  EXPECT_EQ(judgement.orphans[0].usage.vcpus, 1);
  EXPECT_EQ(judgement.orphans[0].disk_gib, 2);  // placement counts whole GiB
}

}  // namespace
}  // namespace berth::tracker
