// Liveness: which services this process hears, and which became up or down (T-288 to T-293).
//
// A service is up if its last message came within the down time, by the boot clock of the process
// that hears the service. So a wall clock that is set makes no service up or down. Every process
// judges every service that is recorded as up. Otherwise a service would stay up for ever if the
// process that hears it died. If a process knows nothing of such a service, it counts the service
// as heard at the first judgement. Before the caller of Judge records that a service is down, the
// caller asks what other processes heard (LivenessRecorder). A judgement is a transition only if
// the ledger's record is of the same process of the service and says the opposite.
//
// A service is judged only when its judgement may have changed or must be repeated. So the cost of
// Judge depends on the number of such services, and not on the number of all services. Thread-safe.
//
// Invariant: an entry that was up when it was last judged has an alarm, or its key is in pending_.
#ifndef BERTH_SERVICES_REPORT_LIVENESS_H_
#define BERTH_SERVICES_REPORT_LIVENESS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "placement/commands/command.h"
#include "placement/ground/boot_clock.h"
#include "placement/ground/mutex.h"
#include "placement/state/state.h"
#include "services/wire/fleet.h"

namespace berth::services {

// The content of one heartbeat of a service.
struct Beat {
  int64_t count = 0;         // the number of the heartbeat, counted from 1 in each session
  bool stale_audit = false;  // the tracker says that the audit of a node is overdue (T-293)
};

class Liveness {
 public:
  using Key = std::pair<std::string, std::string>;  // host, binary

  struct Transitions {
    std::vector<placement::MarkService> up;
    std::vector<placement::MarkService> down;
    int judged = 0;  // how many services Judge has looked at
  };

  explicit Liveness(absl::Duration down_time) : down_time_(down_time) {}

  // Notes that this process heard the process `incarnation` of the service at `now`. `wall_time`:
  // the same moment by the wall clock, to be shown to people. `beat`: none if what was heard is no
  // heartbeat.
  void Hear(const Key& key, placement::Uuid incarnation, const std::optional<Beat>& beat,
            placement::BootTime now, absl::Time wall_time);
  // Returns what this process itself heard from the service. Returns nothing if this process has
  // heard nothing, or has forgotten what it heard (Judge, HearElsewhere).
  std::optional<Heard> Find(const Key& key) const;
  // Returns each service for which Find returns something: its NameOf, and when it was last heard.
  std::vector<std::pair<std::string, placement::BootTime>> All() const;
  static std::string NameOf(const Key& key);  // "HOST/BINARY"

  // To be called when the ledger's record of one service, or the records of all services, may have
  // changed. The next calls of Judge judge the service `key`, or after NoteAll all services whose
  // judgement may have changed.
  void NoteChange(const Key& key);
  void NoteAll(const placement::State& state);
  // Judges the services that wait to be judged, at `now` and by `state`. Stops when it has looked
  // at thousands of services or has found `transitions_max` transitions; the next calls judge the
  // others. A transition is returned again only after Hear, HearElsewhere or Retry, or after the
  // record has changed. Forgets what was heard from a service that is down and not recorded as up,
  // or that is recorded as up with another incarnation. REQUIRES: `state` has the changes that were
  // noted.
  Transitions Judge(const placement::State& state, placement::BootTime now, size_t transitions_max);
  // To be called if the last transition of the service could not be recorded. Judge then judges the
  // service again, and returns the transition again if it still holds.
  void Retry(const Key& key);
  // Notes that another process heard the service at `at`, by the boot clock of this process. Judge
  // then judges the service again. Forgets what this process heard if that was before `at`.
  void HearElsewhere(const Key& key, placement::BootTime at);

  absl::Duration down_time() const { return down_time_; }

 private:
  struct Entry {
    Heard heard;
    bool here = false;                         // `heard` is what this process itself heard
    std::optional<bool> told;                  // a transition that Judge does not repeat; true: up
    std::optional<placement::BootTime> alarm;  // the time of this entry in alarms_
  };
  using Entries = std::map<Key, Entry>;

  void JudgeOne(const Key& key, const placement::State& state, placement::BootTime now,
                Transitions* result) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetAlarm(Entries::iterator at, std::optional<placement::BootTime> time)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const absl::Duration down_time_;
  mutable placement::Mutex mutex_;
  Entries entries_ ABSL_GUARDED_BY(mutex_);
  std::set<Key> pending_ ABSL_GUARDED_BY(mutex_);  // keys to be judged; some have no entry
  // The alarms: the times after which Judge judges an entry again. The keys point into entries_.
  // Hear does not move an alarm: if the service is still up when its alarm is due, Judge sets a new
  // alarm.
  std::set<std::pair<placement::BootTime, const Key*>> alarms_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_LIVENESS_H_
