// Where commands are between the queue and their answer. Without a database.

#include "placement/writer/intake.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace berth::placement {
namespace {

class IntakeTest : public ::testing::Test {
 protected:
  IntakeTest() {
    options_.batch_rows_max = 10;
    options_.boot_clock = [this] { return now_ += step_; };
    EXPECT_EQ(turns_.Begin(true), Turn::kShared);
  }

  // Queues a command. Its status will be in `answers_`, under `name`.
  PendingPtr Push(const std::string& name, CommandBody body) {
    auto pending = std::make_shared<Pending>();
    pending->command.actor = "tester";
    pending->command.request_id = name;
    pending->command.body_hash = "hash";
    pending->command.body = std::move(body);
    pending->done = [this, name](const Decision& decision) {
      answers_.push_back(absl::StrCat(name, " ", absl::StatusCodeToString(decision.status.code())));
    };
    PendingPtr put_out;
    EXPECT_EQ(queue_.Push(pending, &put_out), CommandQueue::Pushed::kTaken);
    return pending;
  }
  PendingPtr PushProvider(const std::string& name) {
    return Push(name, CreateProvider{ProviderId{Uuid::Random()}, name, std::nullopt});
  }
  PendingPtr PushLookUp(const std::string& name) {
    return Push(name, FindRequest{"tester", "other"});
  }
  PendingPtr PushLarge(const std::string& name) {
    ImportLedger import;
    import.classes.resize(11);
    return Push(name, import);
  }
  std::vector<PendingPtr> Take() { return queue_.Take(100, absl::ZeroDuration()); }
  // The answers so far.
  std::vector<std::string> Answers() {
    answerer_.Stop();
    return answers_;
  }
  static std::vector<std::string> Names(const std::vector<PendingPtr>& commands) {
    std::vector<std::string> names;
    for (const PendingPtr& pending : commands) names.push_back(pending->command.request_id);
    return names;
  }
  using Strings = std::vector<std::string>;

