#include "placement/values/move_end.h"

#include <algorithm>

#include "placement/values/migration_status.h"

namespace berth::placement {
namespace {

using enum MigrationType;

constexpr MigrationType kUserDecides[] = {kCold, kResize};
constexpr MigrationType kOnlyLive[] = {kLive};
constexpr MigrationType kOnlyEvacuation[] = {kEvacuation};
constexpr MigrationType kWithoutUser[] = {kLive, kEvacuation};
constexpr MigrationType kAnyType[] = {kCold, kResize, kLive, kEvacuation};

constexpr MoveEnding kEndings[] = {
    {MoveEnd::kConfirmed, "confirmed", kUserDecides, MoveSide::kDestination},
    {MoveEnd::kReverted, "reverted", kUserDecides, MoveSide::kSource},
    {MoveEnd::kCompleted, "completed", kWithoutUser, MoveSide::kDestination},
    {MoveEnd::kDone, kDoneStatus, kOnlyEvacuation, MoveSide::kDestination},
    {MoveEnd::kFailed, "failed", kAnyType, MoveSide::kSource},
    {MoveEnd::kCancelled, "cancelled", kOnlyLive, MoveSide::kSource},
};

template <typename Matches>
const MoveEnding* FindEnding(Matches matches) {
  const auto* found = std::find_if(std::begin(kEndings), std::end(kEndings), matches);
  return found == std::end(kEndings) ? nullptr : found;
}

}  // namespace

absl::Span<const MoveEnding> MoveEndings() { return kEndings; }

const MoveEnding* FindMoveEnding(MoveEnd end) {
  return FindEnding([end](const MoveEnding& ending) { return ending.end == end; });
}

const MoveEnding* FindMoveEnding(absl::string_view status) {
  return FindEnding([status](const MoveEnding& ending) { return ending.status == status; });
}

absl::string_view WhyNotEnd(const MigrationRecord& migration, const MoveEnding& ending) {
  const auto& types = ending.types;
  if (std::find(types.begin(), types.end(), migration.type) == types.end()) {
    return "moves of this type have no such end";
  }
  if (ending.side == MoveSide::kDestination && migration.destination_host.empty()) {
    return "its destination is not known";
  }
  const bool is_done = migration.type == kEvacuation && migration.status == kDoneStatus;
  const bool may_end =
      HoldsResources(migration.status) || (is_done && ending.end != MoveEnd::kDone);
  return may_end ? "" : "it is over already";
}

absl::string_view WordOf(MigrationType type) {
  switch (type) {
    case kCold:
      return "cold";
    case kResize:
      return "resize";
    case kLive:
      return "live";
    case kEvacuation:
      return "evacuation";
  }
  return "";
}

}  // namespace berth::placement
