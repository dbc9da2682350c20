// A tracker with a certificate that tries to take over what is not its host's, or to learn of it.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/values/refusal.h"
#include "tests/placement/rules/cpus.h"
#include "tests/placement/rules/move_world.h"
#include "tests/worlds/fleet_world.h"
#include "tests/worlds/script.h"

namespace berth::placement {
namespace {

// h1 and h2 have trackers. h1 has the node cn1, with a child and an operator's pool below it.
class RulesIdentifiedReport : public testing::Test {
 protected:
  RulesIdentifiedReport() {
    fleet_.Register("h1", 1, "machine-a");
    fleet_.Register("h2", 2, "machine-b");
    EXPECT_EQ(Report("h1", 1, "cn1{VCPU:8}\n  gpu{VGPU:4}", 1), "OK");
    fleet_.world.Add("pool{DISK_GB:100}\n  shelf{DISK_GB:10}");
  }

  ApplyReport Make(const std::string& host, int process, const std::string& notation,
                   int64_t sequence) {
    ApplyReport report = fleet_.MakeReport(host, process, notation, sequence);
    report.identified = true;
    return report;
  }
  std::string Report(const std::string& host, int process, const std::string& notation,
                     int64_t sequence) {
    return fleet_.Send(Make(host, process, notation, sequence));
  }
  ProviderId Provider(const std::string& name) { return fleet_.world.provider(name); }
  // How placement refuses the command: the reason, the message, and the first item.
  std::string Refusal(const CommandBody& command) {
    const absl::Status status = fleet_.world.Do(command).status();
    const auto refusal = RefusalOf(status);
    std::string text = refusal ? refusal->reason : "no refusal";
    absl::StrAppend(&text, ": ", status.message());
    if (!refusal || refusal->items.empty()) return text;
    for (const auto& [key, value] : refusal->items[0]) absl::StrAppend(&text, " ", key, "=", value);
    return text;
  }