  LedgerOptions options_;
  BootTime now_;
  absl::Duration step_;  // by which the clock moves when it is read
  Strings answers_;
  Answerer answerer_;
  CommandQueue queue_{100};
  Turns turns_;
  Intake intake_{options_, &queue_, &answerer_, &turns_};
  Batch batch_{std::make_shared<const State>(), absl::UnixEpoch(), {}};
};

TEST_F(IntakeTest, ABatchGetsTheCommandsThatMayBeDecided) {
  PushLookUp("a");
  PushLookUp("cancelled")->cancelled = std::make_shared<std::atomic<bool>>(true);
  PushLookUp("late")->deadline = BootNow();
  PushLookUp("lost")->losses = kLossesMax;
  PushLookUp("b");
  EXPECT_TRUE(intake_.DecideAll(Take(), true, batch_));
  EXPECT_EQ(Names(batch_.Commands()), (Strings{"a", "b"}));
  EXPECT_EQ(Answers(),
            (Strings{"cancelled CANCELLED", "late DEADLINE_EXCEEDED", "lost UNAVAILABLE"}));
}

TEST_F(IntakeTest, AFullBatchLeavesTheRestInFrontOfTheQueue) {
  options_.batch_rows_max = 2;
  for (const char* name : {"A", "B", "C", "D"}) PushProvider(name);
  const std::vector<PendingPtr> commands = Take();
  PushProvider("E");
  EXPECT_FALSE(intake_.DecideAll(commands, true, batch_));
  EXPECT_EQ(Names(batch_.Commands()), (Strings{"A", "B"}));
  EXPECT_EQ(Names(Take()), (Strings{"C", "D", "E"}));
}

TEST_F(IntakeTest, ABatchThatIsDecidedForLongLeavesTheRestInFrontOfTheQueue) {
  options_.batch_deciding_max = absl::Seconds(2);
  step_ = absl::Seconds(1);
  for (const char* name : {"A", "B", "C", "D"}) PushProvider(name);
  EXPECT_FALSE(intake_.DecideAll(Take(), true, batch_));
  EXPECT_EQ(Names(batch_.Commands()), (Strings{"A", "B"}));
  EXPECT_EQ(Names(Take()), (Strings{"C", "D"}));
}

TEST_F(IntakeTest, ALargeCommandLeavesASharedBatchAndOneWaitsInTheTurns) {
  PushLarge("first");
  PushLookUp("a");
  PushLarge("second");
  const std::vector<PendingPtr> commands = Take();
  EXPECT_FALSE(intake_.HasLarge(commands));  // a shared batch does not decide it
  EXPECT_FALSE(intake_.DecideAll(commands, true, batch_));
  EXPECT_EQ(Names(batch_.Commands()), Strings{"a"});
  EXPECT_EQ(Names(Take()), Strings{"second"});
  turns_.Decided(false);
  EXPECT_EQ(turns_.Begin(false), Turn::kLarge);
  const std::vector<PendingPtr> large = {turns_.TakeCommand()};
  EXPECT_EQ(Names(large), Strings{"first"});
  EXPECT_TRUE(intake_.HasLarge(large));
}

// A batch that decides a look-up or a repeated request id has read the kept answer before.
TEST_F(IntakeTest, WhatAsksForAKeptAnswerWaitsForAnotherBatch) {
  PushProvider("A");
  EXPECT_TRUE(intake_.DecideAll(Take(), true, batch_));
  std::vector<PendingPtr> commands;
  PushProvider("B");
  PushProvider("A");
  PushProvider("C");
  EXPECT_FALSE(intake_.TakeMore(100, &batch_, &commands));
  EXPECT_EQ(Names(commands), Strings{"B"});
  EXPECT_EQ(Names(Take()), (Strings{"A", "C"}));
  PushProvider("A");
  PushLookUp("look");
  EXPECT_FALSE(intake_.TakeMore(100, nullptr, &commands));
  EXPECT_EQ(Names(commands), Strings{"A"});
  EXPECT_EQ(Names(Take()), Strings{"look"});
  PushProvider("D");
  EXPECT_TRUE(intake_.TakeMore(100, &batch_, &commands));
}

TEST_F(IntakeTest, WhatABatchHasBegunIsDecidedAlone) {
  PushLookUp("waiting");
  PushLookUp("begun")->Begin();
  PushLookUp("answered")->Settle(Decision());
  intake_.PutBack(Take());
  EXPECT_EQ(Names(Take()), Strings{"waiting"});
  EXPECT_EQ(Names(turns_.GiveUpWaiting()), Strings{"begun"});
}

TEST_F(IntakeTest, ABatchThatIsTakenBackMayBeginAgain) {
  PushLookUp("a");
  PushLookUp("b");
  EXPECT_TRUE(intake_.DecideAll(Take(), true, batch_));
  auto expiry = std::make_shared<Pending>();
  expiry->command.body = ExpireLeases();
  EXPECT_EQ(batch_.Offer(expiry, 10, true), Batch::Verdict::kDecided);
  intake_.TakeBack(batch_);
  const std::vector<PendingPtr> commands = Take();
  EXPECT_EQ(Names(commands), (Strings{"a", "b"}));
  for (const PendingPtr& pending : commands) EXPECT_EQ(pending->phase, Pending::Phase::kWaiting);
}

// The queue tells the callers of begun commands that the deadline has passed.
TEST_F(IntakeTest, TheQueueKnowsWhatIsBegun) {
  const BootTime later = BootNow() + absl::Hours(1);
  for (const char* name : {"alone", "first", "next", "more"}) PushLookUp(name)->deadline = later;
  std::vector<PendingPtr> commands = Take();
  for (const PendingPtr& pending : commands) pending->Begin();
  turns_.AddAlone(commands[0]);
  intake_.NoteBegun({commands[1]}, {commands[2]});
  answerer_.Post(queue_.Expire(later));
  EXPECT_EQ(Answers(), (Strings{"alone DEADLINE_EXCEEDED", "first DEADLINE_EXCEEDED",
                                "next DEADLINE_EXCEEDED"}));
}

TEST_F(IntakeTest, WhatMayBeDoneIsRefusedAsUnknown) {
  PushProvider("first");
  PushProvider("second")->may_be_done = true;
  intake_.RefuseAll(NotDone("no"));
  EXPECT_EQ(Answers(), (Strings{"first UNAVAILABLE", "second DEADLINE_EXCEEDED"}));
}

TEST_F(IntakeTest, RefuseAllReachesTheQueueAndWhatWaitsForABatchOfItsOwn) {
  PushLookUp("alone")->Begin();
  intake_.PutBack(Take());
  PushLookUp("queued");
  intake_.RefuseAll(NotDone("no"));
  EXPECT_TRUE(turns_.settled());
  EXPECT_EQ(Answers(), (Strings{"queued UNAVAILABLE", "alone UNAVAILABLE"}));
}

}  // namespace
}  // namespace berth::placement
