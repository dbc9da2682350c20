#include "tracker/audit/pass.h"

namespace berth::tracker {

const char* PassResultName(PassOutcome::Result result) {
  switch (result) {
    case PassOutcome::Result::kNone:
      return "none";
    case PassOutcome::Result::kComplete:
      return "complete";
    case PassOutcome::Result::kDegraded:
      return "degraded";
    case PassOutcome::Result::kNotReady:
      return "not ready";
    case PassOutcome::Result::kFailed:
      return "failed";
  }
  return "unknown";
}

PassOutcome::Result ResultOf(const absl::Status& error) {
  const bool away = absl::IsUnavailable(error) || absl::IsDeadlineExceeded(error);
  return away ? PassOutcome::Result::kNotReady : PassOutcome::Result::kFailed;
}

}  // namespace berth::tracker
