#include "services/report/readiness.h"

#include <utility>

#include "placement/commands/fleet_node.h"
#include "placement/ground/boot_clock.h"
#include "services/log/log.h"
#include "services/report/messages.h"

namespace berth::services {

std::optional<placement::UpdateService> Readiness::Next(const placement::ServiceRecord* service) {
  if (!waiting_ || recording_) return std::nullopt;
  const pb::Readiness readiness = *std::exchange(waiting_, std::nullopt);
  if (service == nullptr || service->disabled != readiness.ready()) return std::nullopt;
  recording_ = readiness;
  placement::UpdateService command;
  command.host = service->host;
  command.binary = service->binary;
  command.disabled = !readiness.ready();
  command.automatic = true;
  if (!readiness.ready()) {
    command.disabled_reason = placement::kAutomaticReason + readiness.reason();
  }
  return command;
}

bool Readiness::Settle(const absl::Status& status) {
  const bool again = absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
                     HasReason(status, "RECOVERY_REQUIRED");
  if (again && !waiting_) waiting_ = recording_;
  recording_.reset();
  return waiting_.has_value();
}

void LogUnrecorded(const std::string& host, const absl::Status& status) {
  static auto& pace = *new LinePace(absl::Seconds(1));
  int64_t omitted = 0;
  if (!pace.Lets(host, placement::BootNow(), &omitted)) return;
  Log(LogLevel::kWarning, "a tracker's readiness could not be recorded",
      {{"host", host}, {"detail", status.ToString()}, {"omitted", omitted}});
}

}  // namespace berth::services
