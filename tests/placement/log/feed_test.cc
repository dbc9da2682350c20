#include "placement/log/feed.h"

#include <atomic>
#include <map>
#include <thread>

#include "gtest/gtest.h"
#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

FeedBatchPtr Batch(int64_t number, int64_t epoch = 1) {
  auto batch = std::make_shared<FeedBatch>();
  batch->revision = {epoch, number};
  return batch;
}

std::vector<int64_t> NumbersAfter(const Feed& feed, Revision revision, int batches_max) {
  std::vector<int64_t> numbers;
  const auto batches = feed.After(revision, batches_max);
  EXPECT_TRUE(batches.ok()) << batches.status();
  if (!batches.ok()) return numbers;
  for (const FeedBatchPtr& batch : *batches) numbers.push_back(batch->revision.number);
  return numbers;
}

TEST(Feed, KeepsTheNewestInOrder) {
  Feed feed({.batches = 3});
  feed.Restart({1, 10});
  EXPECT_EQ(NumbersAfter(feed, {1, 10}, 9), std::vector<int64_t>());
  for (int64_t number = 11; number <= 15; ++number) feed.Append(Batch(number));
  EXPECT_EQ(NumbersAfter(feed, {1, 12}, 9), (std::vector<int64_t>{13, 14, 15}));
  EXPECT_EQ(NumbersAfter(feed, {1, 12}, 2), (std::vector<int64_t>{13, 14}));
  EXPECT_EQ(NumbersAfter(feed, {1, 14}, 9), std::vector<int64_t>{15});
  EXPECT_EQ(NumbersAfter(feed, {1, 15}, 9), std::vector<int64_t>());
  EXPECT_EQ(NumbersAfter(feed, {1, 99}, 9), std::vector<int64_t>());
  const absl::Status compacted = feed.After({1, 11}, 9).status();
  EXPECT_EQ(compacted.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(RefusalOf(compacted)->reason, "REVISION_COMPACTED");
  EXPECT_EQ(RefusalOf(compacted)->items,
            (std::vector<FaultItem>{{{"oldest_epoch", "1"}, {"oldest_revision", "12"}}}));
}

// A restored database gives the numbers that are lost to other batches.
TEST(Feed, KnowsARevisionOfAnotherHistory) {
  Feed feed({.batches = 3});
  feed.Restart({1, 10, 100});
  for (int64_t number = 11; number <= 12; ++number) {
    auto batch = std::make_shared<FeedBatch>(*Batch(number));
    batch->revision.batch = static_cast<uint64_t>(10 * number);
    feed.Append(batch);
  }
  EXPECT_EQ(NumbersAfter(feed, {1, 10, 100}, 9), (std::vector<int64_t>{11, 12}));
  EXPECT_EQ(NumbersAfter(feed, {1, 11, 110}, 9), std::vector<int64_t>{12});
  EXPECT_EQ(NumbersAfter(feed, {1, 12, 120}, 9), std::vector<int64_t>());
  EXPECT_EQ(NumbersAfter(feed, {1, 11}, 9),
            std::vector<int64_t>{12});  // it does not know its batch
  for (const int64_t number : {10, 11, 12}) {
    const absl::Status lost = feed.After({1, number, 7}, 9).status();
    EXPECT_EQ(lost.code(), absl::StatusCode::kFailedPrecondition) << lost;
    EXPECT_EQ(RefusalOf(lost)->reason, "REVISION_LOST");
  }
}

// A batch of the given weight.
FeedBatchPtr Heavy(int64_t number, int64_t changes, int64_t bytes) {
  auto batch = std::make_shared<FeedBatch>(*Batch(number));
  batch->changes = changes;
  batch->bytes = bytes;
  return batch;
}

TEST(Feed, HoldsNoMoreChangesAndBytesThanItMay) {
  Feed feed({.batches = 100, .changes = 10, .bytes = 1000});
  for (int64_t number = 1; number <= 4; ++number) feed.Append(Heavy(number, 4, 10));
  EXPECT_EQ(NumbersAfter(feed, {1, 2}, 9), (std::vector<int64_t>{3, 4}));
  EXPECT_FALSE(feed.After({1, 1}, 9).ok());
  feed.Append(Heavy(5, 1, 990));
  EXPECT_EQ(NumbersAfter(feed, {1, 3}, 9), (std::vector<int64_t>{4, 5}));
  feed.Append(Heavy(6, 1, 1));
  EXPECT_EQ(NumbersAfter(feed, {1, 4}, 9), (std::vector<int64_t>{5, 6}));
  // The newest batch stays, however large it is.
  feed.Append(Heavy(7, 99, 9999));
  EXPECT_EQ(NumbersAfter(feed, {1, 6}, 9), std::vector<int64_t>{7});
  EXPECT_FALSE(feed.After({1, 5}, 9).ok());
  feed.Append(Heavy(8, 1, 1));
  EXPECT_EQ(NumbersAfter(feed, {1, 7}, 9), std::vector<int64_t>{8});
  // What was dropped at a restart counts no more.
  feed.Restart({1, 8});
  feed.Append(Heavy(9, 10, 1000));
  EXPECT_EQ(NumbersAfter(feed, {1, 8}, 9), std::vector<int64_t>{9});
}

TEST(Feed, BeginsAnewAfterARestart) {
  Feed feed({.batches = 3});
  for (int64_t number = 1; number <= 3; ++number) feed.Append(Batch(number));
  feed.Restart({2, 8});
  EXPECT_FALSE(feed.After({1, 3}, 9).ok());
  feed.Append(Batch(9, 2));
  EXPECT_EQ(NumbersAfter(feed, {2, 8}, 9), std::vector<int64_t>{9});
}

TEST(FeedDeathTest, TakesNoBatchOutOfOrder) {
  Feed feed({.batches = 3});
  feed.Append(Batch(1));
  EXPECT_DEATH(feed.Append(Batch(1)), "BERTH_CHECK");
  EXPECT_DEATH(feed.Append(Batch(3)), "BERTH_CHECK");
  EXPECT_DEATH(feed.Append(Batch(2, 0)), "BERTH_CHECK");
}

TEST(Feed, WakesAllWhoSubscribed) {
  Feed feed({.batches = 3});
  std::map<std::string, int> woken;
  const auto count = [&woken](const char* name) { return [&woken, name] { ++woken[name]; }; };
  const int64_t first = feed.Subscribe(count("first"));
  feed.Subscribe(count("second"));

  using Woken = std::map<std::string, int>;
  feed.Append(Batch(1));
  EXPECT_EQ(woken, Woken());
  feed.Wake();
  EXPECT_EQ(std::exchange(woken, {}), (Woken{{"first", 1}, {"second", 1}}));
  feed.Unsubscribe(first);
  feed.Append(Batch(2));
  feed.Wake();
  EXPECT_EQ(std::exchange(woken, {}), (Woken{{"second", 1}}));
  feed.Restart({1, 9});
  EXPECT_EQ(std::exchange(woken, {}), (Woken{{"second", 1}}));
}

TEST(Feed, MayBeReadFromAWake) {
  Feed feed({.batches = 3});
  std::vector<int64_t> seen;
  feed.Subscribe([&] { seen = NumbersAfter(feed, {0, 0}, 9); });
  feed.Append(Batch(1));
  feed.Wake();
  EXPECT_EQ(seen, std::vector<int64_t>{1});
}

// The thread sanitizer watches; nobody may be woken once Unsubscribe has returned.
TEST(Feed, ServesManyThreads) {
  Feed feed({.batches = 50});
  std::atomic<bool> stop = false;
  std::thread reader([&] {
    Revision at;
    while (!stop) {
      const auto batches = feed.After(at, 10);
      if (!batches.ok()) {
        at.number += 1;
      } else if (!batches->empty()) {
        EXPECT_EQ(batches->front()->revision.number, at.epoch == 0 ? 1 : at.number + 1);
        at = batches->back()->revision;
      }
    }
  });
  std::thread subscriber([&] {
    while (!stop) {
      auto alive = std::make_unique<int>(0);
      const int64_t handle = feed.Subscribe([&alive] { ++*alive; });
      feed.Unsubscribe(handle);
      alive.reset();
    }
  });
  for (int64_t number = 1; number <= 3000; ++number) {
    feed.Append(Batch(number));
    feed.Wake();
  }
  stop = true;
  reader.join();
  subscriber.join();
}

}  // namespace
}  // namespace berth::placement
