// Which migrations count, and how much (T-123 to T-137).
#include "tracker/account/gates.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/account/sample_records.h"
#include "tracker/account/migration_status.h"

namespace berth::tracker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Flavor kSmall = MakeFlavor("small", 1, 512, 1);
const Flavor kLarge = MakeFlavor("large", 8, 16384, 80);

// An instance that is being rebuilt elsewhere, and its evacuation with the status.
Instance Evacuated() {
  Instance instance = MakeInstance("i", kThere, kLarge);
  instance.task_state = "rebuilding";
  return instance;
}

bool Holds(const Instance& instance, const Migration& migration) {
  return JudgeMigrations(kHere, instance, {&migration}).hold.has_value();
}

TEST(MigrationStatus, EveryWordHasItsMeaning) {
  const char* in_progress[] = {
      "accepted",      "queued",     "preparing",      "running",
      "pre-migrating", "migrating",  "post-migrating", "running (post-copy)",
      "finished",      "confirming", "reverting",      "error"};
  for (const char* word : in_progress) {  // C-2
    const Migration migration =
        MakeMigration(Evacuated(), MigrationType::kEvacuation, word, kHere, kThere);
    EXPECT_TRUE(IsKnownStatus(word)) << word;
    EXPECT_TRUE(IsCandidate(kHere, migration)) << word;  // T-123, T-124, T-125
    EXPECT_EQ(StatusOf(word).progress == Progress::kInProgress, std::string(word) != "error");
  }
  for (const char* word : {"confirmed", "reverted", "failed", "completed", "cancelled", "done"}) {
    const Migration migration =
        MakeMigration(Evacuated(), MigrationType::kEvacuation, word, kHere, kThere);
    EXPECT_FALSE(IsCandidate(kHere, migration)) << word;  // T-123, T-124: `done` is over
    EXPECT_EQ(StatusOf(word).progress, Progress::kOver) << word;
  }
  EXPECT_FALSE(IsKnownStatus("flying"));
  EXPECT_EQ(StatusOf("flying").progress, Progress::kInProgress);  // T-125
  EXPECT_EQ(StatusOf("").progress, Progress::kInProgress);        // T-125: no status at all
  std::vector<absl::string_view> live;
  for (const MigrationStatus& status : MigrationStatuses()) {
    if (status.moves_live) live.push_back(status.word);
  }
  EXPECT_THAT(live, ElementsAre("queued", "preparing", "running", "post-migrating"));  // T-127
}

TEST(Gates, EachGateIsEnough) {
  const Instance open = Evacuated();
  const Migration in_progress =
      MakeMigration(open, MigrationType::kEvacuation, "accepted", kHere, kThere);
  EXPECT_TRUE(Holds(open, in_progress));
  Migration done = in_progress;
  done.status = "done";
  EXPECT_FALSE(Holds(open, done));  // T-130: the status alone
  Instance idle = open;
  idle.task_state = "";
  EXPECT_FALSE(Holds(idle, in_progress));  // T-130, T-129: the state alone
  Migration elsewhere = in_progress;
  elsewhere.source = {"h1", "node-3"_uuid};
  EXPECT_FALSE(Holds(open, elsewhere));  // T-123: another node of the same host
  Instance other = open;
  other.context = MigrationContext();
  other.context->migration_uuid = "another"_uuid;
  const MigrationJudgement judged = JudgeMigrations(kHere, other, {&in_progress});
  EXPECT_FALSE(judged.hold.has_value());             // T-129
  EXPECT_THAT(judged.stale, ElementsAre("m"_uuid));  // T-129
  Migration failing = in_progress;
  failing.status = "error";
  EXPECT_THAT(JudgeMigrations(kHere, other, {&failing}).stale, IsEmpty());
  other.context->migration_uuid = "m"_uuid;
  EXPECT_TRUE(Holds(other, in_progress));
  other.context->migration_uuid = ""_uuid;
  EXPECT_TRUE(Holds(other, in_progress));
}

TEST(Gates, StatesOfAMove) {
  struct Case {
    const char* vm_state;
    const char* task_state;
    bool moving;
  };
  const Case cases[] = {
      {"resized", "", true},           {"resized", "deleting", true},
      {"active", "resize_prep", true}, {"stopped", "resize_finish", true},
      {"active", "rebuilding", true},  {"stopped", "rebuild_spawning", true},
      {"active", "migrating", true},   {"paused", "migrating", true},
      {"stopped", "migrating", false}, {"paused", "resize_prep", false},
      {"error", "rebuilding", false},  {"active", "", false},
      {"active", "spawning", false},   {"active", "resize_reverting", false},
  };
  for (const Case& c : cases) {
    Instance instance = MakeInstance("i", kThere, kSmall);
    instance.vm_state = c.vm_state;
    instance.task_state = c.task_state;
    EXPECT_EQ(IsMoving(instance), c.moving) << c.vm_state << "/" << c.task_state;  // T-129
  }
}

