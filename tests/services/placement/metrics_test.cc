// What Prometheus reads about the ledger.
#include "services/placement/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::services {
namespace {

using placement::Claim;
using placement::LedgerRoads;
using placement::LedgerRunner;
using ::testing::HasSubstr;

class PlacementMetrics : public ::testing::Test {
 protected:
  static placement::LedgerOptions OnTheShortRoad(const std::string& url) {
    placement::LedgerOptions options = placement::OptionsFor(url);
    options.roads = LedgerRoads::kShortFirst;
    return options;
  }

  const std::string url_ = placement::NewDatabase();
  LedgerRunner runner_{OnTheShortRoad(url_)};
  Workers workers_{1, 1};
  LivenessRecorder recorder_{&runner_.ledger(), url_, absl::Seconds(60)};
  ReportSessions sessions_{&runner_.ledger(), &workers_, &recorder_};
  Metrics metrics_{"placement"};
};

// Each number is that of the ledger, under a name and with a help text of its own.
TEST_F(PlacementMetrics, TellWhichRoadTheBatchesTook) {
  MeasurePlacement(&runner_.ledger(), &workers_, &sessions_, absl::Hours(24), &metrics_);
  placement::MakeProviders(runner_, 1, 10, 1024);
  runner_.Must(Claim(1, {1}, 1), "one");
  runner_.Must(Claim(1, {1}, 1), "one");  // the id is kept: decided in vain on the short road
  ASSERT_TRUE(LedgerRunner::Eventually([&] { return runner_.ledger().health().commands > 0; }));
  const placement::LedgerHealth health = runner_.ledger().health();
  EXPECT_GT(health.short_batches, 0);
  EXPECT_EQ(health.moved_batches, 1);
  const std::string text = metrics_.Text();
  const std::pair<const char*, int64_t> counters[] = {
      {"batches", health.batches},
      {"short_batches", health.short_batches},
      {"ahead_batches", health.ahead_batches},
      {"moved_batches", health.moved_batches},
      {"dropped_batches", health.dropped_batches},
      {"commands", health.commands},
      {"db_in_doubt", health.in_doubt},
      {"db_reconnects", health.reconnects},
  };
  for (const auto& [name, value] : counters) {
    EXPECT_THAT(text, HasSubstr(absl::StrCat("\nplacement_", name, "_total ", value, "\n")));
    EXPECT_THAT(text, HasSubstr(absl::StrCat("# HELP placement_", name, "_total ")));
  }
}

}  // namespace
}  // namespace berth::services
