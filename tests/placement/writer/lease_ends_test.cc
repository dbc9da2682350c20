// When leases need a batch. Clocks are the test's, and there is no database.

#include "placement/writer/lease_ends.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "placement/ground/check.h"
#include "tests/processes/ledger_runner.h"

namespace berth::placement {
namespace {

constexpr absl::Duration kLease = absl::Seconds(100);

class LeaseEndsTest : public ::testing::Test {
 protected:
  LeaseEndsTest() {
    Publish({EnsureStandardNames{{"VCPU", "MEMORY_MB"}, {}}, NewProvider(1)});
    const Generation generation =
        (*publisher_.Newest()->FindProvider(ProviderNumber(1))).config().generation;
    Publish({Offer(1, generation, 100, 1024)});
  }

  // Publishes the state after `bodies`, as a batch of this process.
  void Publish(const std::vector<CommandBody>& bodies) {
    Batch batch = NewBatch();
    for (const CommandBody& body : bodies) Decide(body, batch);
    Publish(batch);
  }
  Batch NewBatch() {
    const StatePtr base = publisher_.Newest();
    return {base, clock_.Now(base->position()), {}};
  }
  static void Decide(const CommandBody& body, Batch& batch) {
    auto pending = std::make_shared<Pending>();
    pending->command = WithId(body, "");
    pending->done = [](const Decision& decision) { EXPECT_EQ(decision.status, absl::OkStatus()); };
    EXPECT_EQ(batch.Offer(pending, 1000, true), Batch::Verdict::kDecided);
  }
  void Publish(Batch& batch) {
    batch.Prepare(1000);
    answerer_.Give(batch.TakeAnswers());
    EXPECT_TRUE(publisher_.Publish(*batch.base(), batch.next(), batch.log()));
  }
  void ClaimLeased() {
    CommandBody body = Claim(1, {1}, 1);
    std::get<SetAllocations>(body).consumers[0].lease = kLease;
    Publish({body});
  }
  bool Holds() const { return publisher_.Newest()->FindConsumer(ConsumerNumber(1)) != nullptr; }

  absl::Duration now_ = absl::Hours(1000);  // on both clocks
  const LedgerOptions options_ = Options();
  Answerer answerer_;
  Publisher publisher_{options_, std::make_shared<const State>(), &answerer_};
  LedgerClock clock_{options_.wall_clock, options_.boot_clock};
  LeaseEnds leases_{options_, &publisher_, &clock_};

 private:
  LedgerOptions Options() {
    LedgerOptions options;
    options.wall_clock = [this] { return absl::UnixEpoch() + now_; };
    options.boot_clock = [this] { return now_; };
    return options;
  }
};

TEST_F(LeaseEndsTest, WithoutLeasesNothingIsDue) {
  now_ += absl::Hours(10);
  EXPECT_FALSE(leases_.WantBatch());
  EXPECT_EQ(leases_.IdleWait(), kIdleWaitMax);
  Batch batch = NewBatch();
  leases_.Offer(batch);
  EXPECT_FALSE(batch.writes());
}

TEST_F(LeaseEndsTest, ALeaseIsReleasedAtItsEnd) {
  ClaimLeased();
  Publish({Claim(2, {1}, 1)});
  now_ += kLease - absl::Seconds(1);
  Publish({Claim(3, {1}, 1)});  // the newest row is not old
  EXPECT_FALSE(leases_.WantBatch());
  EXPECT_EQ(leases_.IdleWait(), kIdleWaitMax);
  now_ += absl::Milliseconds(900);
  EXPECT_EQ(leases_.IdleWait(), absl::Milliseconds(100));
  now_ += absl::Milliseconds(100);
  EXPECT_TRUE(leases_.WantBatch());
  EXPECT_EQ(leases_.IdleWait(), absl::ZeroDuration());
  Batch batch = NewBatch();
  leases_.Offer(batch);
  EXPECT_EQ(batch.command_count(), 1);
  Publish(batch);
  EXPECT_FALSE(Holds());
  EXPECT_FALSE(leases_.WantBatch());
}

// Another process has given the lease meanwhile. The batch is compared before it is written.
TEST_F(LeaseEndsTest, ABatchOnAStateWithoutLeasesReleasesNone) {
  Batch batch = NewBatch();
  ClaimLeased();
  now_ += kLease;
  EXPECT_TRUE(leases_.WantBatch());
  leases_.Offer(batch);
  EXPECT_EQ(batch.command_count(), 0);
  EXPECT_FALSE(batch.writes());
}

TEST_F(LeaseEndsTest, WhileLeasesExistTheNewestRowIsNotOld) {
  ClaimLeased();
  EXPECT_FALSE(leases_.WantBatch());
  now_ += kLedgerTimeStepMax - absl::Microseconds(1);
  EXPECT_FALSE(leases_.WantBatch());
  now_ += absl::Microseconds(1);
  EXPECT_TRUE(leases_.WantBatch());
  Batch batch = NewBatch();
  leases_.Offer(batch);
  EXPECT_EQ(batch.command_count(), 0);
  EXPECT_TRUE(batch.writes());
  Publish(batch);
  EXPECT_TRUE(Holds());
  EXPECT_FALSE(leases_.WantBatch());
}

TEST_F(LeaseEndsTest, AfterAFailureNoBatchIsMadeForTenSeconds) {
  for (const bool in_time : {true, false}) {
    SCOPED_TRACE(in_time);
    if (in_time) ClaimLeased();
    now_ += kLease;
    EXPECT_TRUE(leases_.WantBatch());
    if (in_time) {
      leases_.PutOff();
    } else {  // the command is refused
      Batch batch = NewBatch();
      leases_.Offer(batch);
      ASSERT_EQ(batch.command_count(), 1);
      std::optional<Answer> answer =
          batch.Commands()[0]->Settle(OnlyStatus(absl::InternalError("no")));
      answer->done(std::move(answer->decision));
    }
    EXPECT_FALSE(leases_.WantBatch());
    EXPECT_EQ(leases_.IdleWait(), kIdleWaitMax);
    Batch batch = NewBatch();
    leases_.Offer(batch);
    EXPECT_FALSE(batch.writes());
    now_ += absl::Seconds(10) - absl::Microseconds(1);
    EXPECT_FALSE(leases_.WantBatch());
    now_ += absl::Microseconds(1);
    EXPECT_TRUE(leases_.WantBatch());
  }
}

}  // namespace
}  // namespace berth::placement
