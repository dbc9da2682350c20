// BERTH_CHECK ends the process when its condition is false. It is active in every build.
//
// For mistakes of the programmer only. Wrong input, whether from a caller, from a file or from
// libvirt, is answered with an absl::Status.
#ifndef BERTH_TRACKER_GROUND_CHECK_H_
#define BERTH_TRACKER_GROUND_CHECK_H_

#include <cstdio>
#include <cstdlib>

namespace berth::tracker {

[[noreturn]] inline void CheckFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace berth::tracker

#define BERTH_CHECK(condition)                         \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::berth::tracker::CheckFailed(#condition, __FILE__, __LINE__))

#endif  // BERTH_TRACKER_GROUND_CHECK_H_
