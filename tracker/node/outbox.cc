#include "tracker/node/outbox.h"

#include <algorithm>
#include <utility>

namespace berth::tracker {

void Outbox::Offer(std::shared_ptr<const Audit> audit, bool pass, bool repair) {
  const std::string& digest = audit->digest.whole;
  const bool replaced = newest_ != nullptr && newest_digest_ != acknowledged_digest_ &&
                        (!in_flight_ || in_flight_->digest != newest_digest_);
  if (replaced && digest != newest_digest_) ++reports_coalesced_;
  if (pass) tries_in_a_row_ = 0;
  repair_wanted_ = repair;
  newest_digest_ = digest;
  // Reports with equal digests tell the same, so the older one need not be kept.
  if (digest == acknowledged_digest_) acknowledged_ = audit;
  newest_ = std::move(audit);
}

bool Outbox::settled() const {
  return newest_ == nullptr || (newest_digest_ == acknowledged_digest_ && !snapshot_wanted_ &&
                                !repair_wanted_ && !in_flight_);
}

bool Outbox::MaySend() const {
  const bool open = standing_ == Standing::kKnown || standing_ == Standing::kSendAll;
  return open && newest_ != nullptr && !in_flight_ && tries_in_a_row_ < kTriesInARowMax;
}

bool Outbox::HasReport() const {
  const bool news = newest_digest_ != acknowledged_digest_;
  return MaySend() && (news || standing_ == Standing::kSendAll || repair_wanted_);
}

std::optional<Outbox::Outgoing> Outbox::Next() {
  if (!HasReport()) return std::nullopt;
  const bool news = newest_digest_ != acknowledged_digest_;
  const bool asked = standing_ == Standing::kSendAll;
  Outgoing report;
  report.sequence = ++sequence_;
  sequence_max_ = std::max(sequence_max_, sequence_);
  report.snapshot = snapshot_wanted_ || asked || acknowledged_ == nullptr;
  report.digest = newest_digest_;
  report.audit = newest_;
  if (!report.snapshot) report.base = acknowledged_;
  report.repairs = repair_wanted_ && !news;
  if (report.repairs) ++tries_in_a_row_;
  ++reports_sent_;
  in_flight_ = report;
  return report;
}

void Outbox::Welcome(Standing standing, int64_t last_sequence) {
  in_flight_.reset();
  standing_ = standing;
  // Placement may still apply a report that it has not answered, and may have applied one that it
  // refused. So the numbers of these reports are not used again. A number that no report has had is
  // ignored: counting on from it could overflow.
  if (last_sequence <= sequence_max_) sequence_ = std::max(sequence_, last_sequence);
  // A delta is possible only if both sides have the same base for it: the last report that
  // placement has applied must be the last report that was acknowledged, and the last one that this
  // process sent. Otherwise a snapshot is needed.
  snapshot_wanted_ = standing != Standing::kKnown || acknowledged_ == nullptr ||
                     last_sequence != acknowledged_sequence_ || sequence_ != last_sequence;
}

void Outbox::OrderSnapshot() {
  if (standing_ == Standing::kStandby || standing_ == Standing::kRefused) return;
  standing_ = Standing::kSendAll;
  snapshot_wanted_ = true;
  // Placement did not apply the delta in flight, so the delta is dropped. An answer to it may still
  // come, so no other report gets its number. A snapshot in flight stays: placement wants one.
  if (in_flight_ && !in_flight_->snapshot) in_flight_.reset();
}

bool Outbox::Acknowledge(int64_t sequence) {
  if (!in_flight_ || in_flight_->sequence != sequence) return false;
  acknowledged_sequence_ = sequence;
  acknowledged_ = in_flight_->audit;
  acknowledged_digest_ = in_flight_->digest;
  if (in_flight_->snapshot) {
    snapshot_wanted_ = false;
    if (standing_ == Standing::kSendAll) standing_ = Standing::kKnown;
  }
  repair_wanted_ = false;
  in_flight_.reset();
  return true;
}

bool Outbox::Reject(int64_t sequence, ReportRefusal how) {
  if (!in_flight_ || in_flight_->sequence != sequence) return false;
  ++reports_rejected_;
  if (how == ReportRefusal::kForGood) tries_in_a_row_ = kTriesInARowMax;
  if (how == ReportRefusal::kAgain) ++tries_in_a_row_;
  // Next counted a repairing report; a pass may have begun the count anew since.
  if (how == ReportRefusal::kLater && in_flight_->repairs && tries_in_a_row_ > 0) --tries_in_a_row_;
  sequence_ = sequence - 1;  // not applied: the next report takes its number
  in_flight_.reset();
  return true;
}

void Outbox::Disconnect() {
  standing_ = Standing::kNone;
  in_flight_.reset();
}

}  // namespace berth::tracker
