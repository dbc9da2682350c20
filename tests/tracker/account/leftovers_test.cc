// What ended moves and deleted instances leave on a node.
#include "tracker/account/leftovers.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/account/sample_records.h"

namespace berth::tracker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Flavor kFlavor = MakeFlavor("f", 1, 512, 1);

TEST(Consumers, EveryVerdict) {
  NodeAccount account(kHere, NodeResources());
  account.PutInstance(MakeInstance("tracked", kHere, kFlavor));
  Instance moving = MakeInstance("moving", kThere, kFlavor);
  moving.task_state = "migrating";
  account.PutInstance(moving);
  account.PutMigration(MakeMigration(moving, MigrationType::kLive, "running", kThere, kHere));
  std::map<Uuid, Instance> records;
  const auto record = [&](const char* uuid, HostAndNode on) -> Instance& {
    return records.emplace(ShortUuid(uuid), MakeInstance(uuid, std::move(on), kFlavor))
        .first->second;
  };
  record("tracked", kHere).deleted = true;  // the first verdict that applies is taken
  record("deleted", kHere).deleted = true;
  Instance& hidden = record("hidden", kHere);
  hidden.deleted = true;
  hidden.hidden = true;
  record("unplaced", {});
  record("idle", kHere).vm_state = "shelved_offloaded";
  record("busy", kHere).task_state = "deleting";
  record("elsewhere", kThere);
  const std::set<Uuid> consumers = {"tracked"_uuid, "m"_uuid,      "unknown"_uuid,
                                    "deleted"_uuid, "hidden"_uuid, "unplaced"_uuid,
                                    "idle"_uuid,    "busy"_uuid,   "elsewhere"_uuid};
  EXPECT_THAT(JudgeConsumers(account, records, consumers),  // T-143
              ElementsAre(JudgedConsumer{"busy"_uuid, ConsumerVerdict::kUntracked, false},
                          JudgedConsumer{"deleted"_uuid, ConsumerVerdict::kDeleted, false},
                          JudgedConsumer{"elsewhere"_uuid, ConsumerVerdict::kElsewhere, true},
                          JudgedConsumer{"hidden"_uuid, ConsumerVerdict::kHidden, false},
                          JudgedConsumer{"idle"_uuid, ConsumerVerdict::kUntracked, true},
                          JudgedConsumer{"m"_uuid, ConsumerVerdict::kMigration, false},
                          JudgedConsumer{"tracked"_uuid, ConsumerVerdict::kTracked, false},
                          JudgedConsumer{"unknown"_uuid, ConsumerVerdict::kUnknown, false},
                          JudgedConsumer{"unplaced"_uuid, ConsumerVerdict::kUnplaced, false}));
}

TEST(Evacuated, EveryCase) {
  struct Case {
    const char* name;
    const char* status;
    HostAndNode source;
    HostAndNode instance_on;
    bool found;
    EvacuationCleanup cleanup;
  };
  const HostAndNode foreign = {"h1", "node-9"_uuid};
  const Case cases[] = {
      {"done", "done", kHere, kThere, true, EvacuationCleanup::kDestroy},
      {"accepted", "accepted", kHere, kThere, true, EvacuationCleanup::kDestroy},
      {"preparing", "pre-migrating", kHere, kThere, true, EvacuationCleanup::kDestroy},
      {"cleaned up", "completed", kHere, kThere, false, {}},
      {"failed", "failed", kHere, kThere, false, {}},
      {"of another host", "done", kThere, kThere, false, {}},
      {"still here", "accepted", kHere, kHere, true, EvacuationCleanup::kKeepAndFail},
      {"foreign node", "done", foreign, kThere, true, EvacuationCleanup::kDestroyOnly},
      {"here, foreign node", "done", foreign, kHere, true, EvacuationCleanup::kKeepAndFail},
  };
  for (const Case& c : cases) {
    const Instance instance = MakeInstance("i", c.instance_on, kFlavor);
    const Migration migration =
        MakeMigration(instance, MigrationType::kEvacuation, c.status, c.source, kThere);
    const auto found = FindEvacuated("h1", {"node-1"_uuid}, {"i"_uuid}, {{"m"_uuid, migration}},
                                     {{"i"_uuid, instance}});
    ASSERT_EQ(found.size(), c.found ? 1 : 0) << c.name;  // T-146
    if (!found.empty()) {
      EXPECT_EQ(found[0].cleanup, c.cleanup) << c.name;  // T-146, T-147
    }
    EXPECT_THAT(
        FindEvacuated("h1", {"node-1"_uuid}, {}, {{"m"_uuid, migration}}, {{"i"_uuid, instance}}),
        IsEmpty());
  }
}

TEST(Evacuated, AnInstanceWithoutRecordIsGone) {
  const Instance instance = MakeInstance("i", kThere, kFlavor);
  Migration migration = MakeMigration(instance, MigrationType::kEvacuation, "done", kHere, kThere);
  EXPECT_THAT(
      FindEvacuated("h1", {"node-1"_uuid}, {"i"_uuid}, {{"m"_uuid, migration}}, {}),
      ElementsAre(EvacuatedGuest{"m"_uuid, "i"_uuid, EvacuationCleanup::kDestroy, true}));  // T-146
  migration.source.node_uuid = "node-9"_uuid;  // nothing is to be cleaned but the guest
  EXPECT_THAT(
      FindEvacuated("h1", {"node-1"_uuid}, {"i"_uuid}, {{"m"_uuid, migration}}, {}),
      ElementsAre(EvacuatedGuest{"m"_uuid, "i"_uuid, EvacuationCleanup::kDestroy, true}));  // T-146
  migration.type = MigrationType::kLive;
  EXPECT_THAT(FindEvacuated("h1", {"node-1"_uuid}, {"i"_uuid}, {{"m"_uuid, migration}}, {}),
              IsEmpty());
}

}  // namespace
}  // namespace berth::tracker
