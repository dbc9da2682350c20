// Workers and loops: bounded, and all their work is done or refused when they are gone.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/process/loops.h"
#include "services/process/workers.h"

namespace berth::services {
namespace {

constexpr placement::Flow kOwn = {"", placement::Priority::kFirst};

void Nothing() {}

TEST(WorkersTest, DoesEverythingItAccepted) {
  std::atomic<int> done{0};
  {
    Workers workers(3, 1000);
    for (int i = 0; i < 500; ++i) {
      ASSERT_TRUE(workers.Submit(
          kOwn, [&done] { ++done; }, Nothing));
    }
  }
  EXPECT_EQ(done, 500);
}

// Keeps the only one of some workers busy until the end of the object.
class Busy {
 public:
  explicit Busy(Workers* workers) {
    std::promise<void> begun;
    EXPECT_TRUE(workers->Submit(
        kOwn,
        [this, &begun] {
          begun.set_value();
          release_.get_future().wait();
        },
        Nothing));
    begun.get_future().wait();
  }
  ~Busy() { release_.set_value(); }

 private:
  std::promise<void> release_;
};

TEST(WorkersTest, RefusesAtOnceWhenFull) {
  Workers workers(1, 2);
  const Busy busy(&workers);
  EXPECT_TRUE(workers.Submit(kOwn, Nothing, Nothing));
  EXPECT_TRUE(workers.Submit(kOwn, Nothing, Nothing));
  EXPECT_EQ(workers.queue_length(), 2);
  EXPECT_FALSE(workers.Submit(kOwn, Nothing, Nothing));
  EXPECT_EQ(workers.refused_count(), 1);
}

// One reader has filled the room for reads. Somebody else's work is taken, comes next but one, and
// puts out the newest of the reader's; a claim comes before all of them, a tracker before reads.
TEST(WorkersTest, WhoFillsTheQueueKeepsNobodyWaiting) {
  std::vector<std::string> order;  // one worker calls one after the other
  {
    Workers workers(1, 100);
    const Busy busy(&workers);
    const auto submit = [&](absl::string_view owner, placement::Priority priority,
                            const std::string& name) {
      return workers.Submit(
          {owner, priority}, [&order, name] { order.push_back(name); },
          [&order, name] { order.push_back("refused " + name); });
    };
    for (int i = 0; i < 100; ++i) {
      EXPECT_TRUE(submit("reader/a", placement::Priority::kReads, absl::StrCat("a", i)));
    }
    EXPECT_FALSE(submit("reader/a", placement::Priority::kReads, "a100"));
    EXPECT_TRUE(submit("reader/b", placement::Priority::kReads, "b"));
    EXPECT_TRUE(submit("tracker/t", placement::Priority::kSessions, "t"));
    EXPECT_TRUE(submit("scheduler/c", placement::Priority::kFirst, "c"));
    EXPECT_TRUE(order.empty());  // whoever submits is not told on its own thread
    EXPECT_EQ(workers.queue_length(), 102);
    EXPECT_EQ(workers.refused_count(), 2);
  }
  ASSERT_EQ(order.size(), 103U);
  EXPECT_EQ(std::vector<std::string>(order.begin(), order.begin() + 6),
            (std::vector<std::string>{"refused a99", "c", "t", "a0", "b", "a1"}));
}

// Work of `busy` waits for the end of the test. Returns which other work is done meanwhile.
std::vector<std::string> DoneBeside(placement::Priority busy,
                                    const std::vector<placement::Priority>& others) {
  std::vector<std::string> done;
  std::promise<void> release;
  std::promise<void> all;
  Workers workers(1, 10, 1);
  const auto wait = [&] { release.get_future().wait(); };
  EXPECT_TRUE(workers.Submit({"reader/a", busy}, wait, Nothing));
  for (const placement::Priority other : others) {
    const auto note = [&done, &all, &others, other] {
      done.push_back(absl::StrCat(static_cast<int>(other)));
      if (done.size() == others.size()) all.set_value();
    };
    EXPECT_TRUE(workers.Submit({"scheduler/b", other}, note, Nothing));
  }
  const bool in_time =
      all.get_future().wait_for(std::chrono::seconds(30)) == std::future_status::ready;
  EXPECT_TRUE(in_time);
  release.set_value();
  return in_time ? done : std::vector<std::string>();
}

// One read that takes long keeps neither claims nor trackers waiting, and is not kept by them.
TEST(WorkersTest, UrgentWorkHasAThreadOfItsOwn) {
  using placement::Priority;
  const std::vector<Priority> urgent = {Priority::kFirst, Priority::kSessions};
  const std::vector<Priority> other = {Priority::kReads, Priority::kBulk};
  for (const Priority busy : other) {
    EXPECT_EQ(DoneBeside(busy, urgent), (std::vector<std::string>{"0", "1"}));
  }
  for (const Priority busy : urgent) {
    EXPECT_EQ(DoneBeside(busy, other), (std::vector<std::string>{"2", "3"}));
  }
}

// While nothing else waits, all threads do urgent work: as many pieces at once as there are threads.
TEST(WorkersTest, OtherThreadsHelpWithUrgentWork) {
  constexpr int kAtOnce = 3;
  std::atomic<int> running{0};
  std::promise<void> all;
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  Workers workers(2, 10, 1);
  for (int i = 0; i < kAtOnce; ++i) {
    const auto work = [&running, &all, released] {
      if (++running == kAtOnce) all.set_value();
      released.wait();
    };
    EXPECT_TRUE(workers.Submit({"scheduler/a", placement::Priority::kFirst}, work, Nothing));
  }
  EXPECT_EQ(all.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
  release.set_value();
}

TEST(WorkersTest, DoesEverythingItAcceptedWithUrgentThreads) {
  std::atomic<int> done{0};
  {
    Workers workers(2, 1000, 2);
    for (int i = 0; i < 500; ++i) {
      const auto priority = static_cast<placement::Priority>(i % 4);
      ASSERT_TRUE(workers.Submit(
          {"reader/a", priority}, [&done] { ++done; }, Nothing));
    }
  }
  EXPECT_EQ(done, 500);
}

TEST(WorkersTest, LeavesOneCoreToTheLedger) {
  EXPECT_EQ(Workers::CountFor(1), 2);
  EXPECT_EQ(Workers::CountFor(2), 2);
  EXPECT_EQ(Workers::CountFor(8), 7);
  EXPECT_EQ(Workers::UrgentOf(1), 1);
  EXPECT_EQ(Workers::UrgentOf(2), 1);
  EXPECT_EQ(Workers::UrgentOf(7), 3);
}

TEST(LoopTest, RepeatsItsStepAndEndsAtOnce) {
  std::atomic<int> steps{0};
  std::promise<void> third;
  const absl::Time begun = absl::Now();
  {
    Loop loop("test", [&] {
      if (++steps == 3) third.set_value();
      return steps < 3 ? absl::Milliseconds(1) : absl::Hours(1);
    });
    third.get_future().wait();
  }
  EXPECT_EQ(steps, 3);
  EXPECT_LT(absl::Now() - begun, absl::Seconds(30));
}

TEST(FollowPaceTest, IsQuickWhileRowsComeAndBacksOff) {
  FollowPace pace;
  EXPECT_EQ(pace.After(0), absl::Milliseconds(4));  // no row has come yet
  EXPECT_EQ(pace.After(2), absl::Milliseconds(2));
  for (int i = 1; i < 50; ++i) EXPECT_EQ(pace.After(0), absl::Milliseconds(2)) << i;
  EXPECT_EQ(pace.After(0), absl::Milliseconds(4));
  EXPECT_EQ(pace.After(0), absl::Milliseconds(8));
  EXPECT_EQ(pace.After(1), absl::Milliseconds(2));
  EXPECT_EQ(pace.After(0), absl::Milliseconds(2));
  EXPECT_EQ(pace.After(absl::UnavailableError("")), absl::Milliseconds(4));
  for (int i = 0; i < 10; ++i) pace.After(0);
  EXPECT_EQ(pace.After(0), absl::Milliseconds(100));
}

}  // namespace
}  // namespace berth::services
