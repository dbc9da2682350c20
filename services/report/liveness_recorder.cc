#include "services/report/liveness_recorder.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "placement/ground/boot_clock.h"
#include "services/log/log.h"

namespace berth::services {

namespace {

constexpr absl::Duration kStep = absl::Seconds(1);
constexpr size_t kTransitionsMax = 256;  // transitions in one step
constexpr absl::Duration kRecordWithin = absl::Seconds(30);
constexpr absl::Duration kCallMax = absl::Seconds(5);  // for one call to the database
// A service is down after this many heartbeat intervals without a heartbeat. Another process learns
// of a heartbeat up to two intervals late: the tracker sends one heartbeat per interval, and the
// process that hears it writes the tracker's row once per interval. The other four are a reserve.
constexpr int kBeatsInDownTime = 6;
constexpr absl::Duration kHeartbeatMax = absl::Seconds(10);

}  // namespace

absl::Duration LivenessRecorder::HeartbeatIntervalFor(absl::Duration service_down_time) {
  return std::min(service_down_time / kBeatsInDownTime, kHeartbeatMax);
}

LivenessRecorder::LivenessRecorder(placement::Ledger* ledger, const std::string& database_url,
                                   absl::Duration service_down_time)
    : ledger_(ledger),
      heartbeat_interval_(HeartbeatIntervalFor(service_down_time)),
      heartbeats_(database_url, placement::Uuid::Random().ToString()),
      liveness_(service_down_time) {}

absl::Duration LivenessRecorder::Step() {
  const placement::BootTime now = placement::BootNow();
  const placement::StatePtr state = ledger_->Newest();
  Liveness::Transitions found = liveness_.Judge(*state, now, kTransitionsMax);
  judged_ += found.judged;
  for (placement::MarkService& transition : found.up) Record(std::move(transition));
  if (!found.down.empty()) RecordDown(found.down);
  if (now < next_heartbeat_) return kStep;
  next_heartbeat_ = now + heartbeat_interval_;
  if (const absl::Status written = heartbeats_.Write(AgesAt(now)); !written.ok()) {
    Log(LogLevel::kWarning, "the heartbeat row of this process could not be written",
        {{"detail", std::string(written.message())}});
  }
  // If the rows of the others cannot be read, RecordDown fails, too, and records nothing.
  heartbeats_.Look(now).IgnoreError();
  return kStep;
}

std::vector<std::pair<std::string, absl::Duration>> LivenessRecorder::AgesAt(
    placement::BootTime now) const {
  std::vector<std::pair<std::string, absl::Duration>> ages;
  for (const auto& [name, at] : liveness_.All()) ages.emplace_back(name, now - at);
  return ages;
}

void LivenessRecorder::Record(placement::MarkService transition) {
  const Liveness::Key key = {transition.host, transition.binary};
  Log(LogLevel::kInfo, transition.up ? "a service is up" : "a service is down",
      {{"host", transition.host}, {"binary", transition.binary}});
  placement::Command command;
  command.actor = std::string(placement::kProcessActor);
  command.body = std::move(transition);
  ledger_->Submit(std::move(command), placement::BootNow() + kRecordWithin,
                  std::make_shared<std::atomic<bool>>(false),
                  [this, key](const placement::Decision& decision) {
                    if (!decision.status.ok()) liveness_.Retry(key);
                  });
}

void LivenessRecorder::RecordDown(const std::vector<placement::MarkService>& transitions) {
  const placement::BootTime now = placement::BootNow();
  const auto elsewhere = heartbeats_.HeardElsewhere(liveness_.down_time(), now);
  for (const placement::MarkService& transition : transitions) {
    const Liveness::Key key = {transition.host, transition.binary};
    if (!elsewhere.ok()) {
      liveness_.Retry(key);
      continue;
    }
    const auto heard = elsewhere->find(Liveness::NameOf(key));
    if (heard == elsewhere->end()) {
      Record(transition);
    } else {
      liveness_.HearElsewhere(key, now - heard->second);
    }
  }
}

void LivenessRecorder::ShutIfSlow() { heartbeats_.ShutIfSlow(kCallMax); }

void LivenessRecorder::RemoveHeartbeat() { heartbeats_.RemoveOwn().IgnoreError(); }

}  // namespace berth::services
