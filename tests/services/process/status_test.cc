// The table from placement's refusals to the wire.
#include "services/process/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/support/status.h"
#include "placement/ground/boot_clock.h"

namespace berth::services {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<google::rpc::ErrorInfo> InfosOf(const grpc::Status& status) {
  google::rpc::Status details;
  EXPECT_TRUE(details.ParseFromString(status.error_details()));
  EXPECT_EQ(details.code(), static_cast<int>(status.error_code()));
  EXPECT_EQ(details.message(), status.error_message());
  std::vector<google::rpc::ErrorInfo> infos;
  for (const google::protobuf::Any& any : details.details()) {
    EXPECT_TRUE(any.UnpackTo(&infos.emplace_back()));
    EXPECT_EQ(infos.back().domain(), "berth.placement");
  }
  return infos;
}

TEST(StatusTest, EveryItemOfARefusalIsOneErrorInfo) {  // P-235, P-236
  const grpc::Status status = PlacementStatus(placement::Refuse(
      absl::StatusCode::kResourceExhausted, "CAPACITY_EXCEEDED", "2 classes do not fit",
      {{{"resource_class", "VCPU"}, {"used", "3"}}, {{"resource_class", "DISK_GB"}}}));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(status.error_message(), "2 classes do not fit");
  const auto infos = InfosOf(status);
  ASSERT_EQ(infos.size(), 2U);
  EXPECT_EQ(infos[0].reason(), "CAPACITY_EXCEEDED");
  EXPECT_EQ(infos[0].metadata().at("used"), "3");
  EXPECT_EQ(infos[1].metadata().at("resource_class"), "DISK_GB");
}

TEST(StatusTest, ARefusalWithoutItemsSaysItsReason) {
  const auto infos = InfosOf(PlacementStatus(placement::Refuse(
      absl::StatusCode::kUnavailable, "OVERLOADED", "later", {}, absl::Milliseconds(50))));
  ASSERT_EQ(infos.size(), 1U);
  EXPECT_EQ(infos[0].reason(), "OVERLOADED");
  EXPECT_EQ(infos[0].metadata().at("retry_delay_ms"), "50");
}

// What is too large for a client's trailers never reaches it at all.
TEST(StatusTest, FitsIntoTrailers) {
  std::vector<placement::FaultItem> items(256);
  for (placement::FaultItem& item : items) {
    item = {{"consumer", std::string(36, 'c')}, {"field", "members[100].consumer.generation"}};
  }
  std::string words = "x";
  for (int i = 0; i < 1000; ++i) words += "\xc3\xa4";
  const auto refused = placement::Refuse(absl::StatusCode::kAborted, "CONFLICT", words, items);
  const grpc::Status status = PlacementStatus(WithDetail(refused, google::rpc::ErrorInfo()));
  EXPECT_LE(status.error_details().size(), 4096U);
  EXPECT_GT(status.error_details().size(), 3500U);
  EXPECT_EQ(status.error_message(), words.substr(0, 511) + "...");
  std::vector<google::rpc::ErrorInfo> infos = InfosOf(status);
  const std::string omitted = infos.back().metadata().at("omitted");
  EXPECT_EQ(infos.size() + std::stoul(omitted), items.size());
  EXPECT_EQ(infos.back().metadata().at("consumer"), items[0].at("consumer"));
  EXPECT_FALSE(infos.front().metadata().contains("omitted"));
}

TEST(StatusTest, WhatNoRuleWroteStaysHere) {  // P-237
  struct Case {
    absl::Status status;
    grpc::StatusCode code;
    const char* reason;
  };
  const char secret[] = "relation \"consumers\" does not exist";
  const Case cases[] = {
      {absl::UnavailableError(secret), grpc::UNAVAILABLE, "STORE_UNAVAILABLE"},
      {absl::DeadlineExceededError(secret), grpc::DEADLINE_EXCEEDED, "OUTCOME_UNKNOWN"},
      {absl::CancelledError(secret), grpc::CANCELLED, "CANCELLED"},
      {absl::InternalError(secret), grpc::INTERNAL, "INTERNAL"},
      {absl::AbortedError(secret), grpc::INTERNAL, "INTERNAL"},
      {absl::NotFoundError(secret), grpc::INTERNAL, "INTERNAL"},
      {absl::UnknownError(secret), grpc::INTERNAL, "INTERNAL"},
  };
  for (const Case& failure : cases) {
    const grpc::Status status = PlacementStatus(failure.status);
    EXPECT_EQ(status.error_code(), failure.code) << failure.status;
    EXPECT_EQ(InfosOf(status).at(0).reason(), failure.reason);
    EXPECT_THAT(status.error_message(), Not(HasSubstr("consumers")));
    EXPECT_THAT(status.error_details(), Not(HasSubstr("consumers")));
  }
  EXPECT_TRUE(PlacementStatus(absl::OkStatus()).ok());
}

// A client that is told nothing is told that the log says why.
TEST(StatusTest, NoFailureHidesAnotherInTheLog) {
  ::testing::internal::CaptureStderr();
  const placement::BootTime begun = placement::BootNow();
  for (int i = 0; i < 200; ++i) {
    EXPECT_FALSE(PlacementStatus(absl::InternalError("the table is gone")).ok());
  }
  EXPECT_FALSE(PlacementStatus(absl::InternalError("the index is gone")).ok());
  const int64_t seconds = absl::ToInt64Seconds(placement::BootNow() - begun);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("the index is gone"));
  const std::vector<std::string> parts = absl::StrSplit(log, "the table is gone");
  EXPECT_GE(parts.size(), 2U) << log;
  EXPECT_LE(static_cast<int64_t>(parts.size()), seconds + 2) << log;
}

// A text may name what its call was about. In a child process, because the pace is the process's.
TEST(StatusTest, NotEachFailureIsALineInTheLog) {
  const auto fail = [] {
    for (int i = 0; i < 200; ++i) {
      PlacementStatus(absl::InternalError(absl::StrCat("row ", i, " is gone")));
    }
    std::exit(0);
  };
  const auto lines = [](const std::string& log) {
    return std::count(log.begin(), log.end(), '\n');
  };
  // Ten, and ten more if the child takes longer than a second.
  const ::testing::Matcher<const std::string&> few =
      ::testing::ResultOf(lines, ::testing::AllOf(::testing::Ge(1), ::testing::Le(20)));
  EXPECT_EXIT(fail(), ::testing::ExitedWithCode(0), few);
}

}  // namespace
}  // namespace berth::services
