#include "tracker/account/migration_status.h"

#include <algorithm>

namespace berth::tracker {
namespace {

constexpr MigrationStatus kStatuses[] = {
    // The destination has claimed what it needs, and no work has begun.
    {"accepted", Progress::kInProgress, false, true, false},
    // A live migration waits for its turn, prepares the destination, copies the memory, and after
    // it has switched to the destination copies the rest.
    {"queued", Progress::kInProgress, true, false, false},
    {"preparing", Progress::kInProgress, true, false, false},
    {"running", Progress::kInProgress, true, false, false},
    {"running (post-copy)", Progress::kInProgress, false, false, true},
    // In this order: a resized guest's disks will be moved, are being moved, have been moved.
    {"pre-migrating", Progress::kInProgress, false, true, false},
    {"migrating", Progress::kInProgress, false, false, false},
    {"post-migrating", Progress::kInProgress, true, false, false},
    // The guest runs with its new size, and its user has yet to confirm or revert the resize.
    {"finished", Progress::kInProgress, false, false, true},
    {"confirming", Progress::kInProgress, false, false, true},
    {"reverting", Progress::kInProgress, false, false, true},
    {"error", Progress::kFailing, false, false, false},
    {"confirmed", Progress::kOver, false, false, true},
    {"reverted", Progress::kOver, false, false, true},
    {"failed", Progress::kOver, false, false, false},
    {"completed", Progress::kOver, false, false, true},
    {"cancelled", Progress::kOver, false, false, false},
    // The destination of an evacuation runs the guest. The source may still have a copy.
    {"done", Progress::kOver, false, true, true},
};

const MigrationStatus* Find(absl::string_view word) {
  const auto* found = std::find_if(std::begin(kStatuses), std::end(kStatuses),
                                   [&](const MigrationStatus& row) { return row.word == word; });
  return found == std::end(kStatuses) ? nullptr : found;
}

}  // namespace

absl::Span<const MigrationStatus> MigrationStatuses() { return kStatuses; }

MigrationStatus StatusOf(absl::string_view word) {
  const MigrationStatus* row = Find(word);
  return row == nullptr ? MigrationStatus{word, Progress::kInProgress, false, false, false} : *row;
}

bool IsKnownStatus(absl::string_view word) { return Find(word) != nullptr; }

}  // namespace berth::tracker
