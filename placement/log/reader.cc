#include "placement/log/reader.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "placement/log/codec.h"
#include "placement/store/database.h"
#include "placement/store/rows.h"
#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

absl::Status Compacted(Database& database, Revision revision) {
  BERTH_ASSIGN_OR_RETURN(const Revision from, ReadHorizon(database));
  return Refuse(
      absl::StatusCode::kOutOfRange, "REVISION_COMPACTED",
      absl::StrCat("the changes after revision ", revision.number,
                   " are no longer kept: begin with a snapshot, or after revision ", from.number),
      {{{"oldest_epoch", absl::StrCat(from.epoch)},
        {"oldest_revision", absl::StrCat(from.number)}}});
}

// The failure for a log row of a newer format. This release might misread such a row, so it is not
// delivered.
absl::Status TooNew(const Position& position) {
  return Refuse(
      absl::StatusCode::kUnavailable, "NOT_SERVING",
      absl::StrCat("revision ", position.revision.number, " has log format ", position.format,
                   ", which this release does not know: ask another placement process"));
}

}  // namespace

absl::StatusOr<std::shared_ptr<Database>> LogReader::Open() {
  {
    const MutexLock lock(&mutex_);
    if (database_ && !database_->broken()) return database_;
    database_.reset();
  }
  BERTH_ASSIGN_OR_RETURN(auto opened, ConnectToPrimary(database_url_, "berth-placement watch"));
  const MutexLock lock(&mutex_);
  database_ = std::move(opened);
  return database_;
}

void LogReader::Watch(absl::Duration limit) {
  const MutexLock lock(&mutex_);
  if (database_) database_->ShutIfSlow(limit);
}

absl::StatusOr<std::vector<FeedBatchPtr>> LogReader::After(Revision revision, int batches_max) {
  const MutexLock reading(&reading_);
  BERTH_ASSIGN_OR_RETURN(const std::shared_ptr<Database> database, Open());
  // The row of `revision` itself is read, too: it shows whether `revision` is still in the log.
  const int own = revision.number > 0 ? 1 : 0;
  BERTH_ASSIGN_OR_RETURN(const std::vector<LogRow> rows,
                         ReadLog(*database, revision.number, batches_max + own));
  auto row = rows.begin();
  if (revision.number > 0) {
    // If the row of `revision` was deleted because of its age, then rows after it, which the caller
    // needs, may have been deleted, too.
    if (row == rows.end() || row->position.revision.number != revision.number) {
      return Compacted(*database, revision);
    }
    const Revision own_now = row->position.resume_point();
    if (own_now != revision || !MayBeOneHistory(own_now, revision)) {
      return RevisionLost(revision, own_now);
    }
    ++row;
  } else if (row != rows.end() && row->position.revision.number != 1) {
    return Compacted(*database, revision);
  }
  std::vector<FeedBatchPtr> batches;
  for (; row != rows.end(); ++row) {
    if (row != rows.begin()) {
      BERTH_RETURN_IF_ERROR(CheckFollows(*std::prev(row), *row));
    }
    if (row->position.format > kLogFormat) {
      if (!batches.empty()) break;
      return TooNew(row->position);
    }
    BERTH_ASSIGN_OR_RETURN(std::vector<LogCommand> commands, DecodeBatch(row->payload));
    batches.push_back(FeedBatchOf(row->position, commands));
  }
  return batches;
}

}  // namespace berth::placement
