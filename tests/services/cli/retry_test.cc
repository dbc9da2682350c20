// How often and how soon the command line makes a write again.
#include "services/cli/session/retry.h"

#include <gtest/gtest.h>

#include <vector>

namespace berth::cli {
namespace {

using absl::Milliseconds;

absl::Status Overloaded(const char* delay_ms) {
  return Refused(absl::StatusCode::kUnavailable, "OVERLOADED", "later",
                 {{{"retry_delay_ms", delay_ms}}});
}

TEST(Retry, WaitsAsLongAsTheServerSays) {
  EXPECT_EQ(PauseAfter(Overloaded("70"), 3), Milliseconds(70));
  EXPECT_EQ(PauseAfter(Overloaded("70000"), 0), absl::Seconds(2));
  EXPECT_EQ(PauseAfter(Overloaded("-1"), 0), absl::ZeroDuration());
  const absl::Status silent = Refused(absl::StatusCode::kUnavailable, "OVERLOADED", "later");
  EXPECT_EQ(PauseAfter(silent, 0), Milliseconds(50));
  EXPECT_EQ(PauseAfter(silent, 2), Milliseconds(200));
  EXPECT_EQ(PauseAfter(silent, 100), absl::Seconds(2));
}

TEST(Retry, WritesUntilItIsSettled) {
  struct Case {
    std::vector<absl::Status> answers;
    size_t writes;
  };
  const absl::Status unknown = Refused(absl::StatusCode::kDeadlineExceeded, "OUTCOME_UNKNOWN", "");
  const absl::Status no = Refused(absl::StatusCode::kFailedPrecondition, "NO_CANDIDATE", "");
  const absl::Status nobody = Refused(absl::StatusCode::kUnavailable, kUnreachable, "");
  const Case cases[] = {
      {{absl::OkStatus()}, 1},
      {{no}, 1},
      {{nobody}, 1},
      {{Overloaded("5"), unknown, absl::OkStatus()}, 3},
      {std::vector<absl::Status>(9, Overloaded("5")), 5},
  };
  for (const Case& each : cases) {
    size_t writes = 0;
    std::vector<absl::Duration> pauses;
    const absl::Status status = WhileOpen([&] { return each.answers[writes++]; },
                                          [&](absl::Duration pause) { pauses.push_back(pause); });
    EXPECT_EQ(writes, each.writes);
    EXPECT_EQ(status, each.answers[writes - 1]);
    ASSERT_EQ(pauses.size(), writes - 1);  // none behind the last
    if (writes == 5) {
      EXPECT_EQ(pauses, std::vector<absl::Duration>(4, Milliseconds(5)));
    }
  }
}

}  // namespace
}  // namespace berth::cli
