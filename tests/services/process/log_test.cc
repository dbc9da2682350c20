// What log lines look like.
#include "services/process/log.h"

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

TEST(LinePaceTest, KeepsNoMoreKeysThanItMay) {
  LinePace pace(absl::Hours(1));
  const placement::BootTime begin;
  int64_t omitted = 0;
  for (size_t i = 0; i < LinePace::kKeysMax; ++i) {
    EXPECT_TRUE(pace.Lets(absl::StrCat(i), begin, &omitted));
    EXPECT_FALSE(pace.Lets(absl::StrCat(i), begin, &omitted));
  }
  EXPECT_TRUE(pace.Lets("one more", begin, &omitted));
  EXPECT_TRUE(pace.Lets("0", begin, &omitted));  // is forgotten
}

}  // namespace
}  // namespace berth::services
