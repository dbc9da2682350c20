#include "placement/writer/request_rotation.h"

#include "absl/strings/str_cat.h"
#include "placement/store/schema.h"

namespace berth::placement {
namespace {

int64_t HourOf(absl::Time ledger_time) { return absl::ToUnixSeconds(ledger_time) / 3600; }

}  // namespace

bool RequestRotation::IsDue(absl::Time ledger_time) const {
  return HourOf(ledger_time) != rotated_hour_;
}

void RequestRotation::Rotate(absl::Time ledger_time) {
  rotated_hour_ = HourOf(ledger_time);
  QueryRows rows;
  const absl::Status status = connection_->database().Run(
      absl::StrCat("BEGIN; SELECT pg_advisory_xact_lock(", kLedgerLock,
                   "); SELECT rotate_requests(", absl::ToUnixMicros(ledger_time), ", ",
                   absl::ToInt64Hours(absl::Ceil(options_.requests_kept, absl::Hours(1))),
                   "); COMMIT"),
      &rows);
  const absl::string_view undone = status.ok() ? rows.Text(0, 0) : status.message();
  if (undone.empty()) return;
  health_->Tell(absl::StrCat(
      "the kept request ids could not be rotated; the next attempt is in an hour: ", undone));
  if (status.ok()) return;
  if (status.code() == absl::StatusCode::kUnavailable) return connection_->Close();
  connection_->Rollback();
}

}  // namespace berth::placement
