// The lines of audit files: who changed what, one line of JSON for each change, and marks.
//
//   {"revision":"1:48231","batch":"977","time":"2026-03-01T09:30:00Z","actor":"alice",
//    "method":"/berth.placement.v1.AllocationService/SetAllocations","requestId":"7f...",
//    "reason":"","kind":"consumer","key":"2c...","present":{"consumer":{...}},"last":true}
//
// (on one line). Instead of `present` a removed entity has `"removed":true`. The last line of a
// revision ends with `"last":true`: a revision without it is not complete. A mark has `mark` and
// `after`, the position before it, instead of a change:
//
//   begin      the files begin after this revision
//   position   until this revision nothing else has changed
//   trimmed    the ledger no longer has the changes from `after` up to this revision
//   restored   a new epoch began: later changes of the old epoch, if any, were lost in a restore
//
// Pure functions.
#ifndef BERTH_SERVICES_CLI_SESSION_AUDIT_LINES_H_
#define BERTH_SERVICES_CLI_SESSION_AUDIT_LINES_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/placement/v1/watch.pb.h"

namespace berth::cli {

// How the last line of a revision ends. No other text of a file contains it.
inline constexpr char kLastOfRevision[] = ",\"last\":true}\n";

// The lines for the changes of one message. Empty if it has none.
std::string AuditLines(const placement::v1::WatchResponse& response);

enum class AuditMark { kBegin, kPosition, kTrimmed, kRestored };

// The line of a mark at `revision`. `after` is absent for kBegin.
std::string MarkLine(AuditMark mark, const placement::v1::Revision& revision,
                     const std::optional<placement::v1::Revision>& after, absl::Time time);

// A line as it was read.
struct AuditEntry {
  placement::v1::Revision revision;
  absl::Time time;
  std::string mark;   // empty: the line is a change
  std::string after;  // of a mark
  std::string kind, key;
  placement::v1::Change change;
};

// kInvalidArgument if `line` is not a line of an audit file.
absl::StatusOr<AuditEntry> ReadAuditLine(absl::string_view line);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_SESSION_AUDIT_LINES_H_
