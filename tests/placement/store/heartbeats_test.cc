#include "placement/store/heartbeats.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

constexpr BootTime kNow = absl::Hours(100);
constexpr absl::Duration kEver = absl::Hours(1000);

TEST(Heartbeats, ARowPerProcessThatTheOthersRead) {
  const std::string url = NewDatabase();
  const LedgerRunner runner(OptionsFor(url));  // makes the tables
  Heartbeats first(url, "p1");
  Heartbeats second(url, "p2");
  ASSERT_EQ(first.Write({{"host/berth-tracker", absl::Hours(5)}}), absl::OkStatus());
  ASSERT_EQ(
      first.Write({{"other host/\"b\"", absl::Hours(7)}, {"host/berth-tracker", absl::Hours(3)}}),
      absl::OkStatus());
  EXPECT_TRUE(first.HeardElsewhere(kEver, kNow)->empty());
  const auto heard = second.HeardElsewhere(absl::Hours(4), kNow);
  ASSERT_TRUE(heard.ok()) << heard.status();
  ASSERT_EQ(heard->size(), 1u);
  EXPECT_EQ(heard->at("host/berth-tracker"), absl::Hours(3));
  EXPECT_EQ(second.HeardElsewhere(kEver, kNow)->size(), 2u);
  ASSERT_EQ(first.Write({}), absl::OkStatus());
  EXPECT_TRUE(second.HeardElsewhere(kEver, kNow)->empty());
  ASSERT_EQ(first.Write({{"host/berth-tracker", absl::ZeroDuration()}}), absl::OkStatus());
  EXPECT_EQ(second.HeardElsewhere(kEver, kNow)->size(), 1u);
  ASSERT_EQ(first.RemoveOwn(), absl::OkStatus());
  EXPECT_TRUE(second.HeardElsewhere(kEver, kNow)->empty());
}

TEST(Heartbeats, ARowGetsOlderUntilItIsWrittenAgain) {
  const std::string url = NewDatabase();
  const LedgerRunner runner(OptionsFor(url));
  Heartbeats writer(url, "p1");
  Heartbeats reader(url, "p2");
  const auto age = [&](absl::Duration later) {
    const auto heard = reader.HeardElsewhere(absl::Seconds(60), kNow + later);
    EXPECT_TRUE(heard.ok()) << heard.status();
    return !heard.ok() || heard->empty() ? absl::InfiniteDuration() : heard->begin()->second;
  };
  ASSERT_EQ(writer.Write({{"host/berth-tracker", absl::Seconds(5)}}), absl::OkStatus());
  ASSERT_EQ(reader.Look(kNow), absl::OkStatus());
  EXPECT_EQ(age(absl::Seconds(20)), absl::Seconds(25));
  ASSERT_EQ(reader.Look(kNow + absl::Seconds(30)), absl::OkStatus());
  EXPECT_EQ(age(absl::Seconds(55)), absl::Seconds(60));
  EXPECT_EQ(age(absl::Seconds(56)), absl::InfiniteDuration());
  ASSERT_EQ(writer.Write({{"host/berth-tracker", absl::Seconds(1)}}), absl::OkStatus());
  EXPECT_EQ(age(absl::Seconds(57)), absl::Seconds(1));
  EXPECT_EQ(age(absl::Seconds(67)), absl::Seconds(11));
}

// The clock of PostgreSQL may be set between two writings of a row, and a row may say that a
// service was heard later than the row was written.
TEST(Heartbeats, OnlyTheTimesOfOneRowAreCompared) {
  const std::string url = NewDatabase();
  const LedgerRunner runner(OptionsFor(url));
  const auto database = ConnectOrDie(url);
  Heartbeats reader(url, "p2");
  const auto counts = [&](int age_seconds, const char* written_at) {
    const std::string sql = absl::StrCat(
        "DELETE FROM heartbeat; INSERT INTO heartbeat VALUES ('p1', ", written_at,
        ", '{host/berth-tracker}', ARRAY[", written_at, " - interval '", age_seconds, " s'])");
    EXPECT_EQ(database->Run(sql, nullptr), absl::OkStatus());
    return reader.HeardElsewhere(absl::Seconds(60), kNow)->size() == 1;
  };
  EXPECT_TRUE(counts(5, "now() - interval '1 hour'"));
  EXPECT_TRUE(counts(5, "now() + interval '1 hour'"));
  EXPECT_TRUE(counts(60, "now()"));    // C-14
  EXPECT_FALSE(counts(61, "now()"));   // C-14
  EXPECT_TRUE(counts(-60, "now()"));   // T-291
  EXPECT_FALSE(counts(-61, "now()"));  // C-14
}

}  // namespace
}  // namespace berth::placement
