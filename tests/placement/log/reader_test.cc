#include "placement/log/reader.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/store/rows.h"
#include "placement/values/refusal.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

TEST(LogReader, TellsWhatTheFeedTells) {
  const std::string url = NewDatabase();
  LedgerRunner runner(OptionsFor(url));
  const Revision begin = runner.ledger().Newest()->position().revision;
  MakeProviders(runner, 2, 1000, 1024);
  for (int i = 1; i <= 20; ++i) runner.Must(Claim(i, {1, 2}, 1));
  LogReader reader(url);
  const auto fed = runner.ledger().feed().After(begin, 1000);
  ASSERT_TRUE(fed.ok()) << fed.status();
  std::vector<FeedBatchPtr> read;
  Revision at = begin;
  while (true) {
    const auto some = reader.After(at, 7);
    ASSERT_TRUE(some.ok()) << some.status();
    ASSERT_LE(some->size(), 7U);
    if (some->empty()) break;
    read.insert(read.end(), some->begin(), some->end());
    at = read.back()->revision;
  }
  ASSERT_EQ(read.size(), fed->size());
  for (size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i]->revision, (*fed)[i]->revision);
    EXPECT_EQ(read[i]->ledger_time, (*fed)[i]->ledger_time);
    ASSERT_EQ(read[i]->commands.size(), (*fed)[i]->commands.size());
    for (size_t c = 0; c < read[i]->commands.size(); ++c) {
      EXPECT_EQ(read[i]->commands[c].changes->size(), (*fed)[i]->commands[c].changes->size());
      EXPECT_EQ(read[i]->commands[c].concerned.nodes, (*fed)[i]->commands[c].concerned.nodes);
      EXPECT_EQ(read[i]->commands[c].scope->after, (*fed)[i]->commands[c].scope->after);
    }
  }
}

TEST(LogReader, SaysFromWhereOnItKnows) {
  const std::string url = NewDatabase();
  LedgerOptions options = OptionsFor(url);
  options.log_rows_kept = 5;
  LedgerRunner runner(options);
  MakeProviders(runner, 1, 1000, 1024);
  for (int i = 1; i <= 40; ++i) runner.Must(Claim(i, {1}, 1));
  const Revision newest = runner.ledger().Newest()->position().revision;
  LogReader reader(url);
  for (const int64_t number : {int64_t{0}, int64_t{1}, newest.number - 20}) {
    const absl::Status compacted = reader.After({1, number}, 100).status();
    EXPECT_EQ(compacted.code(), absl::StatusCode::kOutOfRange);
    const auto refusal = RefusalOf(compacted);
    ASSERT_TRUE(refusal.has_value()) << compacted;
    EXPECT_EQ(refusal->reason, "REVISION_COMPACTED");
    ASSERT_EQ(refusal->items.size(), 1U);
    // What it names can be had.
    const int64_t oldest = std::stoll(refusal->items[0].at("oldest_revision"));
    const auto rest = reader.After({1, oldest}, 100);
    ASSERT_TRUE(rest.ok()) << rest.status();
    EXPECT_EQ(static_cast<int64_t>(rest->size()), newest.number - oldest);
  }
  EXPECT_TRUE(reader.After(newest, 100)->empty());
}