  FleetWorld fleet_;
};

TEST_F(RulesIdentifiedReport, TakesNoNodeOfAnotherHost) {
  EXPECT_EQ(Report("h2", 2, "cn1{VCPU:8}", 1), "POLICY_DENIED");  // T-387
  ASSERT_EQ(fleet_.Mark("h1", 1, false), "OK");
  EXPECT_EQ(Report("h2", 2, "cn1{VCPU:8}", 1), "POLICY_DENIED");  // T-22, T-387: it is down
  ASSERT_EQ(fleet_.Update("h1", std::nullopt, "", true), "OK");
  EXPECT_EQ(Report("h2", 2, "cn1{VCPU:8}", 1), "POLICY_DENIED");  // T-387: declared down
  EXPECT_EQ(fleet_.node("cn1").host, "h1");
  ASSERT_EQ(fleet_.Answer(DeleteService{"h1", "berth-tracker"}), "OK");  // with its node and tree
  EXPECT_EQ(Report("h2", 2, "cn1{VCPU:8}", 1), "OK");
}

TEST_F(RulesIdentifiedReport, GetsTheNodeThatAnOperatorMoves) {
  ASSERT_EQ(fleet_.Mark("h1", 1, false), "OK");
  ASSERT_EQ(fleet_.Answer(MoveNode{Provider("cn1"), "h1", "h2", std::nullopt}), "OK");
  EXPECT_EQ(Report("h2", 2, "cn1{VCPU:8}\n  gpu{VGPU:4}", 1), "OK");  // T-22, T-387
  ASSERT_EQ(fleet_.Mark("h1", 1, true), "OK");
  EXPECT_EQ(Report("h1", 1, "cn1{VCPU:8}", 2), "POLICY_DENIED");  // T-387: it is h2's now
}

TEST_F(RulesIdentifiedReport, TakesNoTreeThatOperatorsMade) {
  EXPECT_EQ(Report("h2", 2, "pool{DISK_GB:100}", 1), "POLICY_DENIED");  // T-22, T-387
  EXPECT_EQ(Report("h2", 2, "shelf{DISK_GB:10}", 1), "POLICY_DENIED");  // T-387
  EXPECT_EQ(Report("h2", 2, "gpu{VGPU:4}", 1), "POLICY_DENIED");        // T-387: below a node
  EXPECT_EQ(Report("h1", 1, "gpu{VGPU:4}", 1), "POLICY_DENIED");        // below its own, too
  EXPECT_FALSE(fleet_.HasNode("pool"));
  EXPECT_EQ(Report("h2", 2, "cn2{VCPU:8}", 1), "OK");  // T-9: what does not exist is new
}

TEST_F(RulesIdentifiedReport, AddsNothingBelowWhatIsNotItsOwn) {
  ASSERT_EQ(Report("h2", 2, "cn2{VCPU:8}", 1), "OK");
  for (const char* parent : {"cn1", "gpu", "pool", "shelf", "nothing"}) {
    ApplyReport report = Make("h2", 2, "cn2{VCPU:8}\n  child{VCPU:1}", 2);
    report.complete = false;
    report.providers[1].parent = Provider(parent);
    EXPECT_EQ(fleet_.Send(report), "POLICY_DENIED") << parent;
    report = Make("h2", 2, std::string("cn2{VCPU:8}\n  ") + parent + "{VCPU:1}", 2);
    EXPECT_EQ(fleet_.Send(report), parent == std::string("nothing") ? "OK" : "POLICY_DENIED");
  }
}

TEST_F(RulesIdentifiedReport, GetsATreeThatAnOperatorGivesToItsHost) {
  World& world = fleet_.world;
  ASSERT_EQ(fleet_.Update("h2", true, "why", std::nullopt), "OK");
  world.Must(ParseCommand(world, "claim c1 new pool{DISK_GB:5} shelf{DISK_GB:1}"));
  const ProviderConfig before = world.place("pool").config();
  const ProviderConfig child = world.place("shelf").config();
  ASSERT_EQ(fleet_.Answer(CreateNode{before.id, "pool", "h2"}), "OK");
  EXPECT_TRUE(fleet_.last.result.created);
  const ProviderConfig after = world.place("pool").config();
  EXPECT_EQ(after.generation, before.generation.Next());
  EXPECT_EQ(after.inventories, before.inventories);
  EXPECT_EQ(after.created_at, before.created_at);
  EXPECT_TRUE(fleet_.HasTrait("pool", "OWNER_NOVA"));
  EXPECT_TRUE(fleet_.HasTrait("pool", "COMPUTE_STATUS_DISABLED"));  // T-295
  EXPECT_EQ(world.place("shelf").config().generation, child.generation);
  EXPECT_EQ(world.used("pool", "DISK_GB"), 5);
  EXPECT_EQ(world.used("shelf", "DISK_GB"), 1);
  EXPECT_EQ(fleet_.node("pool").host, "h2");
  EXPECT_EQ(Report("h1", 1, "pool{DISK_GB:100}", 1), "POLICY_DENIED");  // T-387
  ASSERT_EQ(Report("h2", 2, "pool{DISK_GB:90}", 1), "OK");              // T-22, T-387
  EXPECT_FALSE(fleet_.last.result.created);
  EXPECT_TRUE(fleet_.Has("shelf"));  // T-202: no tracker made it
}

TEST_F(RulesIdentifiedReport, ATreeIsGivenToItsHostInOrder) {
  fleet_.world.Must(EnsureTrait{"CUSTOM_KEPT"});
  fleet_.world.Must(ParseCommand(fleet_.world, "traits pool@ CUSTOM_KEPT"));
  CreateNode command{Provider("shelf"), "cn1", "h1"};
  EXPECT_EQ(fleet_.Answer(command), "DUPLICATE_NODE");  // the name on this host
  command.host = "h9";
  EXPECT_EQ(Refusal(command).substr(0, 18), "DUPLICATE_PROVIDER");  // it is no root
  EXPECT_NE(Refusal(command).find("field=node_uuid"), std::string::npos) << Refusal(command);
  command.node = Provider("pool");
  EXPECT_NE(Refusal(command).find("field=name"), std::string::npos) << Refusal(command);
  EXPECT_NE(Refusal(command).find("give the node the name pool"), std::string::npos);
  command.name = "pool";
  EXPECT_EQ(fleet_.Answer(command), "OK");  // its host has no tracker yet
  EXPECT_TRUE(fleet_.HasTrait("pool", "CUSTOM_KEPT"));
  EXPECT_FALSE(fleet_.HasTrait("pool", "COMPUTE_STATUS_DISABLED"));
  EXPECT_EQ(fleet_.Answer(command), "DUPLICATE_NODE");  // the uuid
}

// Without certificates nobody knows whether the host is the one that it says it is.
TEST_F(RulesIdentifiedReport, OthersTakeOverAsBefore) {
  EXPECT_EQ(fleet_.Report("h2", 2, "pool{DISK_GB:100}\n  shelf{DISK_GB:10}", 1), "OK");  // T-22
  ASSERT_EQ(fleet_.Mark("h1", 1, false), "OK");
  EXPECT_EQ(fleet_.Report("h2", 2, "cn1{VCPU:8}", 1), "OK");  // T-22, T-387
}

// Of what is not its own a tracker learns nothing from a refusal, beside what it has said itself.
TEST_F(RulesIdentifiedReport, IsToldNothingOfOthers) {
  ASSERT_EQ(Report("h2", 2, "cn2{VCPU:8}", 1), "OK");
  const ApplyReport own = Make("h2", 2, "cn2{VCPU:8}\n  child{VCPU:1}", 2);
  const auto hides = [this](const ApplyReport& report, const std::string& secret) {
    const std::string told = Refusal(report);
    EXPECT_EQ(told.find(secret), std::string::npos) << told;
    return told.substr(0, told.find(':'));
  };
  ApplyReport report = Make("h2", 2, "cn1{VCPU:8}", 1);
  report.node_name = report.providers[0].name = "guess";
  EXPECT_EQ(hides(report, "h1"), "POLICY_DENIED");
  EXPECT_EQ(hides(report, "cn1"), "POLICY_DENIED");
  report = own;
  report.providers[1].id = Provider("gpu");
  EXPECT_EQ(hides(report, "gpu"), "POLICY_DENIED");
  report = own;
  report.providers[1].name = "gpu";
  EXPECT_EQ(hides(report, Provider("gpu").ToString()), "DUPLICATE_PROVIDER");
  report.providers[1].name = "cn1";
  EXPECT_EQ(hides(report, Provider("cn1").ToString()), "DUPLICATE_PROVIDER");
  // A late repeat is answered with the providers of the node alone.
  report = own;
  report.sequence = 1;
  report.digest = "digest 1";
  report.providers[1].id = Provider("gpu");
  ASSERT_EQ(fleet_.Send(report), "OK");
  ASSERT_EQ(fleet_.last.result.providers.size(), 1u);
  EXPECT_EQ(fleet_.last.result.providers[0].config->id, Provider("cn2"));
}

// A consumer that holds nothing on the node is as one that does not exist, whatever it holds.
TEST_F(RulesIdentifiedReport, IsToldNothingOfConsumersElsewhere) {
  World& world = fleet_.world;
  ASSERT_EQ(Report("h2", 2, "cn2{VCPU:8}", 1), "OK");
  world.Must(ParseCommand(world, "claim c1 new cn1{VCPU:1}"));
  const auto answer = [&](const char* consumer, Generation expected) {
    ApplyReport report = Make("h2", 2, "cn2{VCPU:8}", 2);
    report.holdings.push_back(
        {world.consumer(consumer), expected, world.Claim(consumer, "cn2{VCPU:1}").allocations});
    std::string told = Refusal(report);
    const std::string uuid = world.consumer(consumer).ToString();
    for (size_t at = told.find(uuid); at != std::string::npos; at = told.find(uuid)) {
      told.replace(at, uuid.size(), "ID");
    }
    return told;
  };
  const Generation right = *world.consumer_generation("c1");
  const std::string of_none = answer("nobody", right);
  EXPECT_EQ(of_none.substr(0, 28), "CONSUMER_GENERATION_CONFLICT");
  EXPECT_EQ(answer("c1", right), of_none);
  EXPECT_EQ(answer("c1", right.Next()), answer("nobody", right.Next()));
}

// Writes of records by the tracker of h3. The instance `vm` moves from h1 to h2.
class RulesIdentifiedWrite : public testing::Test {
 protected:
  RulesIdentifiedWrite() { move_.Begin(MigrationType::kLive); }

