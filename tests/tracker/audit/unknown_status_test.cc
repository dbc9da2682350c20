// Migrations with a status that this release does not know.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/account/sample_records.h"
#include "tests/tracker/node/node_fixture.h"
#include "tracker/audit/audit.h"

namespace berth::tracker {
namespace {

using ::testing::Contains;
using ::testing::Not;

TEST(UnknownStatus, IsAFindingAndIsLoggedOnce) {
  const Instance instance = MakeInstance("i", kHere, MakeFlavor("f", 1, 512, 1));
  NodeAccount account(kHere, NodeResources());
  account.PutInstance(instance);
  account.PutMigration(MakeMigration(instance, MigrationType::kLive, "flying", kHere, kThere));
  const auto facts = std::make_shared<const Facts>(OrdinaryFacts());
  const Records records;
  std::optional<Audit> last;
  const auto pass = [&](int second) {
    last = *RunAudit({.facts = facts,
                      .records = &records,
                      .configuration = {},
                      .node_uuid = "node-1"_uuid,
                      .node_name = "n",
                      .before = last ? &*last : nullptr,
                      .now = MonotonicTime(std::chrono::seconds(second)),
                      .wall_now = absl::FromUnixSeconds(second),
                      .orphan_confirmation = std::chrono::seconds(5),
                      .account = &account});
  };
  const std::string text = "migration " + "m"_uuid.ToString() +
                           " has the status `flying`, which this release does not know; it is "
                           "taken as in progress";
  const auto found = [&] {
    return std::any_of(last->findings.begin(), last->findings.end(), [&](const Finding& one) {
      return one.kind == Finding::Kind::kRecord && one.subject == "i"_uuid.ToString() &&
             one.text == text;
    });
  };
  pass(0);
  EXPECT_TRUE(found());
  EXPECT_THAT(last->warnings, Contains(text));  // T-125
  pass(1);
  EXPECT_TRUE(found());
  EXPECT_THAT(last->warnings, Not(Contains(text)));
  account.PutMigration(MakeMigration(instance, MigrationType::kLive, "running", kHere, kThere));
  pass(2);
  EXPECT_FALSE(found());
}

}  // namespace
}  // namespace berth::tracker
