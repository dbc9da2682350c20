// berth-placement as a process: how it starts, what it says when it cannot, how it stops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "tests/processes/placement_server.h"
#include "tests/processes/taken_port.h"

namespace berth::e2e {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kEndMax = absl::Seconds(40);

class ProcessTest : public ::testing::Test {
 protected:
  // What the program says when it does not start; its exit code must be 1.
  std::string Refusal(std::vector<std::string> arguments) {
    PlacementServer server(scratch_.path(), std::move(arguments));
    EXPECT_FALSE(server.AwaitAddress().ok());
    EXPECT_EQ(server.AwaitEnd(kEndMax), 1);
    return server.Log();
  }

  placement::ScratchDirectory scratch_;
};

TEST_F(ProcessTest, EmbeddedByDefaultAndStoppedGracefully) {
  const std::string state = absl::StrCat("--state-dir=", scratch_.path(), "/state");
  for (int start = 0; start < 2; ++start) {  // the second finds what the first left
    PlacementServer server(scratch_.path(), {state});
    const absl::Status started = server.AwaitAddress();
    ASSERT_TRUE(started.ok()) << started;
    if (start == 0) {
      placement::ScratchDirectory other;
      PlacementServer second(other.path(), {state});
      EXPECT_FALSE(second.AwaitAddress().ok());
      EXPECT_EQ(second.AwaitEnd(kEndMax), 1);
      EXPECT_THAT(second.Log(), HasSubstr("berth-placement: "));
    }
    server.Signal(SIGTERM);
    EXPECT_EQ(server.AwaitEnd(kEndMax), 0);
    EXPECT_THAT(server.Log(), HasSubstr("stopped"));
  }
}

TEST_F(ProcessTest, AKilledProcessLeavesNothingThatHindersTheNext) {
  const std::string state = absl::StrCat("--state-dir=", scratch_.path(), "/state");
  for (int start = 0; start < 2; ++start) {
    PlacementServer server(scratch_.path(), {state});
    const absl::Status started = server.AwaitAddress();
    ASSERT_TRUE(started.ok()) << started;
    server.Signal(SIGKILL);
    EXPECT_EQ(server.AwaitEnd(kEndMax), 128 + SIGKILL);
  }
}

TEST_F(ProcessTest, SaysWhyItCannotStart) {
  const std::string database = "--database=" + placement::NewDatabase();
  const std::string nowhere = "--database=postgresql://127.0.0.1:1/berth?connect_timeout=2";
  std::ofstream(scratch_.path() + "/file") << "not a directory";
  const std::string file = absl::StrCat("--state-dir=", scratch_.path(), "/file");
  EXPECT_THAT(Refusal({database, "--listen=0.0.0.0:0"}), HasSubstr("--insecure-listen"));
  EXPECT_THAT(Refusal({database, "--metrics-listen=0.0.0.0:0"}),
              HasSubstr("--insecure-metrics-listen"));
  EXPECT_THAT(Refusal({"--check-config", "--metrics-listen=0.0.0.0:0"}),
              HasSubstr("--insecure-metrics-listen"));
  EXPECT_THAT(Refusal({nowhere}), HasSubstr("cannot connect to the database"));
  EXPECT_THAT(Refusal({file}), HasSubstr(scratch_.path() + "/file"));
  EXPECT_THAT(Refusal({"--colour=red"}), HasSubstr("--colour"));
}

TEST_F(ProcessTest, SaysWhenThePortIsTaken) {
  const TakenPort taken;
  const std::string listen = "--listen=" + taken.address();
  EXPECT_THAT(Refusal({"--database=" + placement::NewDatabase(), listen}), HasSubstr("taken"));
}

TEST_F(ProcessTest, RefusesASchemaThatIsNewerThanIt) {
  const std::string url = placement::NewDatabase();
  const auto database = placement::ConnectOrDie(url);
  ASSERT_TRUE(
      database
          ->Run("INSERT INTO ledger_schema (version, name) VALUES (9999, 'of tomorrow')", nullptr)
          .ok());
  EXPECT_THAT(Refusal({"--database=" + url}), HasSubstr("newer"));
}

TEST_F(ProcessTest, ChecksSettingsWithoutStarting) {
  PlacementServer server(scratch_.path(), {"--check-config"});
  EXPECT_EQ(server.AwaitEnd(kEndMax), 0);
  EXPECT_THAT(server.Log(), HasSubstr("The settings are good."));
  PlacementServer declared(scratch_.path(), {"--check-config", "--metrics-listen=0.0.0.0:7311",
                                             "--insecure-metrics-listen"});
  EXPECT_EQ(declared.AwaitEnd(kEndMax), 0) << declared.Log();
}

}  // namespace
}  // namespace berth::e2e