  static TrackerProcess Tracker(int number) {
    TrackerProcess tracker = MoveWorld::Tracker(number);
    tracker.identified = true;
    return tracker;
  }
  // Every command of a tracker that names an instance or a migration.
  std::vector<CommandBody> Writes(int number, InstanceId instance, MigrationId migration,
                                  Generation generation) {
    const TrackerProcess tracker = Tracker(number);
    const ProviderId node = move_.world().provider("n" + tracker.host.substr(1));
    InstanceRecord record = move_.On(number);
    record.id = instance;
    MigrationRecord another = move_.Move(MigrationType::kLive, 1, number);
    another.id = MigrationId{Uuid{12, 1}};
    another.instance = instance;
    MigrationRecord same = another;
    same.id = migration;
    EndMove end;
    end.migration = migration;
    end.end = MoveEnd::kFailed;
    end.expected_generation = end.expected_instance_generation = generation;
    end.tracker = tracker;
    WriteRecords claim{tracker, node, instance, generation, CpuWrite(tracker.host, node, "4"), {}};
    WriteRecords move = claim;
    move.migration = MigrationEdit{migration, generation, {}, "running", tracker.host, node};
    WriteRecords withdrawal = claim;
    withdrawal.written = nullptr;
    return {SetInstance{record, generation, tracker},
            SetInstance{record, std::nullopt, tracker},
            CreateMigration{another, tracker},
            CreateMigration{same, tracker},
            UpdateMigration{migration, "accepted", "running", {}, {}, tracker},
            UpdateMigration{migration, "no such", "running", {}, {}, tracker},
            end,
            claim,
            move,
            withdrawal};
  }
  // The whole answer, with `id` for the ids.
  std::string Told(const CommandBody& command, InstanceId instance, MigrationId migration) {
    const absl::Status status = move_.world().Do(command).status();
    std::string told = status.ToString();
    for (const std::string& id : {instance.ToString(), migration.ToString()}) {
      for (size_t at = told.find(id); at != std::string::npos; at = told.find(id)) {
        told.replace(at, id.size(), "id");
      }
    }
    const auto refusal = RefusalOf(status);
    return refusal ? refusal->reason + " " + told : told;
  }

