// The ends of claims and moves (T-165 to T-179).
#include "tracker/claims/ending.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/account/sample_records.h"
#include "tests/tracker/claims/arrivals.h"
#include "tracker/claims/answers.h"
#include "tracker/claims/claim.h"

namespace berth::tracker {
namespace {

using ::testing::IsEmpty;

NodeResources PlainHost() {
  NodeResources resources;
  resources.total = {8, 4096, 100 * kMibPerGib};
  resources.topology = MakeTopology();
  return resources;
}

void WriteTo(const Ending& ending, NodeAccount* account) {
  if (ending.migration.has_value()) account->PutMigration(*ending.migration);
  if (ending.instance.has_value()) account->PutInstance(*ending.instance);
}

OpenClaim InstanceClaimOn(NodeAccount* account) {
  InstanceClaim request;
  request.id = "claim";
  request.node_uuid = kHere.node_uuid;
  request.instance = MakeInstance("a", {}, MakeFlavor("f", 2, 512, 10));
  request.instance.vm_state = "building";
  GuestTopology wanted = MakePinned({0, 1});
  wanted.cells[0].host_cell.reset();
  wanted.cells[0].pinning.clear();
  request.instance.assigned.topology = wanted;
  return *ClaimInstance(ClaimSettings(), request, account);
}

TEST(AbortClaim, GivesBackAnOpenClaim) {
  NodeAccount account(kHere, PlainHost());
  const NodeAccount before = account;
  const OpenClaim claim = InstanceClaimOn(&account);
  const Ending ending = AbortClaim(claim, nullptr, nullptr, "failed", &account);
  EXPECT_FALSE(ending.instance.has_value());
  EXPECT_EQ(account, before);  // T-165, T-167
}

TEST(AbortClaim, GivesBackARecordedClaim) {
  NodeAccount account(kHere, PlainHost());
  const NodeAccount before = account;
  const OpenClaim claim = InstanceClaimOn(&account);
  account.PutInstance(claim.instance);
  Instance record = claim.instance;
  record.task_state = "spawning";
  const Ending ending = AbortClaim(claim, &record, nullptr, "failed", &account);
  ASSERT_TRUE(ending.instance.has_value());
  EXPECT_EQ(ending.instance->on, HostAndNode());                                    // T-165
  EXPECT_EQ(ending.instance->launched_on, "h1");                                    // T-165: stays
  EXPECT_EQ(ending.instance->assigned.topology->cells[0].host_cell, std::nullopt);  // T-165
  EXPECT_THAT(ending.instance->assigned.topology->cells[0].pinning, IsEmpty());     // T-165
  EXPECT_EQ(ending.allocations, AllocationChange::kNone);                           // T-165
  WriteTo(ending, &account);
  EXPECT_EQ(account, before);  // T-167
  const Ending again = AbortClaim(claim, &*ending.instance, nullptr, "failed", &account);
  EXPECT_FALSE(again.instance.has_value());  // T-151
  EXPECT_EQ(account, before);                // T-151
}

// A move of the instance `a` from `source` to this node, claimed and recorded.
struct Moved {
  NodeAccount account = NodeAccount(kHere, PlainHost());
  NodeAccount before = account;
  OpenClaim claim;
  explicit Moved(MigrationType type, HostAndNode source = kThere) {
    MoveClaim request;
    request.id = "move";
    request.node_uuid = kHere.node_uuid;
    request.instance = MakeInstance("a", std::move(source), MakeFlavor("small", 1, 256, 1));
    request.instance.task_state = type == MigrationType::kLive         ? "migrating"
                                  : type == MigrationType::kEvacuation ? "rebuilding"
                                                                       : "resize_prep";
    request.instance.assigned.topology = MakePinned({0});
    request.instance.flavor.extra_specs["hw:cpu_policy"] = "dedicated";
    account.PutInstance(request.instance);
    before = account;
    request.migration = MakeMigration(request.instance, type, "accepted", request.instance.on, {});
    request.new_flavor = request.instance.flavor;
    if (type == MigrationType::kResize) request.new_flavor = MakeFlavor("large", 3, 768, 2);
    request.new_flavor.extra_specs["hw:cpu_policy"] = "dedicated";
    request.migration.new_flavor_id = request.new_flavor.id;
    claim = *ClaimMove(ClaimSettings(), request, &account);
    account.PutMigration(*claim.migration);
    account.PutInstance(claim.instance);
  }
};

TEST(AbortClaim, GivesBackAMove) {
  for (MigrationType type : {MigrationType::kResize, MigrationType::kEvacuation}) {
    Moved moved(type);
    EXPECT_FALSE(moved.account == moved.before);
    const Ending ending = AbortClaim(moved.claim, &moved.claim.instance, &*moved.claim.migration,
                                     "failed", &moved.account);
    EXPECT_FALSE(ending.instance->context.has_value());          // T-170
    EXPECT_EQ(ending.migration->status, "failed");               // T-170, T-178
    EXPECT_EQ(ending.instance->vm_state, "active");              // T-178
    EXPECT_EQ(ending.allocations, AllocationChange::kGiveBack);  // T-178
    WriteTo(ending, &moved.account);
    EXPECT_EQ(moved.account, moved.before);  // T-170, T-167
    const Ending again =
        AbortClaim(moved.claim, &*ending.instance, &*ending.migration, "failed", &moved.account);
    EXPECT_FALSE(again.instance.has_value());   // T-151
    EXPECT_FALSE(again.migration.has_value());  // T-151
  }
}

void ExpectNothing(const Ending& ending) {
  EXPECT_FALSE(ending.instance.has_value());               // T-151
  EXPECT_FALSE(ending.migration.has_value());              // T-151
  EXPECT_EQ(ending.allocations, AllocationChange::kNone);  // T-151
}

TEST(AbortClaim, LeavesABuildThatHasEnded) {
  NodeAccount account(kHere, PlainHost());
  const OpenClaim claim = InstanceClaimOn(&account);
  const NodeAccount claimed = account;
  Instance built = claim.instance;
  built.vm_state = "active";
  // The record of the claim has not come back yet, and counts on.
  ExpectNothing(AbortClaim(claim, &built, nullptr, "failed", &account));
  EXPECT_EQ(account, claimed);
  account.PutInstance(built);
  const NodeAccount before = account;
  ExpectNothing(AbortClaim(claim, &built, nullptr, "failed", &account));
  EXPECT_EQ(account, before);
}

TEST(AbortClaim, LeavesAMoveThatHasEnded) {
  for (MigrationType type :
       {MigrationType::kResize, MigrationType::kLive, MigrationType::kEvacuation}) {
    Moved moved(type);
    const Ending ending = type == MigrationType::kResize
                              ? WaitingForUser(moved.claim.instance, *moved.claim.migration)
                              : Succeeded(moved.claim.instance, *moved.claim.migration);
    WriteTo(ending, &moved.account);
    const NodeAccount before = moved.account;
    const auto abort = [&](const Instance& instance, const Migration& migration) {
      ExpectNothing(AbortClaim(moved.claim, &instance, &migration, "failed", &moved.account));
      EXPECT_EQ(moved.account, before);
    };
    abort(*ending.instance, *ending.migration);
    Instance switched = moved.claim.instance;  // the end of the move is not written yet
    switched.on = kHere;
    abort(switched, *moved.claim.migration);
    Migration late = *moved.claim.migration;
    late.status = "running (post-copy)";  // the guest runs here already
    abort(moved.claim.instance, late);
  }
}

TEST(EndOfMove, OnlyAFinishedMoveIsConfirmed) {
  const Moved moved(MigrationType::kResize);
  const Ending switched = WaitingForUser(moved.claim.instance, *moved.claim.migration);
  Migration migration = *switched.migration;
  const auto confirms = [&](const Instance& instance) {
    const absl::Status status = ConfirmMove(instance, migration).status();
    EXPECT_TRUE(status.ok() || absl::IsFailedPrecondition(status)) << status;
    return status.ok();
  };
  for (const char* status :
       {"pre-migrating", "post-migrating", "error", "confirmed", "reverting"}) {
    migration.status = status;
    EXPECT_FALSE(confirms(*switched.instance)) << status;  // T-173
  }
  migration.status = "confirming";
  EXPECT_TRUE(confirms(*switched.instance));
  Instance other = *switched.instance;
  other.context->migration_uuid = "another"_uuid;
  EXPECT_FALSE(confirms(other));  // T-173: it is in another move
  other.context.reset();
  EXPECT_FALSE(confirms(other));  // T-173
}

TEST(EndOfMove, ConfirmAndRevert) {
  Moved moved(MigrationType::kResize);
  NodeAccount source(kThere, PlainHost());
  source.PutMigration(*moved.claim.migration);
  source.PutInstance(moved.claim.instance);
  const NodeAccount source_before = source;
  const Ending switched = WaitingForUser(moved.claim.instance, *moved.claim.migration);
  WriteTo(switched, &moved.account);
  WriteTo(switched, &source);
  EXPECT_EQ(source.used().vcpus, 1);  // T-133: kept for a way back
  EXPECT_EQ(moved.account.used().vcpus, 3);
  EXPECT_TRUE(moved.account.IsTracked("a"_uuid));

  NodeAccount confirmed = source;
  const Ending confirm = *ConfirmMove(*switched.instance, *switched.migration);
  EXPECT_EQ(confirm.allocations, AllocationChange::kReleaseMigration);
  WriteTo(confirm, &confirmed);
  EXPECT_EQ(confirmed.used().vcpus, 0);                                  // T-173
  EXPECT_TRUE(confirmed.owners().cells()[0].usage.pinned_cpus.empty());  // T-173
  EXPECT_FALSE(confirm.instance->context.has_value());                   // T-173

  Instance reverting = *switched.instance;
  EXPECT_FALSE(RevertMove(reverting, *switched.migration).ok());  // T-174: the task must match
  reverting.task_state = "resize_reverting";
  const auto revert = RevertMove(reverting, *switched.migration);
  ASSERT_TRUE(revert.ok());
  WriteTo(*revert, &moved.account);
  WriteTo(*revert, &source);
  EXPECT_EQ(moved.account.used().vcpus, 0);                                  // T-174
  EXPECT_TRUE(moved.account.owners().cells()[0].usage.pinned_cpus.empty());  // T-174
  EXPECT_EQ(source.used(), source_before.used());                            // T-174
  EXPECT_EQ(revert->instance->flavor.id, "small");                           // T-174
  EXPECT_EQ(revert->migration->status, "reverted");                          // T-174
  EXPECT_EQ(revert->allocations, AllocationChange::kGiveBack);
}

TEST(EndOfMove, AResizeInPlaceStaysTracked) {
  Moved moved(MigrationType::kResize, kHere);
  const Ending switched = WaitingForUser(moved.claim.instance, *moved.claim.migration);
  WriteTo(switched, &moved.account);
  EXPECT_EQ(moved.account.used().vcpus, 4);
  WriteTo(*ConfirmMove(*switched.instance, *switched.migration), &moved.account);
  EXPECT_EQ(moved.account.used().vcpus, 3);
  EXPECT_TRUE(moved.account.IsTracked("a"_uuid));  // T-175
  moved.account.DropInstance("a"_uuid);
  EXPECT_EQ(moved.account.used().vcpus, 0);  // T-175: a deletion frees its use
}

TEST(EndOfMove, ARevertGivesBackTheNewSide) {
  Moved moved(MigrationType::kResize, kHere);
  const Ending switched = WaitingForUser(moved.claim.instance, *moved.claim.migration);
  Instance reverting = *switched.instance;
  reverting.task_state = "resize_reverting";
  WriteTo(*RevertMove(reverting, *switched.migration), &moved.account);
  EXPECT_EQ(moved.account.used(), moved.before.used());
  EXPECT_EQ(moved.account.owners().cells()[0].usage.pinned_cpus,
            CpuSet({0}));  // T-176: the old side
}

// A move on one node that keeps the flavor: the guest may come back to its old CPUs.
TEST(EndOfMove, AColdMoveInPlaceKeepsTheOldCpus) {
  Moved moved(MigrationType::kCold, kHere);
  const auto pinned = [&] { return moved.account.owners().OfferedCells()[0].usage.pinned_cpus; };
  const CpuSet claimed = pinned();
  EXPECT_EQ(claimed.Count(), 2);
  EXPECT_TRUE(claimed.Contains(0));
  Instance switched = Arrived(moved.claim.instance, *moved.claim.migration);
  switched.task_state = "resize_finish";
  moved.account.PutInstance(switched);
  EXPECT_EQ(pinned(), claimed);  // T-395
  EXPECT_TRUE(moved.account.faults().empty());
  ExpectNothing(
      AbortClaim(moved.claim, &switched, &*moved.claim.migration, "failed", &moved.account));
  const Ending waits = WaitingForUser(moved.claim.instance, *moved.claim.migration);
  WriteTo(waits, &moved.account);
  EXPECT_EQ(pinned(), claimed);  // T-395
  EXPECT_TRUE(moved.account.faults().empty());
  EXPECT_EQ(moved.account.used().vcpus, 2);  // T-135
  NodeAccount confirmed = moved.account;
  WriteTo(*ConfirmMove(*waits.instance, *waits.migration), &confirmed);
  EXPECT_EQ(confirmed.owners().cells()[0].usage.pinned_cpus.Count(), 1);
  EXPECT_FALSE(confirmed.owners().cells()[0].usage.pinned_cpus.Contains(0));  // T-173
  Instance reverting = *waits.instance;
  reverting.task_state = "resize_reverting";
  WriteTo(*RevertMove(reverting, *waits.migration), &moved.account);
  EXPECT_EQ(moved.account.used(), moved.before.used());
  EXPECT_EQ(pinned(), CpuSet({0}));  // T-174, T-176
}

TEST(EndOfMove, AnArrivalIsCountedOnce) {
  for (MigrationType type : {MigrationType::kEvacuation, MigrationType::kLive}) {
    Moved moved(type);
    NodeAccount source(kThere, PlainHost());
    source.PutMigration(*moved.claim.migration);
    source.PutInstance(moved.claim.instance);
    EXPECT_EQ(source.used().vcpus, 1);
    const Amounts claimed = moved.account.used();
    const CpuSet pinned = moved.account.owners().cells()[0].usage.pinned_cpus;
    EXPECT_EQ(pinned.Count(), 1);
    const Ending arrived = Succeeded(moved.claim.instance, *moved.claim.migration);
    WriteTo(arrived, &moved.account);
    WriteTo(arrived, &source);
    EXPECT_EQ(moved.account.used(), claimed);  // T-177: counted exactly once
    EXPECT_TRUE(moved.account.IsTracked("a"_uuid));
    EXPECT_EQ(moved.account.owners().cells()[0].usage.pinned_cpus, pinned);  // T-179, T-287
    EXPECT_EQ(source.used().vcpus, 0);  // T-179: the source counts it no more
  }
}

TEST(ClaimAnswers, AreKeptForADay) {
  ClaimAnswers answers;
  const MonotonicTime start{};
  OpenClaim claim;
  claim.id = "c";
  claim.instance.uuid = "i"_uuid;
  claim.instance.launched_on = "first";
  const auto find = [&](const std::string& id, std::chrono::hours after) {
    return *answers.Find(id, "i"_uuid, "", start + after);
  };
  answers.Keep(claim, start);
  claim.instance.launched_on = "second";
  answers.Keep(claim, start);
  ASSERT_NE(find("c", std::chrono::hours(23)), nullptr);
  EXPECT_EQ(find("c", std::chrono::hours(23))->instance.launched_on, "first");
  EXPECT_EQ(find("c", std::chrono::hours(24)), nullptr);
  answers.Keep(claim, start + std::chrono::hours(25));
  answers.Forget("i"_uuid.ToString() + "/1");
  EXPECT_NE(find("c", std::chrono::hours(25)), nullptr) << "it is another claim";
  answers.Forget("i"_uuid.ToString() + "/0");
  EXPECT_EQ(find("c", std::chrono::hours(25)), nullptr);
  for (size_t i = 0; i <= ClaimAnswers::kMax; ++i) {
    claim.id = std::to_string(i);
    answers.Keep(claim, start + std::chrono::hours(26));
  }
  EXPECT_EQ(find("0", std::chrono::hours(26)), nullptr);
  EXPECT_NE(find("1", std::chrono::hours(26)), nullptr);
  EXPECT_EQ(find("", std::chrono::hours(26)), nullptr);
}

TEST(ClaimAnswers, AnotherRequestDoesNotGetTheAnswer) {
  ClaimAnswers answers;
  const MonotonicTime now{};
  OpenClaim claim;
  claim.id = "c";
  claim.instance.uuid = "i"_uuid;
  claim.body = "digest";
  answers.Keep(claim, now);
  const auto kind = [&](const Uuid& instance, const char* body) {
    return RefusalOf(answers.Find("c", instance, body, now).status())->kind;
  };
  ASSERT_TRUE(answers.Find("c", "i"_uuid, "digest", now).ok());
  EXPECT_EQ(kind("i"_uuid, "another"), ClaimRefusalKind::kRequestIdReused);
  EXPECT_EQ(kind("j"_uuid, "digest"), ClaimRefusalKind::kRequestIdReused);
  EXPECT_TRUE(absl::IsInvalidArgument(answers.Find("c", "j"_uuid, "digest", now).status()));
  ASSERT_TRUE(answers.Find("d", "i"_uuid, "digest", now).ok());
  EXPECT_EQ(*answers.Find("d", "i"_uuid, "digest", now), nullptr);
}

}  // namespace
}  // namespace berth::tracker
