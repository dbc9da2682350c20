// The checker on a short history whose newest commands were lost: the new epoch uses their revision
// again.
#include <gtest/gtest.h>

#include "tests/history/checker/checker.h"

namespace berth::history {
namespace {

constexpr uint64_t kAdjusted = 7;

// The consumer gets `amount` of provider 0 at revision 11 of `epoch`, by a call without an id.
void Adjust(int64_t begin_ns, uint8_t epoch, int32_t amount, ClientLog* log) {
  Operation adjust;
  adjust.kind = Kind::kAdjust;
  adjust.with_id = false;
  adjust.begin_ns = begin_ns;
  adjust.end_ns = begin_ns + 1;
  adjust.number = static_cast<uint32_t>(log->operations.size());
  adjust.first_part = static_cast<uint32_t>(log->parts.size());
  adjust.parts = 1;
  adjust.revision = 11;
  adjust.epoch = epoch;
  adjust.outcome = Outcome::kDone;
  log->parts.push_back({kAdjusted, kAny, 10, static_cast<uint32_t>(log->rows.size()), 1});
  log->rows.push_back({0, 0, amount});
  log->operations.push_back(adjust);
}

TEST(CheckerEpoch, ARevisionThatWasLostIsNotTheOneThatHasItsNumber) {
  History history;
  history.begin.revision = 10;
  history.begin.command_count = 10;
  history.begin.providers = {{5, 6, {8, 8}, {2, 0}}};
  history.begin.consumers = {{kAdjusted, 9, {{0, 0, 2}}}};
  history.clients.resize(1);
  Adjust(1, 1, 1, &history.clients[0]);
  history.epoch_began_ns = 3;
  Adjust(4, 2, 2, &history.clients[0]);
  Step step;
  step.revision = 11;
  step.parts = 1;
  step.uses = 1;
  history.story.rows = {{0, 0, 4}};
  history.story.parts = {{kAdjusted, 0, 10, 0, 1}};
  history.story.uses = {{0, 7, {4, 0}}};
  history.story.steps = {step};
  history.story.revisions = {{11, 2, 11, 1, 0}};
  history.end.revision = 11;
  history.end.providers = {{5, 7, {8, 8}, {4, 0}}};
  history.end.consumers = {{kAdjusted, 10, {{0, 0, 4}}}};
  EXPECT_TRUE(Check(history).empty()) << Check(history).ToString();
}

}  // namespace
}  // namespace berth::history
