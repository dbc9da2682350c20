// What log lines look like.
#include "services/log/log.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace berth::services {
namespace {

constexpr char kWhen[] = "2026-11-20T10:00:00.000Z";

TEST(LogTest, JsonLinesHaveTheirFieldsInOrder) {
  EXPECT_EQ(
      LogLine(LogFormat::kJson, kWhen, LogLevel::kInfo, "call ended",
              {{"method", "Get"}, {"duration_ms", 1.5}, {"batch", int64_t{7}}, {"late", true}}),
      R"({"ts":"2026-11-20T10:00:00.000Z","level":"info","msg":"call ended","method":"Get",)"
      R"("duration_ms":1.5,"batch":7,"late":true})");
}

TEST(LogTest, WhatACallerSentCannotBreakALine) {
  const std::string evil = "a\nb\"c\xff";
  const std::string json =
      LogLine(LogFormat::kJson, kWhen, LogLevel::kError, evil, {{"request_id", evil}});
  EXPECT_EQ(json.find('\n'), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(json)["request_id"], "a\nb\"c\xEF\xBF\xBD");
  const std::string text =
      LogLine(LogFormat::kText, kWhen, LogLevel::kError, evil, {{"request_id", evil}});
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST(LogTest, TextQuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(
      LogLine(LogFormat::kText, kWhen, LogLevel::kWarning, "slow call",
              {{"method", "Get"}, {"detail", "two words"}, {"empty", ""}, {"n", int64_t{3}}}),
      R"(2026-11-20T10:00:00.000Z warning slow call method=Get detail="two words" empty="" n=3)");
}

// A message has what a peer chose, such as the URI of a certificate.
TEST(LogTest, NoMessageForgesAField) {
  EXPECT_EQ(LogLine(LogFormat::kText, kWhen, LogLevel::kWarning,
                    "refused URI spiffe://x caller=admin/ann", {{"omitted", int64_t{0}}}),
            absl::StrCat(kWhen, R"( warning "refused URI spiffe://x caller=admin/ann" omitted=0)"));
  EXPECT_EQ(LogLine(LogFormat::kText, kWhen, LogLevel::kWarning, R"(a" b=\"c")", {}),
            absl::StrCat(kWhen, R"( warning "a\" b=\\\"c\"")"));
  EXPECT_EQ(LogLine(LogFormat::kText, kWhen, LogLevel::kInfo, "first\nsecond", {}),
            absl::StrCat(kWhen, " info first second"));
}

TEST(LogTest, TheThresholdCuts) {
  StartLog(LogFormat::kJson, LogLevel::kWarning);
  EXPECT_FALSE(LogEnabled(LogLevel::kInfo));
  EXPECT_TRUE(LogEnabled(LogLevel::kError));
}

TEST(LinePaceTest, LetsOneLineThroughForEachKey) {
  LinePace pace(absl::Seconds(1));
  const placement::BootTime begin;
  int64_t omitted = -1;
  EXPECT_TRUE(pace.Lets("reader/a", begin, &omitted));
  EXPECT_EQ(omitted, 0);
  EXPECT_FALSE(pace.Lets("reader/a", begin + absl::Milliseconds(999), &omitted));
  EXPECT_TRUE(pace.Lets("reader/b", begin + absl::Milliseconds(999), &omitted));
  EXPECT_TRUE(pace.Lets("reader/a", begin + absl::Seconds(1), &omitted));
  EXPECT_EQ(omitted, 1);
}

TEST(LinePaceTest, LetsNoMoreLinesThroughThanItMay) {
  LinePace pace(absl::Seconds(1), 3);
  const placement::BootTime begin;
  int64_t omitted = -1;
  for (const int i : {0, 1, 2}) {
    const placement::BootTime now = begin + absl::Milliseconds(100 * i);
    EXPECT_TRUE(pace.Lets(absl::StrCat(i), now, &omitted));
    EXPECT_FALSE(pace.Lets(absl::StrCat(i), now, &omitted));
  }
  for (int i = 3; i < 10; ++i) {
    EXPECT_FALSE(pace.Lets(absl::StrCat(i), begin + absl::Milliseconds(999), &omitted));
  }
  // The line of 0 is old: one more key gets a line, which tells of all that nobody else tells.
  EXPECT_TRUE(pace.Lets("3", begin + absl::Seconds(1), &omitted));
  EXPECT_EQ(omitted, 8);
  EXPECT_FALSE(pace.Lets("4", begin + absl::Seconds(1), &omitted));
  EXPECT_FALSE(pace.Lets("0", begin + absl::Seconds(1), &omitted));
  EXPECT_TRUE(pace.Lets("1", begin + absl::Milliseconds(1100), &omitted));
  EXPECT_EQ(omitted, 3);
}

}  // namespace
}  // namespace berth::services
