// Which ends of claims count as failed builds.
#include <memory>

#include "gtest/gtest.h"
#include "tests/tracker/node/claims_fixture.h"

namespace berth::tracker {
namespace {

TEST_F(NodeClaimsTest, AnAbortedClaimOfABuildIsAFailedBuild) {
  const auto failed_builds = [this] { return state_.account->failed_builds(); };
  const auto abort_written = [&](const InstanceClaim& request, const absl::Status& answer) {
    Claim(request);
    const auto write = NextWrite();
    ASSERT_TRUE(write.has_value());
    Apply(*write);
    Answer(write->id, absl::OkStatus());
    const Call& abort = Abort(request.instance.uuid.ToString() + "/3");
    const Call& repeat = Abort(request.instance.uuid.ToString() + "/3");
    const auto end = NextWrite();
    ASSERT_TRUE(end.has_value());
    EXPECT_EQ(failed_builds(), 0) << "it has not ended";
    if (answer.ok()) Apply(*end);
    Answer(end->id, answer);
    EXPECT_EQ(abort.result.ok(), answer.ok());
    EXPECT_EQ(repeat.result.ok(), answer.ok());
  };
  InstanceClaim unshelved = Building("b");
  unshelved.instance.vm_state = "shelved_offloaded";
  unshelved.instance.task_state = "spawning";
  abort_written(unshelved, absl::OkStatus());
  EXPECT_EQ(failed_builds(), 0);  // T-122
  abort_written(Building("c"), absl::FailedPreconditionError("x"));
  EXPECT_EQ(failed_builds(), 0);  // T-122

  EXPECT_FALSE(state_.changes_wait);
  state_.facts = std::make_shared<const Facts>();
  abort_written(Building("a"), absl::OkStatus());
  EXPECT_EQ(failed_builds(), 1);  // T-122
  EXPECT_TRUE(state_.changes_wait) << "the next report has the number";
  EXPECT_EQ(Abort("a"_uuid.ToString() + "/3").refusal(), ClaimRefusalKind::kNoSuchClaim);
  EXPECT_EQ(failed_builds(), 1);  // T-122: once

  Claim(Building("d"));  // it is not sent
  EXPECT_TRUE(Abort("d"_uuid.ToString() + "/3").result->ended);
  EXPECT_EQ(failed_builds(), 2);  // T-122
  EXPECT_EQ(Abort("d"_uuid.ToString() + "/3").refusal(), ClaimRefusalKind::kNoSuchClaim);
  EXPECT_EQ(failed_builds(), 2);  // T-122: once
}

TEST_F(NodeClaimsTest, AClaimThatStaysOrMovesIsNoFailedBuild) {
  Claim(Building("a"));
  const auto write = NextWrite();
  Apply(*write);
  Answer(write->id, absl::OkStatus());
  Instance started = state_.account->instances().at("a"_uuid);
  started.vm_state = "active";
  started.generation += 1;
  state_.account->PutInstance(started);
  EXPECT_FALSE(Abort("a"_uuid.ToString() + "/3").result->ended);
  EXPECT_EQ(state_.account->failed_builds(), 0);  // T-122

  Instance moving = MakeInstance("b", kThere, MakeFlavor("f", 1, 0, 0));
  moving.vm_state = "building";
  moving.context.emplace().migration_uuid = "m"_uuid;
  state_.account->PutInstance(moving);
  const Migration migration =
      MakeMigration(moving, MigrationType::kCold, "pre-migrating", kThere, kHere);
  state_.account->PutMigration(migration);
  moving.context->migration_uuid = migration.uuid;
  state_.account->PutInstance(moving);
  const Call& abort = Abort(migration.uuid.ToString());
  const auto end = NextWrite();
  ASSERT_TRUE(end.has_value()) << abort.result.status();
  Answer(end->id, absl::OkStatus());
  EXPECT_TRUE(abort.result->ended);
  EXPECT_EQ(state_.account->failed_builds(), 0);  // T-122
}

}  // namespace
}  // namespace berth::tracker
