// PassOutcome: how one pass over a node ended.
//
// A plain value and pure functions.
#ifndef BERTH_TRACKER_AUDIT_PASS_H_
#define BERTH_TRACKER_AUDIT_PASS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tracker/audit/audit.h"
#include "tracker/audit/views.h"

namespace berth::tracker {

struct PassOutcome {
  enum class Result {
    kNone,      // no pass has ended yet
    kComplete,  // everything was read
    kDegraded,  // a part could not be read; the findings say which part
    kNotReady,  // the hypervisor did not answer; the last good audit stays (T-37)
    kFailed,    // another failure; the last good audit stays
  };
  Result result = Result::kNone;
  absl::Status error;  // why the pass failed; OK unless kNotReady or kFailed
  absl::Time started_at;
  absl::Time observed_at;  // the facts were read, or could not be read
  absl::Time ended_at;
  bool changed = false;                // the report differs from the last good one
  std::shared_ptr<const Audit> audit;  // for kComplete and kDegraded; else null
  std::vector<std::string> repairs;    // for the log: records that placement shall correct
  PassTexts texts;                     // of `audit`; only in the outcome that the pass returns
};

const char* PassResultName(PassOutcome::Result result);

// Returns the result of a pass whose observation or audit failed with `error`.
PassOutcome::Result ResultOf(const absl::Status& error);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_PASS_H_
