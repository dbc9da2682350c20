// The connection that writes, and its pauses.

#include "placement/writer/writer_connection.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "placement/ground/boot_clock.h"
#include "tests/processes/cutting_proxy.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

class WriterConnectionTest : public ::testing::Test {
 protected:
  void EndSession() {
    EXPECT_EQ(QueryOne(*ConnectOrDie(url_),
                       "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE "
                       "application_name = 'berth-placement writer' AND datname = "
                       "current_database()"),
              "1");
  }
  absl::Duration TimeOf(const std::function<void()>& call) {
    const BootTime began = BootNow();
    call();
    return BootNow() - began;
  }

  const std::string url_ = NewDatabase();
  LedgerOptions options_ = OptionsFor(url_);
  std::string told_;
  Health health_{[this](const std::string& words) { told_ += words; }};
  CommandQueue queue_{1};
  WriterConnection connection_{options_, &queue_, &health_};
};

TEST_F(WriterConnectionTest, AServerThatIsNotThereIsTold) {
  options_.database_url = "postgresql:///x?host=/nowhere";
  EXPECT_FALSE(connection_.Open());
  EXPECT_FALSE(connection_.is_open());
  EXPECT_FALSE(health_.reachable);
  EXPECT_NE(told_, "");
  options_.database_url = url_;
  EXPECT_TRUE(connection_.Open());
  EXPECT_TRUE(health_.reachable);
}

TEST_F(WriterConnectionTest, ASessionThatEndedIsClosed) {
  ASSERT_TRUE(connection_.Open());
  ASSERT_EQ(connection_.database().Run("BEGIN", nullptr), absl::OkStatus());
  EXPECT_TRUE(connection_.Rollback());
  EXPECT_TRUE(connection_.is_open());
  ASSERT_EQ(connection_.database().Run("BEGIN", nullptr), absl::OkStatus());
  EndSession();
  EXPECT_FALSE(connection_.Rollback());
  EXPECT_FALSE(connection_.is_open());
  connection_.Watch();  // nothing to watch
  connection_.Shut();
}

TEST_F(WriterConnectionTest, EachPauseIsTwiceAsLongUntilABatchSucceeds) {
  for (int milliseconds = 20; milliseconds <= 640; milliseconds *= 2) {
    EXPECT_GE(TimeOf([&] { connection_.Pause(); }), absl::Milliseconds(milliseconds));
  }
  connection_.Succeeded();
  EXPECT_LT(TimeOf([&] { connection_.Pause(); }), absl::Milliseconds(640));
}

TEST_F(WriterConnectionTest, TheFirstLossDoesNotPause) {
  for (int i = 0; i < 5; ++i) connection_.Pause();  // the next one takes 640 ms
  EXPECT_LT(TimeOf([&] { connection_.Lost(); }), absl::Milliseconds(640));
  EXPECT_GE(TimeOf([&] { connection_.Lost(); }), absl::Milliseconds(640));
}

// The more rows a call writes, the longer it may take.
TEST_F(WriterConnectionTest, ACallWithoutProgressIsEnded) {
  options_.no_progress_max = absl::Milliseconds(50);
  ASSERT_TRUE(connection_.Open());
  std::atomic<bool> ended{false};
  std::thread watchdog([&] {
    while (!ended) {
      connection_.Watch();
      absl::SleepFor(absl::Milliseconds(2));
    }
  });
  connection_.Expect(60'000);
  EXPECT_EQ(connection_.database().Run("SELECT pg_sleep(0.3)", nullptr), absl::OkStatus());
  connection_.Expect(0);
  EXPECT_EQ(connection_.database().Run("SELECT pg_sleep(60)", nullptr).code(),
            absl::StatusCode::kUnavailable);
  ended = true;
  watchdog.join();
}

TEST_F(WriterConnectionTest, AnAttemptToConnectThatLastsLongIsSeen) {
  std::atomic<int64_t> seconds{1000};
  options_.boot_clock = [&] { return absl::Seconds(seconds.load()); };
  CuttingProxy proxy(url_);
  options_.database_url = proxy.Through(url_) + "&connect_timeout=60";
  proxy.HoldNew(true);
  std::thread connecting([this] { EXPECT_TRUE(connection_.Open()); });
  EXPECT_TRUE(LedgerRunner::Eventually([&] { return proxy.held() > 0; }));
  EXPECT_FALSE(connection_.ConnectsSlowly());
  seconds += 5;
  EXPECT_TRUE(connection_.ConnectsSlowly());
  proxy.HoldNew(false);
  connecting.join();
  EXPECT_FALSE(connection_.ConnectsSlowly());
}

}  // namespace
}  // namespace berth::placement
