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
    return "moves of its type do not end so";
  }
  if (migration.type == kEvacuation && ending.end == MoveEnd::kCompleted) {
    return migration.status == kDoneStatus ? "" : "an evacuation is completed after it is done";
  }
  return HoldsResources(migration.status) ? "" : "it is over already";
}

}  // namespace berth::placement
