// Liveness: which services this process hears, and which became up or down (T-288 to T-293).
//
// A service is up if its last message came within the down time, by the boot clock of the process
// that hears the service. So a wall clock that is set makes no service up or down. Every process
// judges every service that is recorded as up. Otherwise a service would stay up for ever if the
// process that hears it dies. Before the caller records that a service is down, it asks what other
// processes heard. A judgement is a transition only if it differs from the ledger's record.
//
// A service is judged only when something may have changed: the service was heard anew, its record
// changed, or its down time passed. So the cost of a step depends on the number of changes, and not
// on the number of services. Thread-safe.
//
// Invariant: every entry whose service is up has an alarm, or its key is in pending_.
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
  int64_t count = 0;  // heartbeats so far, this one included
  bool stale_audit = false;
};

class Liveness {
 public:
  using Key = std::pair<std::string, std::string>;  // host, binary

  struct Transitions {
    std::vector<placement::MarkService> up;
    std::vector<placement::MarkService> down;
    int judged = 0;  // how many services Judge looked at
  };

  explicit Liveness(absl::Duration down_time) : down_time_(down_time) {}

  // Notes that the stream of the service sent a message at `now`, which was `wall_time` by the wall
  // clock: people are told the latter. `beat` is given if the message was a heartbeat.
  void Hear(const Key& key, placement::Uuid incarnation, const std::optional<Beat>& beat,
            placement::BootTime now, absl::Time wall_time);
  // Returns what this process heard from the service; nothing if another process, or no process,
  // hears the service.
  std::optional<Heard> Find(const Key& key) const;
  // Returns the services that this process itself heard, by their NameOf, and when each was heard.
  std::vector<std::pair<std::string, placement::BootTime>> All() const;
  static std::string NameOf(const Key& key);  // "HOST/BINARY"

  // To be called when the ledger's record of one service, or the records of all services, may have
  // changed. The next call of Judge judges these services.
  void NoteChange(const Key& key);
  void NoteAll(const placement::State& state);
  // Judges the services at `now` by `state`, which contains the changes that were noted. Returns at
  // most `transitions_max` transitions; the next call returns the others. Each transition is
  // returned once, unless Retry is called for it, or the record or the judgement changes.
  Transitions Judge(const placement::State& state, placement::BootTime now, size_t transitions_max);
  // To be called if the transition of this service could not be recorded: Judge returns it again.
  void Retry(const Key& key);
  // Notes that another process heard the service at the time `at`.
  void HearElsewhere(const Key& key, placement::BootTime at);

  absl::Duration down_time() const { return down_time_; }

 private:
  struct Entry {
    Heard heard;
    bool here = false;                         // this process has heard the service itself
    std::optional<bool> told;                  // last transition that Judge returned; true: up
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
  // The alarms: the times from which Judge judges an entry again. The keys point into entries_. A
  // heartbeat does not move its entry's alarm: an alarm that goes off too early is set again.
  std::set<std::pair<placement::BootTime, const Key*>> alarms_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_LIVENESS_H_