// A release that keeps fewer rows leaves nothing behind: at every moment the rows that are there
// follow each other.
TEST(LogReader, RowsBeyondTheHorizonGoOldestFirst) {
  const std::string url = NewDatabase();
  LedgerOptions options = OptionsFor(url);
  options.log_rows_kept = 300;
  const auto database = ConnectOrDie(url);
  const auto missing = [&] {
    return QueryOne(*database, "SELECT max(revision) - min(revision) + 1 - count(*) FROM log");
  };
  int consumer = 0;
  {
    LedgerRunner runner(options);
    MakeProviders(runner, 1, 10'000, 1024);
    while (consumer < 320) runner.Must(Claim(++consumer, {1}, 1));
    EXPECT_EQ(missing(), "0");
  }
  options.log_rows_kept = 20;
  LedgerRunner runner(options);
  for (int i = 0; i < 48; ++i) {
    runner.Must(Claim(++consumer, {1}, 1));
    ASSERT_EQ(missing(), "0") << i;
  }
  EXPECT_LT(std::stoi(QueryOne(*database, "SELECT count(*) FROM log")), 20 + 8 + 1);
}

TEST(LogReader, AGapIsAnError) {
  const std::string url = NewDatabase();
  LedgerRunner runner(OptionsFor(url));
  MakeProviders(runner, 1, 1000, 1024);
  for (int i = 1; i <= 10; ++i) runner.Must(Claim(i, {1}, 1));
  const Revision newest = runner.ledger().Newest()->position().revision;
  const auto database = ConnectOrDie(url);
  QueryOne(*database,
           absl::StrCat("DELETE FROM log WHERE revision = ", newest.number - 5, " RETURNING 1"));
  LogReader reader(url);
  const absl::Status gap = reader.After({newest.epoch, newest.number - 8}, 100).status();
  EXPECT_EQ(gap.code(), absl::StatusCode::kDataLoss) << gap;
  EXPECT_EQ(gap.message(), absl::StrCat("the log has a gap: the row after revision ",
                                        newest.number - 6, " is revision ", newest.number - 4));
  EXPECT_EQ(reader.After({newest.epoch, newest.number - 4}, 100)->size(), 4U);
  // A row that stayed behind when those after it went is no horizon.
  EXPECT_TRUE(ReadHorizon(*database).ok());
  QueryOne(*database, absl::StrCat("DELETE FROM log WHERE revision BETWEEN 2 AND ",
                                   newest.number - 6, " RETURNING 1"));
  EXPECT_EQ(ReadHorizon(*database).status().code(), absl::StatusCode::kDataLoss);
}

TEST(LogReader, KnowsARevisionThatWasLostLongAgo) {
  const std::string url = NewDatabase();
  LedgerRunner runner(OptionsFor(url));
  MakeProviders(runner, 1, 1000, 1024);
  const Revision newest = runner.ledger().Newest()->position().revision;
  LogReader reader(url);
  const absl::Status lost = reader.After({newest.epoch - 1, newest.number - 1}, 1).status();
  EXPECT_EQ(lost.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(RefusalOf(lost)->reason, "REVISION_LOST");
}

TEST(LogReader, KnowsARevisionOfAnotherHistory) {
  const std::string url = NewDatabase();
  LedgerRunner runner(OptionsFor(url));
  MakeProviders(runner, 1, 1000, 1024);
  const Position newest = runner.ledger().Newest()->position();
  LogReader reader(url);
  EXPECT_TRUE(reader.After(newest.resume_point(), 1).ok());
  Revision other = newest.resume_point();
  ++other.batch;
  const absl::Status lost = reader.After(other, 1).status();
  EXPECT_EQ(lost.code(), absl::StatusCode::kFailedPrecondition) << lost;
  EXPECT_EQ(RefusalOf(lost)->reason, "REVISION_LOST");
  EXPECT_EQ(runner.ledger().feed().After(other, 1).status(), lost);
}

TEST(LogReader, TellsNothingThatItMayMisread) {
  const std::string url = NewDatabase();
  Revision newest;
  {
    LedgerRunner runner(OptionsFor(url));
    MakeProviders(runner, 1, 1000, 1024);
    newest = runner.ledger().Newest()->position().revision;
  }
  QueryOne(*ConnectOrDie(url), absl::StrCat("UPDATE log SET format = 99 WHERE revision = ",
                                            newest.number, " RETURNING revision"));
  LogReader reader(url);
  const auto before = reader.After({newest.epoch, newest.number - 2}, 10);
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_EQ(before->size(), 1U);
  const absl::Status refused = reader.After({newest.epoch, newest.number - 1}, 10).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable) << refused;
}

TEST(LogReader, ComesBackWhenItsConnectionIsCut) {
  const std::string url = NewDatabase();
  LedgerRunner runner(OptionsFor(url));
  MakeProviders(runner, 1, 1000, 1024);
  const Revision newest = runner.ledger().Newest()->position().revision;
  LogReader reader(url);
  ASSERT_TRUE(reader.After(newest, 1).ok());
  QueryOne(*ConnectOrDie(url),
           "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = "
           "'berth-placement watch'");
  EXPECT_EQ(reader.After(newest, 1).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(reader.After(newest, 1).ok());
}

}  // namespace
}  // namespace berth::placement
