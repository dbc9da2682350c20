// How one pass over a node went.
#ifndef BERTH_TRACKER_AUDIT_PASS_H_
#define BERTH_TRACKER_AUDIT_PASS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tracker/audit/audit.h"

namespace berth::tracker {

struct PassOutcome {
  enum class Result {
    kNone,      // no pass has ended yet
    kComplete,  // everything was read
    kDegraded,  // some things were not; the findings say which
    kNotReady,  // the hypervisor is away; nothing was changed (T-37)
    kFailed,    // nothing was changed
  };
  Result result = Result::kNone;
  absl::Status error;  // of kNotReady and kFailed
  absl::Time started_at;
  absl::Time ended_at;
  bool changed = false;                // it found something to report
  std::shared_ptr<const Audit> audit;  // of kComplete and kDegraded
};

const char* PassResultName(PassOutcome::Result result);

// What an observation that failed with `error` means for its pass.
PassOutcome::Result ResultOf(const absl::Status& error);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_PASS_H_
