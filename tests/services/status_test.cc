// The table from placement's refusals to the wire.
#include "services/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/support/status.h"

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

}  // namespace
}  // namespace berth::services