TEST(Gates, TheNewestMigrationCounts) {
  const Instance instance = Evacuated();
  Migration old = MakeMigration(instance, MigrationType::kEvacuation, "accepted", kHere, kThere);
  Migration young = old;
  young.uuid = "young"_uuid;
  young.created_at += absl::Seconds(5);
  const auto counted = [&] { return JudgeMigrations(kHere, instance, {&old, &young}).hold; };
  EXPECT_EQ(counted()->migration_uuid, "young"_uuid);  // T-129: created later
  old.updated_at = absl::UnixEpoch() + absl::Seconds(9);
  EXPECT_EQ(counted()->migration_uuid, "m"_uuid);  // T-129: changed later
  young.updated_at = old.updated_at;
  EXPECT_EQ(counted()->migration_uuid, "m"_uuid);  // strictly later replaces
  old.status = "failed";
  EXPECT_EQ(counted()->migration_uuid, "young"_uuid);  // T-129: only a candidate counts
}

// An instance whose size changes from small to large.
Instance Resized(HostAndNode on, Flavor flavor) {
  Instance instance = MakeInstance("i", std::move(on), std::move(flavor));
  instance.vm_state = "resized";
  instance.context = MigrationContext();
  instance.context->migration_uuid = "m"_uuid;
  instance.context->old_flavor = kSmall;
  instance.context->new_flavor = kLarge;
  return instance;
}

Migration Resize(HostAndNode source, HostAndNode destination) {
  Migration migration = MakeMigration(Resized(kHere, kSmall), MigrationType::kResize, "finished",
                                      std::move(source), std::move(destination));
  migration.new_flavor_id = kLarge.id;
  return migration;
}

TEST(HowMuch, EveryCase) {
  struct Case {
    const char* name;
    Instance instance;
    Migration migration;
    const char* flavor;  // null: nothing is held
    Side side;
  };
  const Case cases[] = {
      {"same host, not switched", Resized(kHere, kSmall), Resize(kHere, kHere), "large",
       Side::kNew},
      {"same host, switched", Resized(kHere, kLarge), Resize(kHere, kHere), "small", Side::kOld},
      {"comes, is elsewhere", Resized(kThere, kSmall), Resize(kThere, kHere), "large", Side::kNew},
      {"went away", Resized(kThere, kLarge), Resize(kHere, kThere), "small", Side::kOld},
      {"comes, is here", Resized(kHere, kLarge), Resize(kThere, kHere), nullptr, Side::kNew},
      {"goes, is here", Resized(kHere, kSmall), Resize(kHere, kThere), nullptr, Side::kNew},
  };
  for (const Case& c : cases) {
    const auto hold = JudgeMigrations(kHere, c.instance, {&c.migration}).hold;
    ASSERT_EQ(hold.has_value(), c.flavor != nullptr) << c.name;  // T-133
    if (!hold.has_value()) continue;
    EXPECT_EQ(hold->flavor.id, c.flavor) << c.name;  // T-133, T-135
    EXPECT_EQ(hold->side, c.side) << c.name;         // T-133
  }
}

