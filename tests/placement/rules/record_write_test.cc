// What a tracker writes of records that it has claimed.
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/placement/rules/cpus.h"
#include "tests/placement/rules/move_world.h"

namespace berth::placement {
namespace {

class RulesRecordWrite : public testing::Test {
 protected:
  // A record of the instance `number` without a host, or on host `host`. A scheduler has allocated
  // for an instance without a host on `places`, which are those of h1 and h2 if nothing is said.
  void Create(uint64_t number, const std::string& host = "", const std::string& details = "",
              const std::string& places = "n1{VCPU:1} n2{VCPU:1}") {
    InstanceRecord record = move_.On(0);
    record.id = Id(number);
    record.host = host;
    if (!host.empty()) record.node = Node(host);
    record.vm_state = "building";
    record.held = Cpus(details);
    ASSERT_EQ(move_.Answer(SetInstance{record, std::nullopt}), "OK");
    if (host.empty() && !places.empty()) Allocate(number, places);
  }
  // As MoveWorld::Begin; the instance has the CPU 1 of h1.
  void Begin(MigrationType type) {
    move_.Begin(type);
    InstanceRecord record = *move_.Instance();
    record.held = Cpus("1");
    ASSERT_EQ(move_.Answer(SetInstance{record, record.generation}), "OK");
  }
  void Allocate(uint64_t number, const std::string& places) {
    ConsumerAllocations wanted = move_.world().Claim("any", places);
    wanted.consumer = ConsumerId{Id(number).uuid};
    const ConsumerPtr before = move_.world().state().FindConsumer(wanted.consumer);
    if (before != nullptr) wanted.expected_generation = before->generation;
    move_.world().Must(SetAllocations{{wanted}, false});
  }
  static InstanceId Id(uint64_t number) { return InstanceId{Uuid{21, number}}; }
  InstancePtr Find(uint64_t number) {
    return move_.world().state().records().FindInstance(Id(number));
  }
  ProviderId Node(const std::string& host) { return move_.world().provider("n" + host.substr(1)); }

  // The write with which the tracker of host `host` claims CPUs for the instance.
  WriteRecords Claim(int host, uint64_t number, const std::string& cpus) {
    const TrackerProcess tracker = MoveWorld::Tracker(host);
    WriteRecords write{tracker,
                       Node(tracker.host),
                       Id(number),
                       Find(number)->generation,
                       CpuWrite(tracker.host, Node(tracker.host), cpus),
                       {}};
    return write;
  }
  std::string Answer(WriteRecords write) { return move_.Answer(write); }

