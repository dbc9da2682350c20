// BERTH_CHECK: ends the process when something that cannot happen has happened, in every build.
//
// For programmer mistakes and broken invariants only, never for input: bad input gets an
// absl::Status. A process that no longer believes its own state must not answer another request.
#ifndef BERTH_PLACEMENT_GROUND_CHECK_H_
#define BERTH_PLACEMENT_GROUND_CHECK_H_

#include <cstdio>
#include <cstdlib>

namespace berth::placement {

[[noreturn]] inline void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: BERTH_CHECK failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace berth::placement

#define BERTH_CHECK(condition)        \
  ((condition) ? static_cast<void>(0) \
               : ::berth::placement::CheckFailed(__FILE__, __LINE__, #condition))

#endif  // BERTH_PLACEMENT_GROUND_CHECK_H_
