// RefusalLog: what the log has of calls that were refused because of who makes them, or because too
// many calls wait.
//
// A caller decides how often it is refused. So each caller gets at most one line a second for each
// reason, with the number of refusals that got none. The log and the memory are bounded, however
// many callers there are (LinePace). Thread-safe.
#ifndef BERTH_SERVICES_LOG_REFUSAL_LOG_H_
#define BERTH_SERVICES_LOG_REFUSAL_LOG_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "placement/ground/boot_clock.h"
#include "services/log/log.h"

namespace berth::services {

// Whether `status` refuses a caller, or says that too many calls wait: PERMISSION_DENIED,
// UNAUTHENTICATED, or UNAVAILABLE with the reason RATE_LIMITED, OVERLOADED or TOO_MANY_WAIT.
bool RefusesCaller(const absl::Status& status);
// The reason of the refusal that `status` carries; without one the name of its code.
std::string ReasonIn(const absl::Status& status);

struct RefusedCall {
  absl::string_view caller;  // as ActorOf says
  absl::string_view method;  // "package.Service/Method"
  absl::string_view reason;  // "IDENTITY_DENIED"
  absl::string_view why;     // for people
};

class RefusalLog {
 public:
  // `words` begin each line.
  explicit RefusalLog(std::string words) : words_(std::move(words)) {}

  // Tells that the call was refused at `now`, if it is time for a line.
  void Tell(const RefusedCall& call, placement::BootTime now = placement::BootNow());
  // The same, with what `status` says.
  void Tell(absl::string_view caller, absl::string_view method, const absl::Status& status,
            placement::BootTime now = placement::BootNow());

 private:
  const std::string words_;
  LinePace pace_{absl::Seconds(1)};  // by caller and reason
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_LOG_REFUSAL_LOG_H_
