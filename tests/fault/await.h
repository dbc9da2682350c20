// AwaitWithin: waits until a condition of real processes holds, by looking again and again.
#ifndef BERTH_TESTS_FAULT_AWAIT_H_
#define BERTH_TESTS_FAULT_AWAIT_H_

#include <functional>
#include <thread>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace berth::fault {

// False: the condition did not hold within `limit`.
inline bool AwaitWithin(absl::Duration limit, const std::function<bool()>& condition) {
  constexpr absl::Duration kLook = absl::Milliseconds(10);  // between two looks
  const absl::Time until = absl::Now() + limit;
  while (!condition()) {
    if (absl::Now() > until) return false;
    std::this_thread::sleep_for(absl::ToChronoNanoseconds(kLook));
  }
  return true;
}

}  // namespace berth::fault

#endif  // BERTH_TESTS_FAULT_AWAIT_H_
