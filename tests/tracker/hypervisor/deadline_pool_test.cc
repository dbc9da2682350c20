// Calls that hang do not take their callers along.
#include "tracker/hypervisor/deadline_pool.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <iterator>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tracker/ground/boot_clock.h"
#include "tracker/hypervisor/command.h"

namespace berth::tracker {
namespace {

TEST(DeadlinePool, Answers) {
  DeadlinePool pool({2, 4});
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(*pool.Call<int>(
                  "i", [i]() -> absl::StatusOr<int> { return i; }, absl::Seconds(30)),
              i);
  }
  EXPECT_EQ(pool.hung(), 0);
}

TEST(DeadlinePool, LeavesAHungCallBehind) {  // T-70, T-390
  DeadlinePool pool({1, 2});
  auto release = std::make_shared<std::promise<void>>();
  const std::shared_future<void> released = release->get_future().share();
  auto ended = std::make_shared<std::atomic<int>>(0);
  const auto hang = [released, ended] {
    released.wait();
    ++*ended;
  };
  // On a busy machine a call may be given up before it began: that one does not count as hung.
  while (pool.hung() < 2) {
    ASSERT_EQ(pool.Run("hang", hang, absl::Milliseconds(20)).code(),
              absl::StatusCode::kDeadlineExceeded);
  }
  EXPECT_EQ(pool.Run("more", hang, absl::Seconds(30)).code(), absl::StatusCode::kUnavailable);
  release->set_value();
  while (pool.hung() > 0) std::this_thread::yield();
  EXPECT_EQ(ended->load(), 2);
  EXPECT_TRUE(pool.Run(
                      "again", [] {}, absl::Seconds(30))
                  .ok());
}

TEST(DeadlinePool, GivesUpOnACallThatNeverBegan) {
  DeadlinePool pool({1, 4});
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  std::promise<void> began;
  std::thread first([&] {
    EXPECT_TRUE(pool.Run(
                        "first",
                        [&] {
                          began.set_value();
                          released.wait();
                        },
                        absl::Seconds(30))
                    .ok());
  });
  began.get_future().wait();
  auto ran = std::make_shared<std::atomic<bool>>(false);
  EXPECT_EQ(pool.Run(
                    "second", [ran] { ran->store(true); }, absl::Milliseconds(20))
                .code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(pool.hung(), 0);
  release.set_value();
  first.join();
  EXPECT_FALSE(ran->load());
}

TEST(DeadlinePool, ACallThatWaitsBehindAHungOneGetsAThread) {
  DeadlinePool pool({1, 4});
  auto release = std::make_shared<std::promise<void>>();
  const std::shared_future<void> released = release->get_future().share();
  auto began = std::make_shared<std::promise<void>>();
  std::thread first([&] {
    const auto hang = [began, released] {
      began->set_value();
      released.wait();
    };
    // On a busy machine a call may be given up before it began.
    while (pool.hung() == 0) {
      EXPECT_EQ(pool.Run("first", hang, absl::Milliseconds(500)).code(),
                absl::StatusCode::kDeadlineExceeded);
    }
  });
  began->get_future().wait();
  // Nobody calls the pool after this call, so nobody else starts a thread.
  EXPECT_TRUE(pool.Run(
                      "second", [] {}, absl::Seconds(10))
                  .ok());  // T-390
  first.join();
  EXPECT_EQ(pool.hung(), 1);
  release->set_value();
  while (pool.hung() > 0) std::this_thread::yield();
}

TEST(DeadlinePool, ServesManyAtOnce) {
  DeadlinePool pool({3, 4});
  std::atomic<int> sum = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&] {
      for (int j = 0; j < 200; ++j) {
        EXPECT_TRUE(pool.Run(
                            "add", [&] { ++sum; }, absl::Seconds(30))
                        .ok());
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum.load(), 1600);
}

TEST(DeadlinePool, AThreadWithoutCallsEnds) {
  const auto count_threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                         std::filesystem::directory_iterator());
  };
  const auto before = count_threads();
  DeadlinePool pool({3, 4});
  EXPECT_TRUE(pool.Run(
                      "nothing", [] {}, absl::Seconds(30))
                  .ok());
  const auto deadline = BootClock::now() + std::chrono::seconds(30);
  while (count_threads() > before && BootClock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_LE(count_threads(), before);
  EXPECT_TRUE(pool.Run(
                      "nothing", [] {}, absl::Seconds(30))
                  .ok());
}

TEST(Command, AnswersOrSaysWhyNot) {
  EXPECT_EQ(*RunCommand({"echo", "a b", "$HOME"}, absl::Seconds(30)), "a b $HOME\n");
  EXPECT_EQ(RunCommand({"berth-no-such-program"}, absl::Seconds(30)).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(RunCommand({"false"}, absl::Seconds(30)).status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(RunCommand({"sleep", "60"}, absl::Milliseconds(50)).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(RunCommand({"head", "-c", "2000000", "/dev/zero"}, absl::Seconds(30)).status().code(),
            absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace berth::tracker