  MoveWorld move_;
};

TEST_F(RulesIdentifiedWrite, CannotTellOthersRecordsFromThoseThatDoNotExist) {
  const InstanceId no_instance{Uuid{99, 1}};
  const MigrationId no_migration{Uuid{99, 2}};
  for (const Generation generation :
       {move_.Instance()->generation, move_.Migration()->generation, Generation{12345}}) {
    const auto others = Writes(3, move_.vm(), move_.move(), generation);
    const auto missing = Writes(3, no_instance, no_migration, generation);
    for (size_t i = 0; i < others.size(); ++i) {
      const std::string told = Told(others[i], move_.vm(), move_.move());
      EXPECT_EQ(told.substr(0, 13), "POLICY_DENIED") << i << " " << told;  // T-386
      EXPECT_EQ(told, Told(missing[i], no_instance, no_migration)) << i;
      EXPECT_EQ(told.find("h1"), std::string::npos) << told;
    }
  }
}

// It chooses the uuid of its migration, whose end releases the consumer with this uuid.
TEST_F(RulesIdentifiedWrite, CreatesNoMigrationWithAUuidThatIsInUse) {
  World& world = move_.world();
  move_.HoldFor("foreign", "n2{VCPU:1}", "project");
  InstanceRecord other = move_.On(2);
  other.id = InstanceId{world.consumer("other").uuid};
  ASSERT_EQ(move_.Answer(SetInstance{other, std::nullopt}), "OK");
  MigrationRecord record = move_.Move(MigrationType::kLive, 1, 2);
  const auto told = [&](const char* name) {
    record.id = MigrationId{name != nullptr ? world.consumer(name).uuid : Uuid{99, 2}};
    return Told(CreateMigration{record, Tracker(1)}, move_.vm(), record.id);
  };
  const std::string in_use = told("foreign");
  EXPECT_EQ(in_use.substr(0, 13), "POLICY_DENIED") << in_use;  // T-386
  EXPECT_EQ(told("other"), in_use);
  EXPECT_EQ(told("move"), in_use);
  // What is denied for another reason does not tell which uuids are in use.
  record.destination_host = "h9";
  record.destination_node.reset();
  const std::string denied = told(nullptr);
  EXPECT_EQ(denied.substr(0, 13), "POLICY_DENIED") << denied;
  for (const char* name : {"foreign", "other", "move"}) EXPECT_EQ(told(name), denied) << name;
  record = move_.Move(MigrationType::kLive, 1, 2);
  EXPECT_EQ(told(nullptr), "OK");
  // Others make the consumer first (T-221), and are told what has the uuid.
  record.id = MigrationId{world.consumer("other").uuid};
  EXPECT_EQ(move_.Answer(CreateMigration{record, MoveWorld::Tracker(1)}),
            "UUID_IN_USE migration.uuid");
  record.id = move_.move();
  EXPECT_EQ(move_.Answer(CreateMigration{record, MoveWorld::Tracker(1)}),
            "DUPLICATE_MIGRATION migration.uuid");
  record.id = MigrationId{world.consumer("foreign").uuid};
  EXPECT_EQ(move_.Answer(CreateMigration{record, MoveWorld::Tracker(1)}), "OK");
}

TEST_F(RulesIdentifiedWrite, WritesWhatConcernsItsHost) {
  const auto set = [&](int number) {
    InstanceRecord record = move_.On(number);
    return move_.Answer(SetInstance{record, move_.Instance()->generation, Tracker(number)});
  };
  EXPECT_EQ(set(3), "POLICY_DENIED instance");
  EXPECT_EQ(set(1), "OK");
  EXPECT_EQ(set(2), "OK");  // by the migration
  EXPECT_EQ(move_.Answer(SetInstance{move_.On(1), Generation{1}, Tracker(1)}),
            "RECORD_CONFLICT instance");
  EndMove end = move_.End(MoveEnd::kCompleted, 2);
  end.tracker = Tracker(1);
  EXPECT_EQ(move_.Answer(end), "OK");
  EXPECT_EQ(set(1), "POLICY_DENIED instance");  // it has left
}

// The host of a destination that a scheduler has chosen: the instance holds something there.
TEST_F(RulesIdentifiedWrite, MayBecomeADestination) {
  UpdateMigration open{move_.move(), "accepted", "", "", {}};
  open.destination_node.emplace();
  ASSERT_EQ(move_.Answer(open), "OK");
  const auto update = [&](int number) {
    const TrackerProcess tracker = Tracker(number);
    return move_.Answer(UpdateMigration{move_.move(), "accepted", "", tracker.host, {}, tracker});
  };
  EXPECT_EQ(update(3), "POLICY_DENIED migration");
  move_.Hold("vm", "n3{VCPU:3}");
  EXPECT_EQ(update(3), "OK");  // T-168
}

// A down host keeps what is its own: its instances and its moves.
TEST_F(RulesIdentifiedWrite, NotOfAHostThatIsDown) {
  for (const int host : {1, 2}) {
    ASSERT_EQ(move_.fleet.Mark(absl::StrCat("h", host), host, false), "OK");
  }
  for (const CommandBody& write :
       Writes(3, move_.vm(), move_.move(), move_.Instance()->generation)) {
    const std::string told = Told(write, move_.vm(), move_.move());
    EXPECT_EQ(told.substr(0, 13), "POLICY_DENIED") << told;  // T-386
  }
}

}  // namespace
}  // namespace berth::placement
