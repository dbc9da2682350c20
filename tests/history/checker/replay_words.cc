// What a replay says of operations, and of the commands around them, in words.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/history/checker/replay.h"

namespace berth::history {
namespace {

constexpr const char* kKindNames[] = {
    "SetAllocations", "DeleteAllocations", "AdjustAllocations",
    "Claim",          "SetLease",          "(the ledger ends leases)",
    "SetInventories", "(a report)",        "SetInstance",
    "DeleteInstance", "CreateMigration",   "UpdateMigration",
    "EndMove",        "(the same again)",  "GetInventories",
    "GetAllocations", "ListInstances",     "ListMigrations"};
constexpr const char* kOutcomeNames[] = {"done", "refused", "away", "absent", "unknown"};
constexpr const char* kReasonNames[] = {"",
                                        " for want of room",
                                        " for want of a candidate",
                                        " (another generation of the consumer)",
                                        " (another generation of the provider)",
                                        " (no such consumer)",
                                        " (more taken than held)",
                                        " (no such instance)",
                                        " (no such migration)",
                                        " (the migration exists already)",
                                        " (the record has changed)",
                                        " (the move holds allocations)",
                                        " (the move cannot end so)",
                                        " (the instance is elsewhere)",
                                        " (nothing is held there)",
                                        " (the lease has not ended)",
                                        " (no lawful reason)"};
constexpr int kWindowSteps = 4;
constexpr uint32_t kWindowLook = 20'000;  // steps

std::string RowsText(const std::deque<Row>& rows, uint32_t first, uint32_t count) {
  std::string text = "{";
  for (uint32_t r = first; r < first + count; ++r) {
    const std::string provider =
        rows[r].provider == kUnplaced ? "any" : absl::StrCat(rows[r].provider);
    absl::StrAppend(&text, r == first ? "" : ", ", rows[r].amount, " of ", provider, ".",
                    rows[r].resource_class);
  }
  return text + "}";
}

std::string StateText(const ProviderState& state) {
  return absl::StrFormat("%d/%d used %d of %d and %d of %d", state.generation,
                         state.allocation_generation, state.used[0], state.capacity[0],
                         state.used[1], state.capacity[1]);
}

}  // namespace

const char* WordsFor(Reason reason) { return kReasonNames[static_cast<int>(reason)]; }

std::string Replay::Describe(const Place& place) const {
  const Operation& operation = At(place);
  const ClientLog& log = LogOf(place);
  std::string text = absl::StrFormat(
      "client %d #%d %s [%.6f s to %.6f s, process %d]", place.client, place.number,
      kKindNames[static_cast<int>(operation.kind)], static_cast<double>(operation.begin_ns) * 1e-9,
      static_cast<double>(operation.end_ns) * 1e-9, operation.process);
  for (uint16_t p = 0; p < operation.parts; ++p) {
    const Part& part = log.parts[operation.first_part + p];
    absl::StrAppend(&text, " consumer ", absl::Hex(part.consumer), " expected ", part.expected,
                    " now ", part.generation, " ", RowsText(log.rows, part.first_row, part.rows));
  }
  if (operation.parts == 0) {
    absl::StrAppend(&text, " provider ", operation.provider, " expected ", operation.expected,
                    " at ", operation.generation, "/", operation.allocation_generation, " ",
                    RowsText(log.rows, operation.first_row, operation.rows));
  }
  if (operation.cursor != 0) absl::StrAppend(&text, " after ", absl::Hex(operation.cursor));
  if (operation.minimum > 0) absl::StrAppend(&text, " at least revision ", operation.minimum);
  absl::StrAppend(&text, " -> ", kOutcomeNames[static_cast<int>(operation.outcome)],
                  WordsFor(operation.reason));
  if (operation.outcome == Outcome::kDone) {
    absl::StrAppend(&text, " at revision ", operation.revision, " of epoch ", operation.epoch);
  } else if (operation.generation != 0) {
    absl::StrAppend(&text, " naming ", operation.generation);
  }
  return text;
}

std::string Replay::Commands(int64_t revision) const {
  std::string text;
  for (uint32_t s = EndOf(revision - 1); s < EndOf(revision); ++s) {
    const Step& step = history_.story.steps[s];
    if (step.client < 0 || step.client >= static_cast<int>(steps_.size())) continue;
    if (step.number >= steps_[step.client].size()) continue;
    absl::StrAppend(&text, "\n  ", Describe({static_cast<uint16_t>(step.client), step.number}));
  }
  return text;
}

bool Replay::Touches(const Step& step, const Place& place) const {
  const Operation& operation = At(place);
  const ClientLog& log = LogOf(place);
  const Story& story = history_.story;
  const auto names = [&](uint16_t provider) {
    if (operation.parts == 0) return operation.provider == provider;
    for (uint16_t p = 0; p < operation.parts; ++p) {
      const Part& part = log.parts[operation.first_part + p];
      for (uint32_t r = part.first_row; r < part.first_row + part.rows; ++r) {
        if (log.rows[r].provider == provider) return true;
      }
    }
    return false;
  };
  for (uint32_t s = step.first_part; s < step.first_part + step.parts; ++s) {
    for (uint16_t p = 0; p < operation.parts; ++p) {
      if (story.parts[s].consumer == log.parts[operation.first_part + p].consumer) return true;
    }
  }
  for (uint32_t u = step.first_use; u < step.first_use + step.uses; ++u) {
    if (names(story.uses[u].provider)) return true;
  }
  for (uint32_t c = step.first_config; c < step.first_config + step.configs; ++c) {
    if (names(story.configs[c].provider)) return true;
  }
  return false;
}

std::string Replay::Window(uint32_t step, const Place& place) const {
  const Story& story = history_.story;
  std::vector<std::string> lines;
  const uint32_t until = step > kWindowLook ? step - kWindowLook : 0;
  for (uint32_t at = step; at > until && lines.size() < kWindowSteps; --at) {
    if (at > story.steps.size() || !Touches(story.steps[at - 1], place)) continue;
    const Step& told = story.steps[at - 1];
    std::string line = absl::StrFormat("    step %d, revision %d, client %d #%d:", at,
                                       told.revision, told.client, told.number);
    for (uint32_t p = told.first_part; p < told.first_part + told.parts; ++p) {
      absl::StrAppend(&line, " consumer ", absl::Hex(story.parts[p].consumer), " at ",
                      story.parts[p].generation, " ",
                      RowsText(story.rows, story.parts[p].first_row, story.parts[p].rows));
    }
    for (uint32_t u = told.first_use; u < told.first_use + told.uses; ++u) {
      const uint16_t provider = story.uses[u].provider;
      absl::StrAppend(&line, "; provider ", provider, " ",
                      StateText(timeline_.ProviderAt(provider, at)));
    }
    for (uint32_t c = told.first_config; c < told.first_config + told.configs; ++c) {
      const uint16_t provider = story.configs[c].provider;
      absl::StrAppend(&line, "; provider ", provider, " ",
                      StateText(timeline_.ProviderAt(provider, at)));
    }
    lines.push_back(std::move(line));
  }
  std::string text;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line)
    absl::StrAppend(&text, "\n", *line);
  return text;
}

}  // namespace berth::history
