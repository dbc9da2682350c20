// BERTH_CHECK ends the process when the program itself is wrong; it is on in every build.
//
// Never for input: what a caller, a file or libvirt may say is answered with an absl::Status.
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