// If the move keeps the flavor, one thing that nobody else may have tells whether it has switched.
TEST(HowMuch, AMoveOnOneNodeThatKeepsTheFlavor) {
  const Assigned pinned = {MakePinned({3}), {}, {}};
  Assigned reserved = {MakePinned({}), {}, {}};
  reserved.topology->cells[0].reserved_cpus = {3};
  const Assigned device = {std::nullopt, {"0000:81:00.0"}, {}};
  const Assigned unit = {std::nullopt, {}, {{"units"_uuid, "CUSTOM_A", "one"}}};
  Assigned large = {MakePinned({}), {}, {}};
  large.topology->cells[0].memory_mib = 1024;
  const auto side = [](MigrationType type, const Assigned& own, const Assigned& before,
                       const Assigned& after) {
    Instance instance = Resized(kHere, kSmall);
    instance.assigned = own;
    instance.context->old_assigned = before;
    instance.context->new_assigned = after;
    instance.context->new_flavor = kSmall;
    Migration migration = Resize(kHere, kHere);
    migration.type = type;
    migration.new_flavor_id = kSmall.id;
    const MigrationJudgement judged = JudgeMigrations(kHere, instance, {&migration});
    EXPECT_EQ(judged.arrives, judged.hold->side == Side::kOld);
    return judged.hold->side;
  };
  const Assigned none = {};
  for (const MigrationType type : {MigrationType::kCold, MigrationType::kResize}) {
    for (const Assigned& thing : {pinned, reserved, device, unit}) {
      EXPECT_EQ(side(type, none, none, thing), Side::kNew);   // T-133
      EXPECT_EQ(side(type, thing, none, thing), Side::kOld);  // T-133, T-395
      EXPECT_EQ(side(type, thing, thing, none), Side::kNew);  // T-395
      EXPECT_EQ(side(type, none, thing, none), Side::kOld);   // T-133, T-395
      EXPECT_EQ(side(type, thing, none, none), Side::kNew) << "it is like neither side";
    }
    EXPECT_EQ(side(type, none, none, none), Side::kNew);
    EXPECT_EQ(side(type, large, none, large), Side::kNew) << "memory of cells tells nothing";
  }
}

TEST(HowMuch, OnlyAResizeChangesTheFlavor) {
  const Instance instance = Resized(kThere, kSmall);
  Migration migration = Resize(kThere, kHere);
  for (MigrationType type :
       {MigrationType::kCold, MigrationType::kLive, MigrationType::kEvacuation}) {
    migration.type = type;
    EXPECT_EQ(JudgeMigrations(kHere, instance, {&migration}).hold->flavor.id, "small");  // T-128
  }
}

TEST(HowMuch, AMissingFlavorHoldsNothing) {
  Instance instance = Resized(kThere, kSmall);
  const Migration migration = Resize(kThere, kHere);
  instance.context->new_flavor.reset();
  const MigrationJudgement judged = JudgeMigrations(kHere, instance, {&migration});
  EXPECT_FALSE(judged.hold.has_value());
  EXPECT_EQ(judged.without_flavor, "m"_uuid);  // T-129, gate 6
  EXPECT_THAT(judged.stale, IsEmpty());
}

TEST(Arrival, ASwitchedInstanceHasTheNewValues) {
  const Migration comes = Resize(kThere, kHere);
  EXPECT_TRUE(JudgeMigrations(kHere, Resized(kHere, kLarge), {&comes}).arrives);
  EXPECT_FALSE(JudgeMigrations(kHere, Resized(kThere, kLarge), {&comes}).arrives);
  const Migration stays = Resize(kHere, kHere);
  EXPECT_TRUE(JudgeMigrations(kHere, Resized(kHere, kLarge), {&stays}).arrives);
  EXPECT_FALSE(JudgeMigrations(kHere, Resized(kHere, kSmall), {&stays}).arrives);  // T-395
  Migration over = comes;
  over.status = "completed";
  EXPECT_FALSE(JudgeMigrations(kHere, Resized(kHere, kLarge), {&over}).arrives);
  Instance leaves = Resized(kHere, kLarge);
  leaves.context->migration_uuid = "later migration"_uuid;
  EXPECT_FALSE(JudgeMigrations(kHere, leaves, {&comes}).arrives);  // T-50
  leaves.context->migration_uuid = ""_uuid;
  EXPECT_FALSE(JudgeMigrations(kHere, leaves, {&comes}).arrives);  // T-50
}

TEST(Removable, StatesThatTakeNothing) {
  struct Case {
    const char* vm_state;
    const char* task_state;
    bool counts;
  };
  const Case cases[] = {
      {"shelved_offloaded", "", false}, {"shelved_offloaded", "spawning", true},
      {"deleted", "", false},           {"stopped", "", true},
      {"soft-delete", "", true},        {"error", "", true},
  };
  for (const Case& c : cases) {  // C-19
    Instance instance = MakeInstance("i", kHere, kSmall);
    instance.vm_state = c.vm_state;
    instance.task_state = c.task_state;
    EXPECT_EQ(CountsOn(kHere, instance), c.counts) << c.vm_state;  // T-112
  }
  Instance deleted = MakeInstance("i", kHere, kSmall);
  deleted.deleted = true;
  EXPECT_FALSE(CountsOn(kHere, deleted));                                           // T-111
  EXPECT_FALSE(CountsOn(kHere, MakeInstance("i", {"h1", "node-3"_uuid}, kSmall)));  // T-111
}

}  // namespace
}  // namespace berth::tracker
