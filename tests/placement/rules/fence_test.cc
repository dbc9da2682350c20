// What a tracker may write of records, and that only its newest process writes.
#include "placement/rules/fence.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/placement/rules/move_world.h"

namespace berth::placement {
namespace {

// The four commands that a tracker sends, each of them lawful for the tracker of h1.
std::vector<CommandBody> WritesOfHost1(MoveWorld& move,
                                       const std::optional<TrackerProcess>& tracker) {
  MigrationRecord another = *move.Migration();
  another.id = MigrationId{Uuid{12, 1}};
  EndMove end = move.End(MoveEnd::kFailed, 1);
  end.tracker = tracker;
  return {SetInstance{move.On(1), move.Instance()->generation, tracker},
          CreateMigration{another, tracker},
          UpdateMigration{move.move(), "accepted", "running", {}, {}, tracker}, end};
}

TEST(RulesFence, OnlyTheNewestProcessOfAHostWrites) {
  for (size_t i = 0; i < 4; ++i) {
    MoveWorld move;
    move.Begin(MigrationType::kLive);
    const auto answer = [&](const std::optional<TrackerProcess>& tracker) {
      return move.Answer(WritesOfHost1(move, tracker)[i]);
    };
    EXPECT_EQ(answer(TrackerProcess{"h9", FleetWorld::Process(1)}),
              "SERVICE_NOT_REGISTERED tracker.host");
    EXPECT_EQ(answer(TrackerProcess{"h1", Uuid{}}), "INVALID_FIELD tracker.incarnation");
    EXPECT_EQ(answer(TrackerProcess{"h1", FleetWorld::Process(9)}),
              "TRACKER_FENCED tracker.incarnation");  // T-14
    // A new process takes over, and the old one is late.
    ASSERT_EQ(move.fleet.Register("h1", 9, "machine-1"), "OK");
    EXPECT_EQ(answer(MoveWorld::Tracker(1)), "TRACKER_FENCED tracker.incarnation");  // T-14
    EXPECT_EQ(answer(TrackerProcess{"h1", FleetWorld::Process(9)}), "OK") << i;
  }
}

TEST(RulesFence, WhoIsNoTrackerIsNotFenced) {
  for (size_t i = 0; i < 4; ++i) {
    MoveWorld move;
    move.Begin(MigrationType::kLive);
    EXPECT_EQ(move.Answer(WritesOfHost1(move, std::nullopt)[i]), "OK") << i;
  }
}

class RulesFenceInstance : public testing::Test {
 protected:
  // Writes the instance as being on `host`, as the tracker of host `tracker`.
  std::string Write(int tracker, int host) {
    InstanceRecord record = move_.On(host);
    record.body = "new details";
    return WriteRecord(tracker, record);
  }
  std::string WriteRecord(int tracker, const InstanceRecord& record) {
    std::optional<Generation> expected;
    if (move_.Instance() != nullptr) expected = move_.Instance()->generation;
    return move_.Answer(SetInstance{record, expected, MoveWorld::Tracker(tracker)});
  }
  void Put(int host) { ASSERT_EQ(move_.Answer(SetInstance{move_.On(host), {}}), "OK"); }

