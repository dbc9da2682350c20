// LogReader: reads committed batches from the log, for watchers that need batches which the feed
// has dropped.
//
// Owns a connection of its own, which is opened at the first use. Thread-safe; one call of After
// runs at a time.
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

  // The batches after `revision`, oldest first, at most `batches_max`. Nothing if `revision` is the
  // newest one. Blocks. Fails as Database::Run does, or with
  //   kOutOfRange / REVISION_COMPACTED      some of these batches were deleted; the refusal names
  //                                         the oldest revision after which the log has all batches
  //   kFailedPrecondition / REVISION_LOST   another batch has the number of `revision`
  //   kUnavailable / NOT_SERVING            the next row has a format that this release cannot read
  //   kDataLoss                             a row is missing, or cannot be decoded
  // REQUIRES: CheckRevision accepts `revision`.
  absl::StatusOr<std::vector<FeedBatchPtr>> After(Revision revision, int batches_max);

  // Makes the running call of After fail if that call has waited for the database for `limit`.
  void Watch(absl::Duration limit);

 private:
  absl::StatusOr<std::shared_ptr<Database>> Open();

  const std::string database_url_;
  Mutex reading_;
  Mutex mutex_;  // guards the pointer database_; the connection is used under reading_
  std::shared_ptr<Database> database_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LOG_READER_H_
