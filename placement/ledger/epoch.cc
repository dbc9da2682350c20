#include "placement/ledger/epoch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/commands/decision.h"
#include "placement/log/codec.h"
#include "placement/store/rows.h"
#include "placement/store/rows_load.h"
#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

// By how much a new epoch raises the counter of commands and the catalog's next ids. No epoch uses
// this many numbers or ids.
constexpr int64_t kCommandsJump = int64_t{1} << 40;
constexpr uint32_t kIdsJump = 1u << 20;
constexpr int64_t kKeepAllLogRows = int64_t{1} << 50;

Position FirstOfEpoch(const Position& head, const Position& lost) {
  Position first = head;
  first.revision.epoch = std::max(head.revision.epoch, lost.revision.epoch) + 1;
  first.revision.number = head.revision.number + 1;
  first.batch = BatchId{Uuid::Random()};
  first.command_count = std::max(head.command_count, lost.command_count) + kCommandsJump;
  first.next_class_id = std::max(head.next_class_id, lost.next_class_id) + kIdsJump;
  first.next_trait_id = std::max(head.next_trait_id, lost.next_trait_id) + kIdsJump;
  first.epoch_began_at = first.revision.number;
  return first;
}

absl::StatusOr<State> BeginUnderLock(Database& database, const Position& lost,
                                     const EpochStart& start) {
  BERTH_ASSIGN_OR_RETURN(const LockedHead locked, LockAndReadHead(database, 0, 0, {}));
  const Position head = locked.head ? locked.head->position : Position();
  if (head.revision != start.expected_head) {
    return Refuse(
        absl::StatusCode::kAborted, "CONCURRENT_UPDATE",
        absl::StrCat("the newest revision in the database is ", head.revision.epoch, ":",
                     head.revision.number,
                     ", not the revision that the request names: read the lost changes again"));
  }
  // Loading the tables may take minutes, and meanwhile PostgreSQL often waits for this process. A
  // writer that waits for the lock ends the session of a process that it takes for paused. It
  // spares a session with the application name of a large batch, which LargeBatchSql sets.
  BERTH_RETURN_IF_ERROR(database.Run(
      LargeBatchSql() + "; SET LOCAL idle_in_transaction_session_timeout = '10min'", nullptr));
  BERTH_ASSIGN_OR_RETURN(const State tables, LoadTables(database));
  State next = tables;
  next.set_position(FirstOfEpoch(head, lost));
  const Touched nothing;
  BatchRows rows;
  rows.base = &tables;
  rows.next = &next;
  rows.touched = &nothing;
  rows.payload = EncodeBatch({{start.actor, start.request_id, std::make_shared<const Changes>(),
                               start.reason, nullptr, start.method}});
  rows.log_rows_kept = kKeepAllLogRows;
  const absl::Status written = database.RunAndCommit(WriteBatchSql(rows), nullptr);
  // The connection broke during the commit: nobody knows whether the epoch has begun.
  if (written.code() == absl::StatusCode::kUnavailable) return OutcomeUnknown();
  if (!written.ok()) return written;
  return next;
}

}  // namespace

absl::StatusOr<State> BeginEpoch(Database& database, const Position& lost,
                                 const EpochStart& start) {
  BERTH_RETURN_IF_ERROR(database.Run(WriterSettingsSql(), nullptr));
  absl::StatusOr<State> state = BeginUnderLock(database, lost, start);
  if (!state.ok() && !database.broken()) (void)database.Run("ROLLBACK", nullptr);
  return state;
}

}  // namespace berth::placement
