// PositionFile: a file that keeps the newest position of the ledger that this process has seen.
//
// A process that starts compares the file with the database. If the database is behind the file, or
// has another batch at the file's revision, then an old copy of the database was restored while no
// process ran. The commits after that copy, up to the file's position, are lost.
//
// The file is always replaced as a whole, so that a process that is killed leaves the old version
// or the new one. The file is not synced to the disk: a crash of the machine may lose the newest
// versions, but a sync would compete with the commits of a PostgreSQL on the same disk.
// Thread-safe.
#ifndef BERTH_PLACEMENT_STORE_POSITION_FILE_H_
#define BERTH_PLACEMENT_STORE_POSITION_FILE_H_

#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "placement/ground/mutex.h"
#include "placement/state/state.h"

namespace berth::placement {

class PositionFile {
 public:
  // An empty path means that there is no file: Read finds nothing and Write does nothing.
  explicit PositionFile(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  // The position in the file; ledger_time, format and epoch_began_at are unset. Nothing if there is
  // no file. kDataLoss if the file cannot be read or does not contain a complete position.
  absl::StatusOr<std::optional<Position>> Read() const;
  // Replaces the file, unless the last call wrote the same position. If Write fails (kUnavailable),
  // the old file stays, and the message gives the reason.
  absl::Status Write(const Position& position);

 private:
  const std::string path_;
  Mutex mutex_;
  BatchId written_ ABSL_GUARDED_BY(mutex_);  // the batch of the position that was written last
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STORE_POSITION_FILE_H_
