// The ways to spoil the moves of a random history.
#include <algorithm>
#include <vector>

#include "tests/history/faults/fault.h"

namespace berth::history {
namespace {

// A random step that ends a move and that has a part for which `fits`; null: there is none.
template <typename Fits>
Step* PickEnd(std::mt19937_64& random, History* history, const Fits& fits) {
  const Story& story = history->story;
  return PickOf(random, history->story.steps, [&](const Step& step) {
    if (step.client == kNobody || OperationOf(history, step).kind != Kind::kEndMove) return false;
    const auto first = story.parts.begin() + step.first_part;
    return std::any_of(first, first + step.parts, fits);
  });
}

// Takes the parts for which `fits` out of the step.
template <typename Fits>
void Drop(History* history, Step* step, const Fits& fits) {
  std::deque<Part>& parts = history->story.parts;
  const auto first = static_cast<uint32_t>(parts.size());
  for (uint32_t p = 0; p < step->parts; ++p) {
    const Part part = parts[step->first_part + p];
    if (!fits(part)) parts.push_back(part);
  }
  step->first_part = first;
  step->parts = static_cast<uint32_t>(parts.size()) - first;
}

bool IsMoved(const Part& part) { return IsMigration(part.consumer) && !IsRecord(part.consumer); }
bool IsMove(const Part& part) { return IsMigration(part.consumer) && IsRecord(part.consumer); }
bool IsInstance(const Part& part) { return !IsMigration(part.consumer) && IsRecord(part.consumer); }
bool IsOwn(const Part& part) {
  return !IsMigration(part.consumer) && !IsRecord(part.consumer) && part.rows > 0;
}

template <bool (*fits)(const Part&)>
bool DropFromEnd(std::mt19937_64& random, History* history) {
  Step* const step = PickEnd(random, history, fits);
  if (step != nullptr) Drop(history, step, fits);
  return step != nullptr;
}

// The consumer of the instance holds the same after the end, and one unit more.
bool HoldMore(std::mt19937_64& random, History* history) {
  Story& story = history->story;
  Step* const step = PickEnd(random, history, IsOwn);
  if (step == nullptr) return false;
  for (uint32_t p = step->first_part; p < step->first_part + step->parts; ++p) {
    if (IsOwn(story.parts[p])) ++story.rows[story.parts[p].first_row].amount;
  }
  return true;
}

bool KeepLeaseAfterMove(std::mt19937_64& random, History* history) {
  Story& story = history->story;
  Step* const step = PickEnd(random, history, IsOwn);
  if (step == nullptr) return false;
  for (uint32_t p = step->first_part; p < step->first_part + step->parts; ++p) {
    if (IsOwn(story.parts[p])) story.parts[p].lease_end_us = 1;
  }
  return true;
}

bool EndWhatHasChanged(std::mt19937_64& random, History* history) {
  const int step = PickStep(
      random, history, [](const Operation& operation) { return operation.kind == Kind::kEndMove; });
  if (step < 0) return false;
  const Operation& operation = OperationOf(history, history->story.steps[step]);
  ++history->clients[operation.client].parts[operation.first_part + random() % 3].expected;
  return true;
}

// In a random history, an end says that the instance is where such an end leaves it.
bool RefuseEndWithoutCause(std::mt19937_64& random, History* history) {
  Operation* refused = PickOperation(random, history, [](const Operation& operation) {
    return operation.kind == Kind::kEndMove && operation.reason == Reason::kRecordConflict;
  });
  if (refused == nullptr) return false;
  refused->reason = Reason::kInstanceElsewhere;
  refused->generation = 0;
  return true;
}

}  // namespace

std::vector<Fault> MoveFaults() {
  return {
      {"a move ends and its migration keeps what it held", 2, DropFromEnd<IsMoved>},
      {"a move ends and its migration's record stays", 2, DropFromEnd<IsMove>},
      {"a move ends and the record of the instance stays", 2, DropFromEnd<IsInstance>},
      {"a move ends and the instance's consumer stays", 2, DropFromEnd<IsOwn>},
      {"a move ends and the instance holds too much", 2, HoldMore},
      {"a move ends and the lease stays", 2, KeepLeaseAfterMove},
      {"a move ends that has changed", 2, EndWhatHasChanged},
      {"the end of a move is refused without a cause", 5, RefuseEndWithoutCause},
  };
}

}  // namespace berth::history
