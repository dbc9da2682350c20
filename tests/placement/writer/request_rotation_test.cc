// When old request ids are dropped.

#include "placement/writer/request_rotation.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

TEST(RequestRotation, OneAttemptIsMadeInAnHourEvenIfItFails) {
  const std::string url = NewDatabase();
  const LedgerOptions options = OptionsFor(url);
  std::string told;
  Health health([&told](const std::string& words) { told += words; });
  CommandQueue queue(1);
  WriterConnection connection(options, &queue, &health);
  RequestRotation rotation(options, &connection, &health);
  ASSERT_TRUE(connection.Open());
  const absl::Time hour = absl::UnixEpoch() + absl::Hours(480'000);
  EXPECT_TRUE(rotation.IsDue(hour));
  rotation.Rotate(hour);
  EXPECT_EQ(told, "");
  EXPECT_FALSE(rotation.IsDue(hour + absl::Minutes(59)));
  EXPECT_TRUE(rotation.IsDue(hour + absl::Minutes(60)));
  const auto other = ConnectOrDie(url);
  ASSERT_EQ(other->Run("DROP FUNCTION rotate_requests", nullptr), absl::OkStatus());
  rotation.Rotate(hour + absl::Minutes(60));
  EXPECT_TRUE(absl::StrContains(told, "the next attempt is in an hour")) << told;
  EXPECT_FALSE(rotation.IsDue(hour + absl::Minutes(119)));
  EXPECT_TRUE(connection.is_open());
  EXPECT_EQ(QueryOne(*other,
                     "SELECT state FROM pg_stat_activity WHERE application_name = "
                     "'berth-placement writer' AND datname = current_database()"),
            "idle");
}

}  // namespace
}  // namespace berth::placement
