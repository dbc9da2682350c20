#include "placement/values/refusal.h"

#include "gtest/gtest.h"

namespace berth::placement {
namespace {

TEST(Refusal, CarriesItsReasonAndItems) {
  const std::vector<std::vector<FaultItem>> cases = {
      {},
      {{}},
      {{{"provider", "p"}}},
      {{{"provider", "p"}, {"used", "1"}}, {}, {{"field", ""}}},
      {{{"provider", std::string("a\0b\1c:7:\n", 10)}, {"", "9:"}}, {{"\0", "x"}}},
  };
  for (const std::vector<FaultItem>& items : cases) {
    const absl::Status status =
        Refuse(absl::StatusCode::kResourceExhausted, "CAPACITY_EXCEEDED", "no room", items);
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(status.message(), "no room");
    const std::optional<Refusal> refusal = RefusalOf(status);
    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->reason, "CAPACITY_EXCEEDED");
    EXPECT_EQ(refusal->items, items);  // P-236
    EXPECT_EQ(refusal->retry_after, std::nullopt);
  }
}

TEST(Refusal, SaysWhenToComeBack) {
  const absl::Status status =
      Refuse(absl::StatusCode::kUnavailable, "QUEUE_FULL", "busy", {}, absl::Milliseconds(250));
  EXPECT_EQ(RefusalOf(status)->retry_after, absl::Milliseconds(250));
}

TEST(Refusal, IsOnlyWhatRefuseMade) {
  EXPECT_FALSE(RefusalOf(absl::OkStatus()));
  EXPECT_FALSE(RefusalOf(absl::NotFoundError("somebody else's")));
}

}  // namespace
}  // namespace berth::placement
