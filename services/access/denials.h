// DenialPace: which denied calls are worth a line in the log. Thread-safe.
#ifndef BERTH_SERVICES_ACCESS_DENIALS_H_
#define BERTH_SERVICES_ACCESS_DENIALS_H_

#include <cstddef>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "placement/ground/boot_clock.h"
#include "placement/ground/mutex.h"

namespace berth::services {

// Lets one line a second through for each identity.
class DenialPace {
 public:
  // Whether a denied call of `identity` at `now` gets a line. `omitted` is then the number of calls
  // of this identity that got none since its last line.
  bool Lets(const std::string& identity, placement::BootTime now, int64_t* omitted);

  static constexpr absl::Duration kBetweenLines = absl::Seconds(1);
  // When so many identities are known, all are forgotten.
  static constexpr size_t kIdentitiesMax = 1024;

 private:
  struct Last {
    placement::BootTime line = -absl::InfiniteDuration();
    int64_t omitted = 0;
  };
  placement::Mutex mutex_;
  absl::flat_hash_map<std::string, Last> last_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_ACCESS_DENIALS_H_
