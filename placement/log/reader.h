// LogReader: committed batches from the log, for watchers who want what the feed has forgotten.
//
// Owns a connection of its own, opened when it is first needed. Thread-safe; one reading at a time.
#ifndef BERTH_PLACEMENT_LOG_READER_H_
#define BERTH_PLACEMENT_LOG_READER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "placement/ground/mutex.h"
#include "placement/log/feed.h"
#include "placement/store/database.h"

namespace berth::placement {

class LogReader {
 public:
  explicit LogReader(std::string database_url) : database_url_(std::move(database_url)) {}

  // The batches after `revision`, oldest first, `batches_max` at the most; none where it is the
  // newest. Fails as Database::Run, with kOutOfRange (REVISION_COMPACTED, with the oldest revision
  // after which all are there), kFailedPrecondition (REVISION_LOST) where the row of this number is
  // of another epoch, kUnavailable (NOT_SERVING) where the next row is of a format that this release
  // does not know, or kDataLoss where it cannot be read. Blocks.
  // REQUIRES: CheckRevision has nothing against `revision`.
  absl::StatusOr<std::vector<FeedBatchPtr>> After(Revision revision, int batches_max);

  // Makes a reading that has lasted for `limit` fail.
  void Watch(absl::Duration limit);

 private:
  absl::StatusOr<std::shared_ptr<Database>> Open();

  const std::string database_url_;
  Mutex reading_;
  Mutex mutex_;  // guards the pointer; what it points to is used under reading_
  std::shared_ptr<Database> database_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LOG_READER_H_
