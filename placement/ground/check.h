// BERTH_CHECK(condition): ends the process if the condition is false, in every build.
//
// It is for programmer mistakes and broken invariants only. Bad input gets an absl::Status instead.
// A process whose state contradicts itself must not answer another request.
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
