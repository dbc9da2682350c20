// What a client reads in the details of an error.
#include "services/client/cpp/failure.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace berth::client {
namespace {

using Item = std::map<std::string, std::string>;

// An error as placement sends it: an ErrorInfo for each item.
grpc::Status Refusal(const std::string& domain, const std::vector<Item>& items) {
  google::rpc::Status details;
  details.add_details()->set_type_url("type.googleapis.com/of.a.newer.Release");
  for (const Item& item : items) {
    google::rpc::ErrorInfo info;
    info.set_domain(domain);
    info.set_reason("OVERLOADED");
    info.mutable_metadata()->insert(item.begin(), item.end());
    details.add_details()->PackFrom(info);
  }
  return grpc::Status(grpc::StatusCode::UNAVAILABLE, "busy", details.SerializeAsString());
}

TEST(FailureTest, HasStatusReasonAndItems) {
  const Failure failure = FailureOf(
      Refusal("berth.placement", {{{"field", "a"}, {"provider", "p"}}, {}, {{"field", "b"}}}));
  EXPECT_FALSE(failure.ok());
  EXPECT_EQ(failure.code, absl::StatusCode::kUnavailable);
  EXPECT_EQ(failure.reason, "OVERLOADED");
  EXPECT_EQ(failure.message, "busy");
  EXPECT_EQ(failure.items,
            std::vector<Item>({{{"field", "a"}, {"provider", "p"}}, {{"field", "b"}}}));
  EXPECT_EQ(failure.retry_delay, std::nullopt);
  EXPECT_EQ(InWords(failure), "UNAVAILABLE / OVERLOADED: busy");
}

TEST(FailureTest, DetailsOfOthersAreNoReason) {
  for (const grpc::Status& status :
       {Refusal("proxy.example", {{{"retry_delay_ms", "5"}}}),
        grpc::Status(grpc::StatusCode::UNAVAILABLE, "busy"),
        grpc::Status(grpc::StatusCode::UNAVAILABLE, "busy", "\xff no protobuf")}) {
    const Failure failure = FailureOf(status);
    EXPECT_EQ(InWords(failure), "UNAVAILABLE: busy");
    EXPECT_EQ(failure.retry_delay, std::nullopt);
  }
  EXPECT_TRUE(FailureOf(grpc::Status::OK).ok());
}

// The reason and the items are told as they came, and the code is one that programs can judge.
TEST(FailureTest, OfANewerServerIsToldAsItIs) {
  google::rpc::ErrorInfo info;
  info.set_domain("berth.placement");
  info.set_reason("REASON_OF_TOMORROW");
  (*info.mutable_metadata())["thing_of_tomorrow"] = "x";
  info.GetReflection()->MutableUnknownFields(&info)->AddLengthDelimited(9001, "x");
  google::rpc::Status details;
  details.add_details()->PackFrom(info);
  details.GetReflection()->MutableUnknownFields(&details)->AddVarint(9001, 1);
  for (const int code : {-1, 17, 99, 1'000'000}) {
    const Failure failure =
        FailureOf({static_cast<grpc::StatusCode>(code), "said so", details.SerializeAsString()});
    EXPECT_EQ(failure.code, absl::StatusCode::kUnknown) << code;
    EXPECT_EQ(InWords(failure), "UNKNOWN / REASON_OF_TOMORROW: said so");
    EXPECT_EQ(failure.items, std::vector<Item>({{{"thing_of_tomorrow", "x"}}}));
  }
  const Failure failure =
      FailureOf({grpc::StatusCode::ABORTED, "said so", details.SerializeAsString()});
  EXPECT_EQ(InWords(failure), "ABORTED / REASON_OF_TOMORROW: said so");
}

TEST(FailureTest, TheWaitThatTheServerAsksForIsBounded) {
  const std::vector<std::pair<std::string, std::optional<absl::Duration>>> cases = {
      {"250", absl::Milliseconds(250)},
      {"0", absl::ZeroDuration()},
      {"-9", absl::ZeroDuration()},
      {"999999999999", absl::Seconds(60)},
      {"9223372036854775807", absl::Seconds(60)},
      {"soon", std::nullopt},
  };
  for (const auto& [said, expected] : cases) {
    const Failure failure = FailureOf(Refusal("berth.placement", {{{"retry_delay_ms", said}}}));
    EXPECT_EQ(failure.retry_delay, expected) << said;
  }
}

}  // namespace
}  // namespace berth::client
