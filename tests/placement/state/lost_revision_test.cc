#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "placement/state/lookup.h"
#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

std::string ReasonOf(const absl::Status& status) {
  const std::optional<Refusal> refusal = RefusalOf(status);
  return refusal ? refusal->reason : std::string(absl::StatusCodeToString(status.code()));
}

TEST(CheckRevision, WhatAnEpochLostStaysLostInEveryLaterOne) {
  State state;
  EXPECT_EQ(ReasonOf(CheckRevision(state, {1, 1})), "EPOCH_UNKNOWN");
  const std::vector<std::pair<Revision, int64_t>> history = {
      {{1, 1}, 0}, {{1, 9}, 0}, {{2, 10}, 10}, {{3, 15}, 15}, {{3, 16}, 15}};
  for (const auto& [revision, epoch_began_at] : history) {
    Position position;
    position.revision = revision;
    position.epoch_began_at = epoch_began_at;
    state.set_position(position);
  }
  EXPECT_EQ(state.epochs(), (std::vector<Revision>{{1, 1}, {2, 10}, {3, 15}}));
  for (const Revision lost : {Revision{1, 10}, {1, 12}, {1, 17}, {2, 15}, {2, 17}}) {
    EXPECT_EQ(ReasonOf(CheckRevision(state, lost)), "REVISION_LOST")
        << lost.epoch << "/" << lost.number;
  }
  for (const Revision kept : {Revision{0, 0}, {1, 9}, {2, 14}, {3, 15}, {3, 99}}) {
    EXPECT_EQ(CheckRevision(state, kept), absl::OkStatus()) << kept.epoch << "/" << kept.number;
  }
  EXPECT_EQ(ReasonOf(CheckRevision(state, {4, 1})), "EPOCH_UNKNOWN");
}

// A copy was taken over for a while as epoch 2; then the database of epoch 1 came back.
TEST(CheckRevision, AnEpochThatIsNotOfThisHistoryIsLost) {
  State state;
  state.set_epochs({{1, 1}});
  Position position;
  position.revision = {3, 56};
  position.epoch_began_at = 56;
  state.set_position(position);
  for (const Revision lost : {Revision{2, 41}, {2, 45}, {2, 60}, {1, 56}, {0, 5}}) {
    EXPECT_EQ(ReasonOf(CheckRevision(state, lost)), "REVISION_LOST")
        << lost.epoch << "/" << lost.number;
  }
  EXPECT_EQ(CheckRevision(state, {1, 55}), absl::OkStatus());
  for (const Revision never : {Revision{2, 41}, {4, 60}}) {
    EXPECT_EQ(RefusalOf(CheckRevision(state, never))->items.at(0).at("epoch"), "3");
  }
}

}  // namespace
}  // namespace berth::placement