  MoveWorld move_;
};

TEST_F(RulesRecordWrite, AClaimSetsHostAndNode) {  // T-155
  Create(1);
  const Generation before = Find(1)->generation;
  ASSERT_EQ(Answer(Claim(1, 1, "4 5")), "OK");
  EXPECT_EQ(Find(1)->host, "h1");
  EXPECT_EQ(Find(1)->node, Node("h1"));
  EXPECT_EQ(HeldOf(*Find(1)), *Cpus("4 5"));
  EXPECT_EQ(Find(1)->name, "guest");
  EXPECT_NE(Find(1)->generation, before);
}

TEST_F(RulesRecordWrite, RefusesInOrder) {
  Create(1);
  WriteRecords write = Claim(1, 1, "4");
  write.instance = Id(2);
  write.node = Node("h2");
  write.tracker = {"h9", FleetWorld::Process(1)};
  EXPECT_EQ(Answer(write), "SERVICE_NOT_REGISTERED tracker.host");
  write.tracker = {"h1", FleetWorld::Process(9)};
  EXPECT_EQ(Answer(write), "TRACKER_FENCED tracker.incarnation");  // T-386
  write.tracker = MoveWorld::Tracker(1);
  EXPECT_EQ(Answer(write), "POLICY_DENIED") << "the node of another host";
  write.node = Node("h1");
  EXPECT_EQ(Answer(write), "INSTANCE_NOT_FOUND instance.uuid");
  write.instance = Id(1);
  write.migration = MigrationEdit{move_.move(), Generation{1}, std::nullopt, "running", "h1", {}};
  EXPECT_EQ(Answer(write), "MIGRATION_NOT_FOUND migration_uuid");
  write.migration.reset();
  write.expected_generation = Generation{99};
  EXPECT_EQ(Answer(write), "RECORD_CONFLICT instance");
  write.expected_generation = Find(1)->generation;
  EXPECT_EQ(Answer(write), "OK");
  EXPECT_EQ(Answer(write), "RECORD_CONFLICT instance") << "a second copy";
}

TEST_F(RulesRecordWrite, ARetiredNodeGetsNoClaims) {
  Create(1);
  ASSERT_EQ(move_.Answer(RetireNode{Node("h1"), true}), "OK");
  EXPECT_EQ(Answer(Claim(1, 1, "4")), "POLICY_DENIED");
}

TEST_F(RulesRecordWrite, AnInstanceOnAnotherHostIsAConflict) {
  Create(1, "h2");
  EXPECT_EQ(Answer(Claim(1, 1, "4")), "RECORD_CONFLICT instance");
  InstanceRecord shelved = *Find(1);
  shelved.vm_state = "shelved_offloaded";
  ASSERT_EQ(move_.Answer(SetInstance{shelved, shelved.generation}), "OK");
  EXPECT_EQ(Answer(Claim(1, 1, "4")), "POLICY_DENIED instance") << "nobody has allocated on h1";
  Allocate(1, "n1{VCPU:1}");
  EXPECT_EQ(Answer(Claim(1, 1, "4")), "OK");
}

// A claim of an instance that is on no host needs allocations on the tracker's host.
TEST_F(RulesRecordWrite, AnInstanceIsTakenOnlyWhereItHoldsSomething) {
  Create(1, "", "", "");
  EXPECT_EQ(Answer(Claim(1, 1, "4")), "POLICY_DENIED instance");  // T-386
  Allocate(1, "n2{VCPU:1} pool{DISK_GB:1}");
  EXPECT_EQ(Answer(Claim(1, 1, "4")), "POLICY_DENIED instance");  // T-386
  EXPECT_EQ(Answer(Claim(2, 1, "4")), "OK");
  EXPECT_EQ(Find(1)->host, "h2");
}

// A move that is over says nothing about where its instance goes next.
TEST_F(RulesRecordWrite, AMoveThatIsOverOpensNothing) {
  Begin(MigrationType::kCold);
  move_.SetStatus("finished");
  ASSERT_EQ(move_.Answer(move_.End(MoveEnd::kConfirmed, 2)), "OK");
  WriteRecords write{MoveWorld::Tracker(1),
                     Node("h1"),
                     move_.vm(),
                     move_.Instance()->generation,
                     CpuWrite("h1", Node("h1"), "1"),
                     MigrationEdit{move_.move(), move_.Migration()->generation, std::nullopt,
                                   "confirmed", "h2", Node("h2")}};
  EXPECT_EQ(Answer(write), "POLICY_DENIED instance");  // T-386
  EXPECT_EQ(move_.Instance()->host, "h2");
  write.tracker = MoveWorld::Tracker(2);
  write.node = Node("h2");
  write.written = CpuWrite("h2", Node("h2"), "1");
  write.migration->status = "running";
  EXPECT_EQ(Answer(write), "WRONG_MOVE_END status") << "both sides would hold resources again";
  write.migration->status = "confirmed";
  EXPECT_EQ(Answer(write), "OK");
}

// Only the end of a move settles what the two consumers hold.
TEST_F(RulesRecordWrite, AStatusAloneEndsNoMove) {
  Begin(MigrationType::kCold);
  move_.SetStatus("finished");
  WriteRecords write{MoveWorld::Tracker(2),
                     Node("h2"),
                     move_.vm(),
                     move_.Instance()->generation,
                     CpuWrite("h1", Node("h1"), "1"),
                     MigrationEdit{move_.move(), move_.Migration()->generation, std::nullopt,
                                   "failed", "h2", Node("h2")}};
  EXPECT_EQ(Answer(write), "MOVE_HOLDS_ALLOCATIONS status");
  EXPECT_EQ(move_.Migration()->status, "finished");
}

// The destination of a migration that names none becomes whoever has the instance's allocations.
TEST_F(RulesRecordWrite, ADestinationIsTakenOnlyWhereTheInstanceHoldsSomething) {
  Begin(MigrationType::kCold);
  UpdateMigration open{move_.move(), "accepted", "", "", std::optional<ProviderId>()};
  ASSERT_EQ(move_.Answer(open), "OK");
  for (const int host : {3, 2}) {
    const TrackerProcess tracker = MoveWorld::Tracker(host);
    WriteRecords write{tracker,
                       Node(tracker.host),
                       move_.vm(),
                       move_.Instance()->generation,
                       CpuWrite("h1", Node("h1"), "1 new 4"),
                       MigrationEdit{move_.move(), move_.Migration()->generation, std::nullopt,
                                     "pre-migrating", tracker.host, Node(tracker.host)}};
    WriteRecords withdrawal = write;
    withdrawal.written = nullptr;
    const std::string expected = host == 2 ? "OK" : "POLICY_DENIED migration";  // T-386
    EXPECT_EQ(Answer(withdrawal), expected) << "host " << host;
    write.expected_generation = move_.Instance()->generation;
    write.migration->expected_generation = move_.Migration()->generation;
    EXPECT_EQ(Answer(write), expected) << "host " << host;
  }
  EXPECT_EQ(move_.Migration()->destination_host, "h2");
}

TEST_F(RulesRecordWrite, ATrackerPutsNothingOnAnotherNode) {
  Create(1);
  WriteRecords write = Claim(1, 1, "4");
  const auto put = [&](const std::string& host, const std::optional<ProviderId>& node) {
    write.written = CpuWrite(host, node, "4");
    return Answer(write);
  };
  EXPECT_EQ(put("h2", Node("h2")), "POLICY_DENIED");
  EXPECT_EQ(put("h1", Node("h2")), "POLICY_DENIED");
  EXPECT_EQ(put("h1", std::nullopt), "POLICY_DENIED");
  EXPECT_EQ(put("", std::nullopt), "OK");
  Begin(MigrationType::kCold);
  WriteRecords move{
      MoveWorld::Tracker(1),           Node("h1"), move_.vm(), move_.Instance()->generation,
      CpuWrite("h1", Node("h1"), "1"), {}};
  move.migration =
      MigrationEdit{move_.move(), move_.Migration()->generation, std::nullopt, "running", "h3", {}};
  EXPECT_EQ(Answer(move), "POLICY_DENIED");
  move.migration->destination_host = move_.Migration()->destination_host;
  move.migration->destination_node = move_.Migration()->destination_node;
  EXPECT_EQ(Answer(move), "OK");
}

TEST_F(RulesRecordWrite, ACpuGetsNoSecondOwner) {
  Create(1);
  Create(2);
  ASSERT_EQ(Answer(Claim(1, 1, "4 5")), "OK");
  EXPECT_EQ(Answer(Claim(1, 2, "5 6")), "RECORD_CONFLICT instance");  // T-395
  EXPECT_EQ(Answer(Claim(2, 2, "5 6")), "OK") << "of another node";
  // What the record has already is not judged: the write may make it better.
  Create(3, "h1", "4 7");
  EXPECT_EQ(Answer(Claim(1, 3, "4")), "OK");
}

// The trackers do not count such a record either: they would choose the CPU again and again.
TEST_F(RulesRecordWrite, ACpuOfADeletedOrShelvedInstanceGetsAnOwner) {
  const auto set = [&](const char* vm_state, const char* task) {
    InstanceRecord record = *Find(1);
    record.vm_state = vm_state;
    record.task_state = task;
    ASSERT_EQ(move_.Answer(SetInstance{record, record.generation}), "OK");
  };
  Create(1);
  Create(2);
  ASSERT_EQ(Answer(Claim(1, 1, "4 5")), "OK");
  set("shelved_offloaded", "spawning");
  EXPECT_EQ(Answer(Claim(1, 2, "5")), "RECORD_CONFLICT instance");  // T-112, T-395
  set("shelved_offloaded", "");
  EXPECT_EQ(Answer(Claim(1, 2, "5")), "OK");  // T-112
  set("deleted", "");
  Create(3);
  EXPECT_EQ(Answer(Claim(1, 3, "4")), "OK");  // T-112
}

TEST_F(RulesRecordWrite, ACpuThatAMoveWillTakeGetsNoSecondOwner) {
  Begin(MigrationType::kLive);
  const auto set = [&](const char* vm_state) {
    InstanceRecord moving = *move_.Instance();
    moving.vm_state = vm_state;
    moving.task_state = "migrating";
    moving.held = Cpus("1 new 4");
    ASSERT_EQ(move_.Answer(SetInstance{moving, moving.generation}), "OK");
  };
  Create(2);
  set("active");
  EXPECT_EQ(Answer(Claim(2, 2, "4")), "RECORD_CONFLICT instance");  // T-395
  EXPECT_EQ(Answer(Claim(2, 2, "1")), "OK");
  set("error");                                 // the trackers count no move of such an instance
  EXPECT_EQ(Answer(Claim(2, 2, "1 4")), "OK");  // T-129
}

TEST_F(RulesRecordWrite, AMoveWritesBothRecords) {  // T-168
  Begin(MigrationType::kResize);
  WriteRecords write{MoveWorld::Tracker(2),
                     Node("h2"),
                     move_.vm(),
                     move_.Instance()->generation,
                     CpuWrite("h1", Node("h1"), "1 new 4"),
                     MigrationEdit{move_.move(), move_.Migration()->generation, std::nullopt,
                                   "pre-migrating", "h2", Node("h2")}};
  EXPECT_EQ(Answer(write), "OK");
  EXPECT_EQ(move_.Migration()->status, "pre-migrating");
  EXPECT_EQ(move_.Instance()->host, "h1");  // T-169
  EXPECT_EQ(HeldOf(*move_.Instance()), *Cpus("1 new 4"));
}

// The destination gives a claim up: what both consumers hold is settled in the same step.
TEST_F(RulesRecordWrite, AWriteEndsAMoveAsEndMoveDoes) {
  Begin(MigrationType::kCold);
  WriteRecords write{
      MoveWorld::Tracker(2),
      Node("h2"),
      move_.vm(),
      move_.Instance()->generation,
      CpuWrite("h1", Node("h1"), "1"),
      MigrationEdit{move_.move(), move_.Migration()->generation, MoveEnd::kCompleted, "", "", {}}};
  EXPECT_EQ(Answer(write), "WRONG_MOVE_END end");
  write.migration->end = MoveEnd::kFailed;
  EXPECT_EQ(Answer(write), "OK");
  EXPECT_EQ(move_.Migration()->status, "failed");  // T-170
  EXPECT_EQ(move_.Migration()->destination_host, "h2");
  EXPECT_EQ(HeldOf(*move_.Instance()), *Cpus("1"));
  EXPECT_EQ(move_.Held("vm"), "n1{VCPU:2} n1-gpu{VGPU:1}");  // T-221
  EXPECT_EQ(move_.Held("move"), "");
  EXPECT_EQ(Answer(write), "RECORD_CONFLICT instance");
}

// The first copy of a write whose answer was lost may come after its withdrawal.
TEST_F(RulesRecordWrite, AWithdrawnWriteIsRefusedWheneverItComes) {
  Create(1);
  const WriteRecords late = Claim(1, 1, "4");
  WriteRecords withdrawal = late;
  withdrawal.written = nullptr;
  ASSERT_EQ(Answer(withdrawal), "OK");
  EXPECT_EQ(Find(1)->host, "");
  EXPECT_EQ(Answer(late), "RECORD_CONFLICT instance");  // T-395
  EXPECT_EQ(Find(1)->host, "");
  EXPECT_EQ(Answer(withdrawal), "RECORD_CONFLICT instance");
}

// A withdrawal asks nothing of the node: the write may have been sent before the node changed.
TEST_F(RulesRecordWrite, AWriteIsWithdrawnWhateverBecameOfTheNode) {
  Create(1);
  WriteRecords withdrawal = Claim(1, 1, "4");
  withdrawal.written = nullptr;
  ASSERT_EQ(move_.Answer(RetireNode{Node("h1"), true}), "OK");
  EXPECT_EQ(Answer(withdrawal), "OK");
}

// A withdrawal moves the generation of a record, so it needs the same right as the write.
TEST_F(RulesRecordWrite, AForeignRecordIsNotWithdrawn) {
  Create(1, "h2");
  Create(2, "", "", "n2{VCPU:1}");
  Create(3, "h1");
  Create(4, "", "", "n1{VCPU:1}");
  Create(5, "h2");
  InstanceRecord shelved = *Find(5);
  shelved.vm_state = "shelved_offloaded";
  ASSERT_EQ(move_.Answer(SetInstance{shelved, shelved.generation}), "OK");
  Allocate(5, "n1{VCPU:1}");
  Begin(MigrationType::kLive);
  struct Case {
    InstanceId instance;
    int host;
    std::string answer;
  };
  for (const Case& one : std::vector<Case>{{Id(1), 1, "POLICY_DENIED instance"},  // T-386
                                           {Id(2), 1, "POLICY_DENIED instance"},  // T-386
                                           {Id(3), 1, "OK"},
                                           {Id(4), 1, "OK"},
                                           {Id(5), 1, "OK"},
                                           {Id(5), 3, "POLICY_DENIED instance"},       // T-386
                                           {move_.vm(), 3, "POLICY_DENIED instance"},  // T-386
                                           {move_.vm(), 2, "OK"},
                                           {move_.vm(), 1, "OK"}}) {
    const TrackerProcess tracker = MoveWorld::Tracker(one.host);
    const InstancePtr before = move_.world().state().records().FindInstance(one.instance);
    WriteRecords withdrawal{tracker, Node(tracker.host), one.instance, before->generation, nullptr,
                            {}};
    EXPECT_EQ(Answer(withdrawal), one.answer) << one.instance.ToString() << " by " << tracker.host;
    const InstancePtr after = move_.world().state().records().FindInstance(one.instance);
    EXPECT_EQ(after->generation == before->generation, one.answer != "OK");
  }
  const WriteRecords with_move{
      MoveWorld::Tracker(3),
      Node("h3"),
      move_.vm(),
      move_.Instance()->generation,
      nullptr,
      MigrationEdit{move_.move(), move_.Migration()->generation, std::nullopt, "", "", {}}};
  EXPECT_EQ(Answer(with_move), "POLICY_DENIED migration");  // T-386
}

// The tracker that took a node over does not know the instances that are recorded for the other
// host.
TEST_F(RulesRecordWrite, ANodeFromAnotherHostGetsNoClaimsBeforeItsInstancesCame) {
  Create(1, "h1", "4");
  InstanceRecord left = *Find(1);
  left.host = "h2";
  left.node = Node("h1");
  ASSERT_EQ(move_.Answer(SetInstance{left, left.generation}), "OK");
  Create(2);
  EXPECT_EQ(Answer(Claim(1, 2, "4")), "OK") << "nothing is allocated to the instance";
  Allocate(1, "n1{VCPU:1}");
  Create(3);
  EXPECT_EQ(Answer(Claim(1, 3, "5")), "POLICY_DENIED");  // T-22
  move_.ShareRoot();
  EXPECT_EQ(Answer(Claim(1, 3, "5")), "POLICY_DENIED");  // T-22
  left = *Find(1);
  left.vm_state = "deleted";
  ASSERT_EQ(move_.Answer(SetInstance{left, left.generation}), "OK");
  EXPECT_EQ(Answer(Claim(1, 3, "5")), "OK");  // T-112: what it holds may stay for long (T-143)
}

}  // namespace
}  // namespace berth::placement
