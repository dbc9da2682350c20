#include "placement/store/heartbeats.h"

#include <gtest/gtest.h>

#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

TEST(Heartbeats, ARowPerProcessThatTheOthersRead) {
  const std::string url = NewDatabase();
  const LedgerRunner runner(OptionsFor(url));  // makes the tables
  Heartbeats first(url, "p1");
  Heartbeats second(url, "p2");
  const auto write = [&](int64_t seconds) {
    return first.Write({{"host/berth-tracker", absl::FromUnixSeconds(seconds)}});
  };
  ASSERT_EQ(write(100), absl::OkStatus());
  ASSERT_EQ(write(200), absl::OkStatus());
  EXPECT_TRUE(first.HeardElsewhere(absl::UnixEpoch())->empty());
  const auto heard = second.HeardElsewhere(absl::FromUnixSeconds(150));
  ASSERT_TRUE(heard.ok()) << heard.status();
  ASSERT_EQ(heard->size(), 1u);
  EXPECT_EQ(heard->at("host/berth-tracker"), absl::FromUnixSeconds(200));
  EXPECT_TRUE(second.HeardElsewhere(absl::FromUnixSeconds(200))->empty());
  ASSERT_EQ(first.RemoveOwn(), absl::OkStatus());
  EXPECT_TRUE(second.HeardElsewhere(absl::UnixEpoch())->empty());
}

}  // namespace
}  // namespace berth::placement
