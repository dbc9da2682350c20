// Explanations that are shortened to a limit.
#include "services/wire/explanation.h"

#include <gtest/gtest.h>

namespace berth::services {
namespace {

pb::Explanation Long() {
  pb::Explanation explanation;
  for (int i = 0; i < 5; ++i) {
    explanation.add_steps()->mutable_constraint()->add_names(std::string(100, 's'));
    explanation.add_near_misses()->set_name(std::string(100, 'n'));
    explanation.add_relaxations()->mutable_constraint()->add_names(std::string(100, 'r'));
  }
  return explanation;
}

TEST(WireExplanation, FitsByLeavingOutTheLeast) {
  struct Case {
    size_t bytes_max;
    int steps, near_misses, relaxations;
  };
  const Case cases[] = {
      {10'000, 5, 5, 5}, {1400, 5, 3, 5}, {1000, 5, 0, 4}, {300, 2, 0, 0}, {2, 0, 0, 0}};
  for (const Case& each : cases) {
    pb::Explanation explanation = Long();
    FitExplanation(each.bytes_max, &explanation);
    EXPECT_LE(explanation.ByteSizeLong(), each.bytes_max);
    EXPECT_EQ(explanation.steps_size(), each.steps) << each.bytes_max;
    EXPECT_EQ(explanation.near_misses_size(), each.near_misses) << each.bytes_max;
    EXPECT_EQ(explanation.relaxations_size(), each.relaxations) << each.bytes_max;
    EXPECT_EQ(explanation.truncated(), each.bytes_max < 10'000);
  }
}

}  // namespace
}  // namespace berth::services
