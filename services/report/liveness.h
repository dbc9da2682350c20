// Liveness: which services are heard, and when one turns up or down (T-288..T-293).
//
// A service is up while it was heard within the down time, by the clock of the process that hears
// it. Every process keeps an eye on every service that is recorded as up, so that none outlives the
// process that heard it; before one is marked down, the caller asks what other processes heard.
// Only a turn against what the ledger records becomes a command. Thread-safe.
#ifndef BERTH_SERVICES_REPORT_LIVENESS_H_
#define BERTH_SERVICES_REPORT_LIVENESS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "placement/commands/command.h"
#include "placement/ground/mutex.h"
#include "services/wire/fleet.h"

namespace berth::services {

// What a beat says of its service.
struct Beat {
  int64_t count = 0;  // of beats, this one too
  bool stale_audit = false;
};

class Liveness {
 public:
  using Key = std::pair<std::string, std::string>;  // host, binary

  struct TurnList {
    std::vector<placement::MarkService> up;
    std::vector<placement::MarkService> down;
  };

  explicit Liveness(absl::Duration down_time) : down_time_(down_time) {}

  // The service's stream said something; `beat` where it was one.
  void Hear(const Key& key, placement::Uuid incarnation, const std::optional<Beat>& beat,
            absl::Time now);
  std::optional<Heard> Find(const Key& key) const;
  // Those that this process itself heard, by NameOf.
  std::vector<std::pair<std::string, absl::Time>> All() const;
  static std::string NameOf(const Key& key);  // "HOST/BINARY"

  // What turned at `now` against `state`, `turns_max` at the most. A turn is told once, unless it is
  // taken back by Retry, or the state or the judgement changes.
  TurnList Turns(const placement::State& state, absl::Time now, size_t turns_max);
  // The turn could not be recorded: it is told again.
  void Retry(const Key& key);
  // Another process heard the service at `at`.
  void HearElsewhere(const Key& key, absl::Time at);

  absl::Duration down_time() const { return down_time_; }

 private:
  struct Entry {
    Heard heard;
    bool here = false;         // this process has heard it itself
    std::optional<bool> told;  // the judgement of the last command, while the state lacks it
  };

  const absl::Duration down_time_;
  mutable placement::Mutex mutex_;
  std::map<Key, Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_LIVENESS_H_
