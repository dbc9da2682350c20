// Batches on the long road, with the test's thread as the writer's: whatever
// comes meanwhile comes at a step of the road.

#include "placement/writer/long_road.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/placement/writer/made_parts.h"

namespace berth::placement {
namespace {

class LongRoadTest : public ::testing::Test, protected MadeParts {
 protected:
  LongRoadTest() {
    options.at_step = [this](LedgerStep step) {
      if (step == LedgerStep::kLocked && locked_) std::exchange(locked_, nullptr)();
    };
  }

  // Takes the road with a claim of `vcpu` for consumer 1.
  std::future<Decision> Take(int32_t vcpu = 1) {
    std::future<Decision> answer = Push(WithId(Claim(1, {1}, vcpu), "one"));
    road_.Take(TakeShared());
    return answer;
  }
  // What the session of the writer does; "" if there is none.
  std::string SessionState() {
    return QueryOne(*observer_,
                    "SELECT coalesce(max(state), '') FROM pg_stat_activity WHERE "
                    "application_name "
                    "= 'berth-placement writer' AND datname = current_database()");
  }

  std::function<void()> locked_;  // called once, when the road has the lock
  std::unique_ptr<Database> observer_ = ConnectOrDie(url);
  BatchEnds ends_{parts()};
  LongRoad road_{parts(), &ends_};
};

TEST_F(LongRoadTest, ABatchIsDecidedOnTheNewestRowOfTheLog) {
  {
    LedgerRunner other(OptionsFor(url));
    for (int i = 11; i <= 13; ++i) other.Must(Claim(i, {1}, 33));
  }
  int woken = 0;
  publisher.feed().Subscribe([&woken] { ++woken; });
  EXPECT_EQ(ReasonOf(Get(Take(2))), "CAPACITY_EXCEEDED");
  EXPECT_EQ(health.followed_rows, 3);
  EXPECT_EQ(woken, 3);  // who follows the feed hears of the rows of others, too
  EXPECT_EQ(Get(Take(1)).status, absl::OkStatus());
  EXPECT_EQ(woken, 4);
  EXPECT_EQ(UsedOf(*publisher.Newest(), 1), 100);
}

TEST_F(LongRoadTest, NoTransactionIsOpenAfterwards) {
  EXPECT_EQ(Get(Take(101)).status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(SessionState(), "idle");  // rolled back
  EXPECT_EQ(Get(Take()).status, absl::OkStatus());
  EXPECT_EQ(SessionState(), "idle");  // committed
  EXPECT_TRUE(Get(Take()).replayed);
  EXPECT_EQ(SessionState(), "idle");  // the kept answer was read with the lock
  ASSERT_EQ(observer_->Run("DELETE FROM log", nullptr), absl::OkStatus());
  std::future<Decision> waits = Take();
  EXPECT_FALSE(Answered(waits));
  EXPECT_EQ(SessionState(), "idle");  // the head could not be reached
}

TEST_F(LongRoadTest, WithoutTheRowsBetweenTheTablesAreLoaded) {
  {
    LedgerRunner other(OptionsFor(url));
    for (int i = 11; i <= 13; ++i) other.Must(Claim(i, {1}, 1));
  }
  ASSERT_EQ(
      observer_->Run("DELETE FROM log WHERE revision < (SELECT max(revision) FROM log)", nullptr),
      absl::OkStatus());
  std::future<Decision> answer = Take();
  EXPECT_FALSE(Answered(answer));
  EXPECT_EQ(health.reloads, 1);
  EXPECT_EQ(UsedOf(*publisher.Newest(), 1), 3);
  road_.Take(TakeShared());
  EXPECT_EQ(Get(answer).status, absl::OkStatus());
}

TEST_F(LongRoadTest, ADatabaseThatWentBackIsNotWritten) {
  EXPECT_EQ(Get(Take()).status, absl::OkStatus());
  ASSERT_EQ(observer_->Run("UPDATE log SET batch_id = gen_random_uuid() WHERE "
                           "revision = (SELECT "
                           "max(revision) FROM log)",
                           nullptr),
            absl::OkStatus());
  std::future<Decision> answer = Push(WithId(Claim(2, {1}, 1), ""));
  road_.Take(TakeShared());
  EXPECT_TRUE(health.recovery_required);
  EXPECT_TRUE(absl::StrContains(told, "went back in time")) << told;
  EXPECT_FALSE(Answered(answer));
  EXPECT_EQ(queue.size(), 1);
}

TEST_F(LongRoadTest, CommandsThatComeMeanwhileGoWithTheBatchUnlessTheLastOneFailed) {
  for (const bool failed : {false, true}) {
    if (failed) roads.NotWritten();
    std::future<Decision> more;
    locked_ = [&] { more = Push(WithId(Claim(failed ? 12 : 11, {1}, 1), "")); };
    const int64_t before = health.batches;
    std::future<Decision> first = Push(WithId(Claim(failed ? 2 : 1, {1}, 1), ""));
    road_.Take(TakeShared());
    EXPECT_EQ(Get(first).status, absl::OkStatus());
    EXPECT_EQ(health.batches, before + 1);
    EXPECT_EQ(queue.size(), failed ? 1 : 0);
    EXPECT_TRUE(failed || Get(more).status.ok());
  }
}

TEST_F(LongRoadTest, ALostSessionLeavesCommandsWaitingOrInDoubt) {
  const auto end_session = [this] {
    EXPECT_EQ(QueryOne(*observer_,
                       "SELECT count(pg_terminate_backend(pid, 5000)) FROM "
                       "pg_stat_activity WHERE "
                       "application_name = 'berth-placement writer' AND datname = "
                       "current_database()"),
              "1");
  };
  end_session();
  std::future<Decision> answer = Take();
  EXPECT_EQ(queue.size(), 1);
  EXPECT_EQ(turns.in_doubt(), nullptr);
  EXPECT_FALSE(connection.is_open());
  ASSERT_TRUE(connection.Open());
  locked_ = end_session;
  road_.Take(TakeShared());
  EXPECT_NE(turns.in_doubt(), nullptr);
  EXPECT_FALSE(Answered(answer));
  EXPECT_EQ(publisher.committing(), BatchId());
}

}  // namespace
}  // namespace berth::placement
