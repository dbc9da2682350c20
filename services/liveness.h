// Liveness: which services this process hears, and when one turns up or down (T-288..T-293).
//
// A service is up while it was heard within the down time, by the clock of this process. Only a turn
// against what the ledger records becomes a command. Services that the ledger shows as up and that
// this process never heard are judged once, after the same time since the start. Thread-safe.
#ifndef BERTH_SERVICES_LIVENESS_H_
#define BERTH_SERVICES_LIVENESS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "placement/command.h"
#include "placement/mutex.h"
#include "placement/state.h"

namespace berth::services {

// What this process knows of one service.
struct Heard {
  placement::Uuid incarnation;
  absl::Time at;
  int64_t count = 0;  // of beats
};

class Liveness {
 public:
  using Key = std::pair<std::string, std::string>;  // host, binary

  Liveness(absl::Duration down_time, absl::Time started)
      : down_time_(down_time), started_(started) {}

  // A beat, or anything else that the service's stream said. `count` of beats; 0: not said.
  void Hear(const Key& key, placement::Uuid incarnation, int64_t count, absl::Time now);
  std::optional<Heard> Find(const Key& key) const;
  std::vector<std::pair<std::string, absl::Time>> All() const;  // "host/binary"

  // The commands for what turned at `now` against `state`. A turn is told once; again only after
  // the state or the judgement changed.
  std::vector<placement::MarkService> Turns(const placement::State& state, absl::Time now);

  absl::Duration down_time() const { return down_time_; }

 private:
  struct Entry {
    Heard heard;
    std::optional<bool> told;  // the judgement of the last command, while the state lacks it
  };

  const absl::Duration down_time_;
  const absl::Time started_;
  mutable placement::Mutex mutex_;
  std::map<Key, Entry> entries_ ABSL_GUARDED_BY(mutex_);
  bool inherited_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_LIVENESS_H_
