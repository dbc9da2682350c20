// AuditFiles: a directory with one file of audit lines for each day of the ledger's time, as
// audit-2026-03-01.jsonl.
//
// The position up to which the files are complete is read from the files themselves, so each
// revision is in them exactly once, whenever the process was killed: Open cuts off what follows the
// last line of the last complete revision, and the caller watches on after that revision. Before a
// new file is begun, the one before it is on the disk. One process at a time holds the directory.
// For one thread.
#ifndef BERTH_SERVICES_CLI_SESSION_AUDIT_FILES_H_
#define BERTH_SERVICES_CLI_SESSION_AUDIT_FILES_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/cli/session/audit_lines.h"

namespace berth::cli {

class AuditFiles {
 public:
  // Makes the directory if it does not exist. Fails with kFailedPrecondition if another process
  // holds it, if it cannot be written, or if its last complete line cannot be read.
  static absl::StatusOr<std::unique_ptr<AuditFiles>> Open(const std::string& directory);
  ~AuditFiles();
  AuditFiles(const AuditFiles&) = delete;
  AuditFiles& operator=(const AuditFiles&) = delete;

  // The last complete revision, and its time. None: the files have no complete revision.
  const std::optional<placement::v1::Revision>& position() const { return position_; }
  absl::Time time() const { return time_; }

  // Appends whole lines to the file of the day of `time`; after a line of a later day, to the file
  // of that day. `complete`: the last line ends `revision`. Fails with kFailedPrecondition, for
  // example if the disk is full; then CutBack has to be called before the next Append.
  absl::Status Append(absl::string_view lines, const placement::v1::Revision& revision,
                      absl::Time time, bool complete);
  // Writes what was appended to the disk.
  absl::Status Sync();
  // Cuts off the revision that is not complete, if there is one.
  absl::Status CutBack();

 private:
  explicit AuditFiles(const std::string& directory) : directory_(directory) {}
  absl::Status Hold();
  absl::Status UseDay(const std::string& day);

  const std::string directory_;
  int hold_ = -1;  // the lock
  int file_ = -1;  // the newest file
  std::string day_;
  bool unsynced_ = false;
  std::optional<placement::v1::Revision> position_;
  absl::Time time_ = absl::InfinitePast();
};

// The paths of the audit files in `directory`, the oldest first; if `path` is a file, `path`.
// kNotFound if it does not exist or has none.
absl::StatusOr<std::vector<std::string>> AuditFilesIn(const std::string& path);

// The first moment of the day after the one that a file of this name holds. Far in the future if
// the name tells no day.
absl::Time EndOfAuditFile(const std::string& path);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_SESSION_AUDIT_FILES_H_
