// The order of the commands that wait, and their weight, which decides when the writer is woken
// during a commit.
#include "placement/writer/command_queue.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace berth::placement {
namespace {

using ::testing::ElementsAre;

PendingPtr Heavy(int weight, BootTime deadline) {
  auto pending = std::make_shared<Pending>();
  pending->weight = weight;
  pending->deadline = deadline;
  return pending;
}

bool Push(CommandQueue* queue, const PendingPtr& pending) {
  PendingPtr put_out;
  return queue->Push(pending, &put_out) == CommandQueue::Pushed::kTaken && put_out == nullptr;
}

PendingPtr Of(const std::string& actor, CommandBody body = RetireNode()) {
  auto pending = std::make_shared<Pending>();
  pending->command.actor = actor;
  pending->command.body = std::move(body);
  return pending;
}

// The actors of all commands that wait, in the order in which they are taken.
std::vector<std::string> TakeActors(CommandQueue* queue) {
  std::vector<std::string> actors;
  for (const PendingPtr& pending : queue->Take(1000, absl::ZeroDuration())) {
    actors.push_back(pending->command.actor);
  }
  return actors;
}

// Whether the commands that wait weigh exactly `weight`.
bool Weighs(CommandQueue* queue, int64_t weight) {
  return queue->Arm(weight) && !queue->Arm(weight + 1);
}

TEST(CommandQueueTest, KnowsTheWeightOfWhatWaits) {
  const BootTime now = BootNow();
  CommandQueue queue(10);
  ASSERT_TRUE(Push(&queue, Heavy(3, absl::InfiniteDuration())));
  ASSERT_TRUE(Push(&queue, Heavy(50, now)));
  ASSERT_TRUE(Push(&queue, Heavy(7, absl::InfiniteDuration())));
  EXPECT_TRUE(Weighs(&queue, 60));
  EXPECT_EQ(queue.Expire(now).size(), 1U);
  EXPECT_TRUE(Weighs(&queue, 10));
  const std::vector<PendingPtr> taken = queue.Take(1, absl::ZeroDuration());
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_TRUE(Weighs(&queue, 7));
  queue.PutBack(taken);
  EXPECT_TRUE(Weighs(&queue, 10));
  EXPECT_EQ(queue.Take(4, absl::ZeroDuration()).size(), 2U);
  EXPECT_TRUE(Weighs(&queue, 0));
  queue.PutBack(taken);
  EXPECT_EQ(queue.TakeAll().size(), 1U);
  EXPECT_TRUE(Weighs(&queue, 0));
}

// A message for more consumers than a batch takes is one command, and it is not left behind.
TEST(CommandQueueTest, TakesACommandThatIsHeavierThanTheLimit) {
  CommandQueue queue(10);
  ASSERT_TRUE(Push(&queue, Heavy(1000, absl::InfiniteDuration())));
  ASSERT_TRUE(Push(&queue, Heavy(1, absl::InfiniteDuration())));
  EXPECT_EQ(queue.Take(256, absl::ZeroDuration()).size(), 1U);
  EXPECT_EQ(queue.Take(0, absl::ZeroDuration()).size(), 0U);
  EXPECT_TRUE(Weighs(&queue, 1));
}

TEST(CommandQueueTest, ActorsTakeTurnsAndImportsComeLater) {
  CommandQueue queue(10);
  ASSERT_TRUE(Push(&queue, Of("admin", ImportLedger())));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Push(&queue, Of("a")));
  ASSERT_TRUE(Push(&queue, Of("b")));
  EXPECT_THAT(TakeActors(&queue), ElementsAre("a", "a", "a", "b", "admin"));
}

TEST(CommandQueueTest, BatchesAreSmallBesideAFlood) {
  constexpr int kFlood = CommandQueue::kSharedWeightMax;
  CommandQueue queue(1000);
  const auto room = [&queue](int taken, int weight_max, absl::Duration later = absl::Seconds(1)) {
    return queue.RoomIn(taken, weight_max, BootNow() + later);
  };
  ASSERT_TRUE(Push(&queue, Of("a")));
  ASSERT_TRUE(Push(&queue, Of("b")));
  EXPECT_EQ(room(0, 256), 256);  // nobody floods
  for (int i = 0; i < kFlood; ++i) ASSERT_TRUE(Push(&queue, Of("a")));
  EXPECT_EQ(room(0, 256), kFlood);
  EXPECT_EQ(room(0, 10), 10);
  EXPECT_EQ(room(100, 256), 0);
  EXPECT_EQ(room(6, 256, CommandQueue::kSharedFor), 250);  // long ago
}

