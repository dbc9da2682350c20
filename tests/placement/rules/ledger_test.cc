#include <gtest/gtest.h>

#include "placement/rules/rules.h"
#include "placement/values/refusal.h"
#include "tests/worlds/world.h"

namespace berth::placement {
namespace {

TEST(RulesLedger, SetFormatLadder) {
  State state;
  Position position = state.position();
  position.format = 2;
  state.set_position(position);
  struct Case {
    int format;
    const char* reason;
    size_t changes;
  };
  const Case cases[] = {{0, "INVALID_FIELD", 0},
                        {-1, "INVALID_FIELD", 0},
                        {1, "WRONG_LEDGER_STATE", 0},
                        {2, "", 0},
                        {3, "", 1},
                        {4, "WRONG_LEDGER_STATE", 0}};
  RuleContext context;
  context.format_max = 3;
  for (const Case& wanted : cases) {
    const absl::StatusOr<Outcome> outcome = Decide(state, SetFormat{wanted.format}, context);
    ASSERT_EQ(outcome.ok(), *wanted.reason == 0) << wanted.format;
    if (!outcome.ok()) {
      EXPECT_EQ(RefusalOf(outcome.status())->reason, wanted.reason) << wanted.format;
      continue;
    }
    EXPECT_EQ(outcome->changes.size(), wanted.changes) << wanted.format;
    State next = state;
    next.Apply(outcome->changes);
    EXPECT_EQ(next.position().format, wanted.format);
  }
}

}  // namespace
}  // namespace berth::placement
