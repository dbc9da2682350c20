// A process that has no file descriptors left.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string>

#include "absl/strings/match.h"
#include "placement/store/database.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

// Without a second descriptor of the socket nobody could end a call that hangs.
TEST(Database, DoesNotConnectWithItsLastDescriptor) {
  const std::string url = NewDatabase();
  const int lowest = dup(0);  // all descriptors below this one are in use
  ASSERT_GE(lowest, 0);
  close(lowest);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit one_left = before;
  one_left.rlim_cur = static_cast<rlim_t>(lowest) + 1;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &one_left), 0);
  const auto database = Database::Connect(url, "test");
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(database.status().code(), absl::StatusCode::kUnavailable) << database.status();
  EXPECT_TRUE(absl::StrContains(database.status().message(), "descriptor")) << database.status();
}

}  // namespace
}  // namespace berth::placement
