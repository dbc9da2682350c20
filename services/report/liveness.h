// Liveness: which services this process hears, and which became up or down (T-288 to T-293).
//
// A service is up if it was heard within the down time, by the clock of the process that hears it.
// Every process judges every service that is recorded as up, so that no record stays up when the
// process that heard the service dies. Before the caller records that a service is down, it asks
// what other processes heard. Only a judgement that differs from the ledger's record is a
// transition.
//
// A service is judged only when something may have changed: it was heard anew, its record changed,
// its down time passed. So a step costs what has changed, not what there is. Thread-safe.
//
// Invariant: an entry whose service is up has an alarm, or waits in pending_.
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
#include "placement/ground/mutex.h"
#include "placement/state/state.h"
#include "services/wire/fleet.h"

namespace berth::services {

// What a heartbeat says of its service.
struct Beat {
  int64_t count = 0;  // heartbeats so far, with this one
  bool stale_audit = false;
};

class Liveness {
 public:
  using Key = std::pair<std::string, std::string>;  // host, binary

  struct Transitions {
    std::vector<placement::MarkService> up;
    std::vector<placement::MarkService> down;
    int judged = 0;  // services that were looked at
  };

  explicit Liveness(absl::Duration down_time) : down_time_(down_time) {}

  // The service's stream sent a message at `now`; `beat` if it was a heartbeat.
  void Hear(const Key& key, placement::Uuid incarnation, const std::optional<Beat>& beat,
            absl::Time now);
  // What this process heard of the service; nothing if another process hears it, or none.
  std::optional<Heard> Find(const Key& key) const;
  // The services that this process itself heard, by NameOf, and when.
  std::vector<std::pair<std::string, absl::Time>> All() const;
  static std::string NameOf(const Key& key);  // "HOST/BINARY"

  // The ledger's record of the service changed, or of any service: they will be judged.
  void NoteChange(const Key& key);
  void NoteAll(const placement::State& state);
  // Judges at `now` against `state`, which has the changes that were noted. Returns at most
  // `transitions_max` transitions; the others come with the next call. Each is returned once,
  // unless Retry is called for it, or the record or the judgement changes.
  Transitions Judge(const placement::State& state, absl::Time now, size_t transitions_max);
  // The transition could not be recorded: it is returned again.
  void Retry(const Key& key);
  // Another process heard the service at `at`.
  void HearElsewhere(const Key& key, absl::Time at);

  absl::Duration down_time() const { return down_time_; }

 private:
  struct Entry {
    Heard heard;
    bool here = false;                // this process has heard the service itself
    std::optional<bool> told;         // the last transition returned, until the record has it
    std::optional<absl::Time> alarm;  // of alarms_
  };
  using Entries = std::map<Key, Entry>;

  void JudgeOne(const Key& key, const placement::State& state, absl::Time now, Transitions* result)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetAlarm(Entries::iterator at, std::optional<absl::Time> time)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const absl::Duration down_time_;
  mutable placement::Mutex mutex_;
  Entries entries_ ABSL_GUARDED_BY(mutex_);
  std::set<Key> pending_ ABSL_GUARDED_BY(mutex_);  // to be judged; some have no entry
  // When an entry is to be judged next, at the latest; keys are those of entries_. A heartbeat does
  // not move the alarm: the alarm that goes off too early is set again.
  std::set<std::pair<absl::Time, const Key*>> alarms_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_LIVENESS_H_