  MoveWorld move_;
};

TEST_F(RulesFenceInstance, OfItsOwnHost) {
  Put(1);
  EXPECT_EQ(Write(2, 1), "POLICY_DENIED instance");
  EXPECT_EQ(Write(2, 2), "POLICY_DENIED instance");
  EXPECT_EQ(Write(1, 2), "POLICY_DENIED instance");  // it does not move there
  EXPECT_EQ(Write(1, 1), "OK");
  EXPECT_EQ(Write(1, 0), "OK");                      // T-165: gives its claim back
  EXPECT_EQ(Write(1, 1), "POLICY_DENIED instance");  // it is nobody's now
}

TEST_F(RulesFenceInstance, ThatIsMeantForItsHost) {
  Put(0);
  EXPECT_EQ(Write(1, 1), "POLICY_DENIED instance");  // nothing says that it is for this host
  move_.Hold("vm", "n1-gpu{VGPU:1}");
  EXPECT_EQ(Write(2, 2), "POLICY_DENIED instance");
  EXPECT_EQ(Write(1, 1), "OK");
  move_.Hold("vm", "n2{VCPU:1}");
  EXPECT_EQ(Write(2, 2), "POLICY_DENIED instance");  // the other host has claimed it
}

// n1 has a pool below it, of which instances on all hosts hold shares.
TEST_F(RulesFenceInstance, NotForAShareOfWhatServesOthersToo) {
  move_.SharePool();
  Put(0);
  move_.Hold("vm", "pool{DISK_GB:1}");
  EXPECT_EQ(Write(1, 1), "POLICY_DENIED instance");
  move_.Hold("vm", "pool{DISK_GB:1} n2{VCPU:1}");
  EXPECT_EQ(Write(1, 1), "POLICY_DENIED instance");
  EXPECT_EQ(Write(2, 2), "OK");
}

// Who may use n1 besides does not matter: its guests hold their CPUs of n1.
TEST_F(RulesFenceInstance, ThatHoldsSomethingOfARootThatServesOthersToo) {
  move_.ShareRoot();
  Put(0);
  move_.Hold("vm", "n1{VCPU:1}");
  EXPECT_EQ(Write(2, 2), "POLICY_DENIED instance");  // T-386
  EXPECT_EQ(Write(1, 1), "OK");
}

TEST_F(RulesFenceInstance, NotForDiskOfARootThatServesOthersToo) {
  move_.ShareDisk(1);
  Put(0);
  move_.Hold("vm", "n1{DISK_GB:1}");
  EXPECT_EQ(Write(1, 1), "POLICY_DENIED instance");  // T-386
  move_.Hold("vm", "n1{DISK_GB:1} n2{VCPU:1}");
  EXPECT_EQ(Write(1, 1), "POLICY_DENIED instance");  // T-386
  EXPECT_EQ(Write(2, 2), "OK");
}

TEST_F(RulesFenceInstance, OnEitherSideOfAMove) {
  move_.Begin(MigrationType::kLive);
  EXPECT_EQ(Write(2, 1), "OK");
  EXPECT_EQ(Write(2, 2), "OK");
  EXPECT_EQ(Write(1, 2), "OK");
  EXPECT_EQ(Write(1, 1), "OK");
  InstanceRecord beyond = move_.On(1);
  beyond.host = "h3";
  EXPECT_EQ(WriteRecord(1, beyond), "POLICY_DENIED instance");
  move_.SetStatus("error");  // somebody still has to clean up
  EXPECT_EQ(Write(2, 2), "OK");
  ASSERT_EQ(move_.Answer(move_.End(MoveEnd::kCompleted, 2)), "OK");
  EXPECT_EQ(Write(1, 1), "POLICY_DENIED instance");
  EXPECT_EQ(Write(2, 2), "OK");
}

// The allocation audit judges an instance by its node.
TEST_F(RulesFenceInstance, OnANodeOfItsHost) {
  move_.Begin(MigrationType::kLive);
  const auto put = [&](int tracker, int host, const std::optional<ProviderId>& node) {
    InstanceRecord record = move_.On(host);
    record.node = node;
    return WriteRecord(tracker, record);
  };
  const ProviderId n1 = *move_.On(1).node;
  const ProviderId n2 = *move_.On(2).node;
  for (const int tracker : {1, 2}) {
    EXPECT_EQ(put(tracker, 1, n2), "POLICY_DENIED instance");
    EXPECT_EQ(put(tracker, 2, n1), "POLICY_DENIED instance") << "its node, with another host";
    EXPECT_EQ(put(tracker, 2, move_.world().provider("pool")), "POLICY_DENIED instance");
    EXPECT_EQ(put(tracker, 2, std::nullopt), "POLICY_DENIED instance");
    EXPECT_EQ(put(tracker, 1, std::nullopt), "POLICY_DENIED instance");
    EndMove end = move_.End(MoveEnd::kCompleted, 2);
    InstanceRecord record = *end.instance;
    record.node = n1;
    end.instance = std::make_shared<const InstanceRecord>(record);
    end.tracker = MoveWorld::Tracker(tracker);
    EXPECT_EQ(move_.Answer(end), "POLICY_DENIED instance");
  }
  // A record that stays where it is may be as it is.
  InstanceRecord odd = move_.On(1);
  odd.node = n2;
  ASSERT_EQ(move_.Answer(SetInstance{odd, move_.Instance()->generation}), "OK");
  EXPECT_EQ(put(1, 1, n2), "OK");
  EXPECT_EQ(put(1, 1, n1), "OK");
}

TEST_F(RulesFenceInstance, OnARetiredNodeOnlyByItsMove) {
  Put(0);
  move_.Hold("vm", "n1{VCPU:1}");
  ASSERT_EQ(move_.Answer(RetireNode{*move_.On(1).node, true}), "OK");
  EXPECT_EQ(Write(1, 1), "POLICY_DENIED instance");
  ASSERT_EQ(move_.Answer(SetInstance{move_.On(2), move_.Instance()->generation}), "OK");
  MigrationRecord revert = move_.Move(MigrationType::kCold, 1, 2);
  ASSERT_EQ(move_.Answer(CreateMigration{revert}), "OK");
  EXPECT_EQ(Write(2, 1), "OK");
}

// A move may have begun before the node of its source was known.
TEST_F(RulesFenceInstance, BackToItsSourceWithoutANode) {
  InstanceRecord placed = move_.On(1);
  placed.node.reset();
  ASSERT_EQ(move_.Answer(SetInstance{placed, {}}), "OK");
  MigrationRecord record = move_.Move(MigrationType::kCold, 1, 2);
  record.source_node.reset();
  ASSERT_EQ(move_.Answer(CreateMigration{record}), "OK");
  EXPECT_EQ(Write(2, 2), "OK");
  EXPECT_EQ(WriteRecord(2, placed), "OK");
}

TEST_F(RulesFenceInstance, ButNotWhatItIsCalledAndWhoseItIs) {
  EXPECT_EQ(Write(1, 1), "POLICY_DENIED instance");  // it has no record
  Put(1);
  for (std::string InstanceRecord::*field :
       {&InstanceRecord::name, &InstanceRecord::project, &InstanceRecord::user}) {
    InstanceRecord record = move_.On(1);
    record.*field = "another";
    EXPECT_EQ(WriteRecord(1, record), "POLICY_DENIED instance");
  }
  InstanceRecord stopped = move_.On(1);
  stopped.vm_state = "stopped";
  stopped.task_state = "task";
  EXPECT_EQ(WriteRecord(1, stopped), "OK");
}

TEST(RulesFence, ATrackerWritesMigrationsFromAndToItsHost) {
  MoveWorld move;
  move.Begin(MigrationType::kLive, true, "n1{VCPU:2}", "n1{VCPU:3}");
  MigrationRecord record = *move.Migration();
  record.id = MigrationId{Uuid{12, 1}};
  record.destination_host = "";
  record.destination_node.reset();
  const auto create = [&](int tracker) {
    return move.Answer(CreateMigration{record, MoveWorld::Tracker(tracker)});
  };
  EXPECT_EQ(create(2), "POLICY_DENIED migration");
  EXPECT_EQ(create(1), "OK");
  const auto update = [&](int tracker, const char* to) {
    UpdateMigration command{record.id, "accepted", "", to, {}, MoveWorld::Tracker(tracker)};
    return move.Answer(command);
  };
  EXPECT_EQ(update(2, "h2"), "POLICY_DENIED migration");  // the instance holds nothing there
  move.Hold("vm", "n2{VCPU:3}");
  EXPECT_EQ(update(2, "h3"), "POLICY_DENIED migration");
  EXPECT_EQ(update(1, "h9"), "POLICY_DENIED migration");  // h9 has no tracker
  EXPECT_EQ(update(2, "h2"), "OK");                       // T-168
  // The tracker of h2 dies. The next host has to wait until somebody says that h2 is out.
  move.Hold("vm", "n3{VCPU:3}");
  EXPECT_EQ(update(3, "h3"), "POLICY_DENIED migration");
  ASSERT_EQ(move.Answer(UpdateMigration{record.id, "accepted", "", "", {}}), "OK");
  EXPECT_EQ(update(3, "h3"), "OK");                       // T-168
  EXPECT_EQ(update(2, "h2"), "POLICY_DENIED migration");  // it goes to another host now
  move.Hold("vm", "n2{VCPU:3}");
  record.id = MigrationId{Uuid{12, 2}};
  record.destination_host = "h2";
  EXPECT_EQ(create(2), "OK");  // T-168: made by the destination
  record.id = MigrationId{Uuid{12, 3}};
  record.source_host = "h3";
  record.destination_host = "h4";
  EXPECT_EQ(create(1), "POLICY_DENIED migration");
  EndMove end = move.End(MoveEnd::kFailed, 1);
  end.tracker = MoveWorld::Tracker(3);
  EXPECT_EQ(move.Answer(end), "POLICY_DENIED migration");
}

// A move counts on its source. So nobody makes one that leaves a host where the instance is not.
TEST(RulesFence, ATrackersMigrationLeavesWhereItsInstanceIs) {
  MoveWorld move;
  ASSERT_EQ(move.Answer(SetInstance{move.On(1), std::nullopt}), "OK");
  MigrationRecord record = move.Move(MigrationType::kCold, 2, 1);
  uint64_t made = 0;
  const auto create = [&] {
    record.id = MigrationId{Uuid{12, ++made}};
    return move.Answer(CreateMigration{record, MoveWorld::Tracker(1)});
  };
  EXPECT_EQ(create(), "POLICY_DENIED migration");  // T-386
  record.source_host = "h1";
  EXPECT_EQ(create(), "POLICY_DENIED migration");  // T-386: the node of another host
  record.source_node.reset();
  EXPECT_EQ(create(), "OK");
  record.source_node = move.world().provider("n1");
  EXPECT_EQ(create(), "OK");
  const auto destination = record.destination_node;
  for (const char* elsewhere : {"pool", "n2"}) {
    record.destination_node = move.world().provider(elsewhere);
    EXPECT_EQ(create(), "POLICY_DENIED migration") << elsewhere;  // T-386
  }
  record.destination_node = destination;
  // An instance without a node may leave any node of its host, and one without a host any host.
  InstanceRecord placed = *move.Instance();
  placed.node.reset();
  ASSERT_EQ(move.Answer(SetInstance{placed, placed.generation}), "OK");
  EXPECT_EQ(create(), "OK");
  placed.host.clear();
  ASSERT_EQ(move.Answer(SetInstance{placed, move.Instance()->generation}), "OK");
  move.Hold("vm", "n1{VCPU:1}");
  record.source_host = "h3";
  EXPECT_EQ(create(), "OK");
  // The destination of an evacuation, while the tracker of the source is away.
  ASSERT_EQ(move.Answer(SetInstance{move.On(2), move.Instance()->generation}), "OK");
  record = move.Move(MigrationType::kEvacuation, 2, 1);
  EXPECT_EQ(create(), "OK");
}

// An imported service has no process until its tracker says Hello.
TEST(RulesFence, AServiceWithoutAProcessHasNoTracker) {
  MoveWorld move;
  move.Begin(MigrationType::kLive);
  State imported = move.world().state();
  auto service = std::make_shared<ServiceRecord>(move.fleet.service("h1"));
  service->incarnation = Uuid{};
  imported.Apply({ServicePut{service}});
  for (const Uuid process : {FleetWorld::Process(1), Uuid{}}) {
    EXPECT_EQ(RefusalOf(CheckProcess(imported, {"h1", process}, ""))->reason,
              "SERVICE_NOT_REGISTERED");
  }
}

// A late repeat, and a decision upon an old record, are conflicts: the caller has to read again.
TEST(RulesFence, AnOldRecordIsAConflictBeforeAnythingElse) {
  MoveWorld move;
  move.Begin(MigrationType::kCold);
  const auto by = [](int tracker, auto command) {
    command.tracker = MoveWorld::Tracker(tracker);
    return command;
  };
  const EndMove confirm = by(1, move.End(MoveEnd::kConfirmed, 2));
  const EndMove revert = by(2, move.End(MoveEnd::kReverted, 1));
  const SetInstance set = by(1, SetInstance{move.On(1), move.Instance()->generation});
  const CreateMigration create = by(1, CreateMigration{move.Move(MigrationType::kCold, 1, 2)});
  UpdateMigration update = by(3, UpdateMigration{move.move(), "running", "error", {}, {}});
  EXPECT_EQ(move.Answer(update), "RECORD_CONFLICT migration");
  update.expected_status = "accepted";
  EXPECT_EQ(move.Answer(update), "POLICY_DENIED migration");
  ASSERT_EQ(move.Answer(confirm), "OK");
  EXPECT_EQ(move.Answer(confirm), "RECORD_CONFLICT migration");
  EXPECT_EQ(move.Answer(revert), "RECORD_CONFLICT migration");
  EXPECT_EQ(move.Answer(set), "RECORD_CONFLICT instance");
  EXPECT_EQ(move.Answer(create), "DUPLICATE_MIGRATION migration.uuid");
}

// The source of an evacuation that is done may write the instance as it ends the evacuation, as
// little as it may do so otherwise.
TEST(RulesFence, TheMoveThatEndsIsOneOfItsSides) {
  MoveWorld move;
  move.Begin(MigrationType::kEvacuation, false);
  ASSERT_EQ(move.Answer(move.End(MoveEnd::kDone, 2)), "OK");
  SetInstance set{move.On(2), move.Instance()->generation, MoveWorld::Tracker(1)};
  EXPECT_EQ(move.Answer(set), "POLICY_DENIED instance");
  EndMove end = move.End(MoveEnd::kCompleted, 2);
  end.tracker = MoveWorld::Tracker(1);
  EXPECT_EQ(move.Answer(end), "OK");  // T-146
}

}  // namespace
}  // namespace berth::placement
