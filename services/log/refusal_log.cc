#include "services/log/refusal_log.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "placement/values/refusal.h"

namespace berth::services {

bool RefusesCaller(const absl::Status& status) {
  if (absl::IsPermissionDenied(status) || absl::IsUnauthenticated(status)) return true;
  if (!absl::IsUnavailable(status)) return false;
  const std::string reason = ReasonIn(status);
  return reason == "RATE_LIMITED" || reason == "OVERLOADED" || reason == "TOO_MANY_WAIT";
}

std::string ReasonIn(const absl::Status& status) {
  const std::optional<placement::Refusal> refusal = placement::RefusalOf(status);
  return refusal ? refusal->reason : absl::StatusCodeToString(status.code());
}

void RefusalLog::Tell(const RefusedCall& call, placement::BootTime now) {
  int64_t omitted = 0;
  if (!pace_.Lets(absl::StrCat(call.caller, " ", call.reason), now, &omitted)) return;
  Log(LogLevel::kWarning, words_,
      {{"caller", std::string(call.caller)},
       {"method", std::string(call.method)},
       {"reason", std::string(call.reason)},
       {"why", std::string(call.why)},
       {"omitted", omitted}});
}

void RefusalLog::Tell(absl::string_view caller, absl::string_view method,
                      const absl::Status& status, placement::BootTime now) {
  const std::string reason = ReasonIn(status);
  Tell({caller, method, reason, status.message()}, now);
}

}  // namespace berth::services