TEST(CommandQueueTest, BatchesAreLargeIfOneCallerWritesAlone) {
  CommandQueue queue(1000);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(Push(&queue, Of("a")));
  ASSERT_TRUE(Push(&queue, Of(std::string(kProcessActor))));
  ASSERT_TRUE(Push(&queue, Of("admin", ImportLedger())));
  PendingPtr report = Of("tracker/1");
  report->command.session_owner = "tracker/1";
  ASSERT_TRUE(Push(&queue, report));
  EXPECT_EQ(queue.RoomIn(0, 256, BootNow()), 256);
}

// In its turn an actor gets a quantum of work, in one command or in many.
TEST(CommandQueueTest, ATurnIsAQuantumOfWork) {
  CommandQueue queue(1000);
  const auto push = [&queue](const std::string& actor, int weight) {
    const PendingPtr pending = Heavy(weight, absl::InfiniteDuration());
    pending->command.actor = actor;
    return Push(&queue, pending);
  };
  constexpr int kQuantum = CommandQueue::kQuantum;
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(push("a", kQuantum));
  for (int i = 0; i < kQuantum - 2; ++i) ASSERT_TRUE(push("b", 1));
  EXPECT_EQ(queue.Take(kQuantum, absl::ZeroDuration()).size(), 1U);
  ASSERT_TRUE(push("a", kQuantum));
  std::vector<std::string> expected(kQuantum - 2, "b");
  expected.insert(expected.end(), 2, "a");
  EXPECT_EQ(TakeActors(&queue), expected);
}

// After a restart all trackers come at once, each with a turn of its own.
TEST(CommandQueueTest, SessionsComeAfterOtherWrites) {
  CommandQueue queue(2);
  const auto from_session = [](const std::string& actor) {
    PendingPtr pending = Of(actor);
    pending->command.session_owner = actor;
    return pending;
  };
  ASSERT_TRUE(Push(&queue, Of("admin", ImportLedger())));
  for (const char* actor : {"tracker/1", "tracker/2"})
    ASSERT_TRUE(Push(&queue, from_session(actor)));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(Push(&queue, Of("a")));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(Push(&queue, Of(std::string(kProcessActor))));
  PendingPtr put_out;
  EXPECT_EQ(queue.Push(from_session("tracker/3"), &put_out), CommandQueue::Pushed::kFull);
  EXPECT_EQ(queue.Push(Of("b"), &put_out), CommandQueue::Pushed::kTaken);
  ASSERT_NE(put_out, nullptr);
  EXPECT_EQ(put_out->command.actor, "a");
  EXPECT_THAT(TakeActors(&queue),
              ElementsAre("a", "placement", "placement", "b", "tracker/1", "tracker/2", "admin"));
}

TEST(CommandQueueTest, WhatIsPutBackComesFirst) {
  CommandQueue queue(3);
  for (const char* actor : {"a", "a", "b"}) ASSERT_TRUE(Push(&queue, Of(actor)));
  std::vector<PendingPtr> taken = queue.Take(2, absl::ZeroDuration());
  for (const char* actor : {"c", "c"}) ASSERT_TRUE(Push(&queue, Of(actor)));
  queue.PutBack(taken);
  EXPECT_EQ(queue.size(), 5);
  EXPECT_THAT(TakeActors(&queue), ElementsAre("a", "a", "b", "c", "c"));
}

TEST(CommandQueueTest, AFullQueuePutsOutTheNewestOfTheActorWithMost) {
  const BootTime now = BootNow();
  CommandQueue queue(4);
  std::vector<PendingPtr> flood;
  for (int i = 0; i < 4; ++i) {
    flood.push_back(Heavy(2, absl::InfiniteDuration()));
    flood.back()->command.actor = "flood";
    ASSERT_TRUE(Push(&queue, flood.back()));
  }
  PendingPtr put_out;
  EXPECT_EQ(queue.Push(Of("flood"), &put_out), CommandQueue::Pushed::kFull);
  EXPECT_EQ(put_out, nullptr);
  EXPECT_EQ(queue.Push(Of("other"), &put_out), CommandQueue::Pushed::kTaken);
  EXPECT_EQ(put_out, flood[3]);
  EXPECT_EQ(put_out->phase, Pending::Phase::kWaiting);
  EXPECT_EQ(queue.size(), 4);
  EXPECT_TRUE(Weighs(&queue, 7));
  EXPECT_TRUE(queue.Expire(now).empty());
  EXPECT_THAT(TakeActors(&queue), ElementsAre("flood", "flood", "flood", "other"));
  queue.Close();
  EXPECT_EQ(queue.Push(Of("other"), &put_out), CommandQueue::Pushed::kClosed);
}

}  // namespace
}  // namespace berth::placement
