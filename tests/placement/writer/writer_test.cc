// The loop of the writer, without a ledger around it.

#include "placement/writer/writer.h"

#include <gtest/gtest.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "placement/store/schema.h"
#include "tests/placement/writer/made_parts.h"

namespace berth::placement {
namespace {

// Uses the ledger's parts of MadeParts alone.
class WriterTest : public ::testing::Test, protected MadeParts {
 protected:
  void Stop(Writer &writer) {
    queue.Close();
    writer.Stop(BootNow() + absl::Seconds(30));
  }
};

TEST_F(WriterTest, TheThreadAnswersWhatIsInTheQueueFirstOnTheLongRoad) {
  Writer writer(options, &publisher, &queue, &answerer, &health);
  std::future<Decision> before = Push(WithId(Claim(1, {1}, 1), ""));
  writer.Start();
  EXPECT_EQ(Get(before).status, absl::OkStatus());
  EXPECT_EQ(health.short_batches, 0);
  for (int i = 2; i <= 10; ++i) {
    EXPECT_EQ(Get(Push(WithId(Claim(i, {1}, 1), ""))).status, absl::OkStatus());
  }
  EXPECT_EQ(health.short_batches, 9);
  Stop(writer);
  EXPECT_EQ(UsedOf(*publisher.Newest(), 1), 10);
  EXPECT_FALSE(health.reachable);
}

TEST_F(WriterTest, WithoutADatabaseAndWithAnAlarmCommandsAreRefused) {
  LedgerOptions nowhere = options;
  nowhere.database_url = "postgresql:///x?host=/nowhere";
  for (const bool alarm : {false, true}) {
    health.writing_stopped = alarm;
    std::future<Decision> refused = Push(WithId(Claim(1, {1}, 1), ""));
    Writer writer(alarm ? options : nowhere, &publisher, &queue, &answerer, &health);
    writer.Start();
    EXPECT_EQ(Get(refused).status.code(), absl::StatusCode::kUnavailable);
    writer.Stop(BootNow());
  }
  EXPECT_EQ(UsedOf(*publisher.Newest(), 1), 0);
}

// The process stops while a batch waits for the lock, and there is no time
// left.
TEST_F(WriterTest, WhenTheThreadHasEndedAllAreAnswered) {
  const std::unique_ptr<Database> holder = ConnectOrDie(url);
  Writer writer(options, &publisher, &queue, &answerer, &health);
  std::future<Decision> begun = Push(WithId(Claim(1, {1}, 1), ""));
  writer.Start();
  EXPECT_EQ(Get(begun).status, absl::OkStatus());
  ASSERT_EQ(
      holder->Run(absl::StrCat("BEGIN; SELECT pg_advisory_xact_lock(", kLedgerLock, ")"), nullptr),
      absl::OkStatus());
  begun = Push(WithId(Claim(2, {1}, 1), ""));
  EXPECT_TRUE(LedgerRunner::Eventually([&] {
    return QueryOne(*ConnectOrDie(url),
                    "SELECT count(*) FROM pg_stat_activity "
                    "WHERE wait_event = 'advisory' AND "
                    "datname = current_database()") == "1";
  }));
  std::future<Decision> waiting = Push(WithId(Claim(3, {1}, 1), ""));
  queue.Close();
  writer.Stop(BootNow());
  EXPECT_EQ(Get(begun).status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(Get(waiting).status.code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace berth::placement
