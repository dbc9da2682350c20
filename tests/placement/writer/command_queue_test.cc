// The weight of the commands that wait, which decides when the writer is woken during a commit.
#include "placement/writer/command_queue.h"

#include <memory>
#include <vector>

#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace berth::placement {
namespace {

PendingPtr Heavy(int weight, BootTime deadline) {
  auto pending = std::make_shared<Pending>();
  pending->weight = weight;
  pending->deadline = deadline;
  return pending;
}

// Whether the commands that wait weigh exactly `weight`.
bool Weighs(CommandQueue* queue, int64_t weight) {
  return queue->Arm(weight) && !queue->Arm(weight + 1);
}

TEST(CommandQueueTest, KnowsTheWeightOfWhatWaits) {
  const BootTime now = BootNow();
  CommandQueue queue(10);
  ASSERT_TRUE(queue.Push(Heavy(3, absl::InfiniteDuration())));
  ASSERT_TRUE(queue.Push(Heavy(50, now)));
  ASSERT_TRUE(queue.Push(Heavy(7, absl::InfiniteDuration())));
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
  ASSERT_TRUE(queue.Push(Heavy(1000, absl::InfiniteDuration())));
  ASSERT_TRUE(queue.Push(Heavy(1, absl::InfiniteDuration())));
  EXPECT_EQ(queue.Take(256, absl::ZeroDuration()).size(), 1U);
  EXPECT_EQ(queue.Take(0, absl::ZeroDuration()).size(), 0U);
  EXPECT_TRUE(Weighs(&queue, 1));
}

}  // namespace
}  // namespace berth::placement
