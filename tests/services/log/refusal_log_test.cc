// How many lines the log gets of callers and peers who are refused, by a clock of the test.
#include "services/log/refusal_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "placement/values/refusal.h"
#include "services/process/service_options.h"

namespace berth::services {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kMethod[] = "berth.placement.v1.CatalogService/ListTraits";

absl::Status RefusedWith(absl::StatusCode code, const std::string& reason) {
  return placement::Refuse(code, reason, "why not");
}

// The lines that `log` writes, as text.
template <typename Function>
std::vector<std::string> LinesOf(const Function& log) {
  StartLog(LogFormat::kText, LogLevel::kInfo);
  ::testing::internal::CaptureStderr();
  log();
  return absl::StrSplit(::testing::internal::GetCapturedStderr(), '\n', absl::SkipEmpty());
}

TEST(RefusalLogTest, HasCallerMethodAndReason) {
  RefusalLog refusals("a call was refused");
  const absl::Status denied = RefusedWith(absl::StatusCode::kPermissionDenied, "IDENTITY_DENIED");
  EXPECT_THAT(LinesOf([&] { refusals.Tell("reader/ann", kMethod, denied, placement::BootTime()); }),
              ElementsAre(HasSubstr(
                  "warning a call was refused caller=reader/ann "
                  "method=berth.placement.v1.CatalogService/ListTraits reason=IDENTITY_DENIED "
                  "why=\"why not\" omitted=0")));
}

TEST(RefusalLogTest, HasOneLineASecondForEachCallerAndReason) {
  RefusalLog refusals("a call was refused");
  const placement::BootTime begin;
  const auto burst = [&](placement::BootTime now) {
    return LinesOf([&] {
      for (int i = 0; i < 1000; ++i) {
        for (const char* caller : {"reader/a", "reader/b"}) {
          for (const char* reason : {"ROLE_NOT_PERMITTED", "RATE_LIMITED"}) {
            // The methods have no lines of their own.
            refusals.Tell({caller, absl::StrCat("m", i), reason, "why"}, now);
          }
        }
      }
    });
  };
  EXPECT_THAT(burst(begin), SizeIs(4));
  EXPECT_THAT(burst(begin + absl::Milliseconds(999)), SizeIs(0));
  const std::vector<std::string> later = burst(begin + absl::Seconds(1));
  ASSERT_THAT(later, SizeIs(4));
  for (const std::string& line : later) EXPECT_THAT(line, HasSubstr("omitted=1999"));
}

TEST(RefusalLogTest, IsBoundedHoweverManyCallersThereAre) {
  RefusalLog refusals("a call was refused");
  const placement::BootTime begin;
  const auto callers = [&](placement::BootTime now) {
    return LinesOf([&] {
      for (int i = 0; i < 5000; ++i) {
        refusals.Tell({absl::StrCat("tracker/", i), kMethod, "IDENTITY_DENIED", "why"}, now);
      }
    });
  };
  EXPECT_THAT(callers(begin), SizeIs(LinePace::kLinesMax));
  // Those that got no line are told with the first of the next second.
  EXPECT_THAT(callers(begin + absl::Seconds(1))[0],
              HasSubstr(absl::StrCat("omitted=", 5000 - LinePace::kLinesMax)));
}

TEST(RefusesCallerTest, TellsTheCallerFromTheRequest) {
  using Code = absl::StatusCode;
  EXPECT_TRUE(RefusesCaller(RefusedWith(Code::kPermissionDenied, "POLICY_DENIED")));
  EXPECT_TRUE(RefusesCaller(RefusedWith(Code::kUnauthenticated, "UNAUTHENTICATED")));
  EXPECT_TRUE(RefusesCaller(RefusedWith(Code::kUnavailable, "RATE_LIMITED")));
  EXPECT_TRUE(RefusesCaller(RefusedWith(Code::kUnavailable, "OVERLOADED")));
  EXPECT_TRUE(RefusesCaller(RefusedWith(Code::kUnavailable, "TOO_MANY_WAIT")));
  EXPECT_FALSE(RefusesCaller(RefusedWith(Code::kUnavailable, "NOT_SERVING")));
  EXPECT_FALSE(RefusesCaller(absl::UnavailableError("the database is away")));
  EXPECT_FALSE(RefusesCaller(RefusedWith(Code::kInvalidArgument, "INVALID_FIELD")));
  EXPECT_FALSE(RefusesCaller(absl::OkStatus()));
}

TEST(PeerTellerTest, HasEachTextOnceASecondAndFewLines) {
  placement::BootTime now;
  const Tls::Tell tell = PeerTeller([&now] { return now; });
  const auto burst = [&](int peers) {
    return LinesOf([&] {
      for (int i = 0; i < 1000; ++i) tell(true, absl::StrCat("refused ", i % peers));
    });
  };
  EXPECT_THAT(burst(2), ElementsAre(HasSubstr("warning refused 0 omitted=0"),
                                    HasSubstr("warning refused 1 omitted=0")));
  now += absl::Seconds(1);
  EXPECT_THAT(burst(2), ElementsAre(HasSubstr("omitted=499"), HasSubstr("omitted=499")));
  now += absl::Seconds(10);
  EXPECT_THAT(burst(1000), SizeIs(20));
}

TEST(PeerTellerTest, PeersDoNotHideWhatElseGrpcSays) {
  const placement::BootTime now;
  const Tls::Tell tell = PeerTeller([now] { return now; });
  const std::vector<std::string> lines = LinesOf([&] {
    for (int i = 0; i < 1000; ++i) tell(true, absl::StrCat("refused ", i));
    for (int i = 0; i < 1000; ++i) tell(true, absl::StrCat("gRPC: no file is left ", i));
  });
  ASSERT_THAT(lines, SizeIs(40));
  EXPECT_THAT(lines[19], HasSubstr("refused 19"));
  EXPECT_THAT(lines[20], HasSubstr("gRPC: no file is left 0"));
}

}  // namespace
}  // namespace berth::services
