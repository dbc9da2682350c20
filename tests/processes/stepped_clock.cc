// A library to be loaded before all others (LD_PRELOAD): it sets the wall clock of a process and of
// its children forwards or back, at any time. Their other clocks stay right. A wait of Abseil until
// a time of the wall clock follows the clock that is set, as it does in the kernel.
//
// BERTH_TEST_CLOCK names a file whose 8 bytes are the number of seconds to add (see WallClock).
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>

namespace {

using Word = long;  // NOLINT(google-runtime-int): as syscall() has it

constexpr int64_t kNanos = 1'000'000'000;
constexpr int64_t kSliceNanos = 20'000'000;  // a wait looks at the clock this often

const volatile int64_t* MapOffset() {
  static const int64_t kNone = 0;
  const char* const path = std::getenv("BERTH_TEST_CLOCK");
  const int file = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return &kNone;
  void* const mapped = mmap(nullptr, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  return mapped == MAP_FAILED ? &kNone : static_cast<const volatile int64_t*>(mapped);
}

time_t OffsetSeconds() {
  static const volatile int64_t* const offset = MapOffset();
  return *offset;
}

template <typename Function>
Function Next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

int64_t NanosUntil(const timespec& deadline) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return (deadline.tv_sec - now.tv_sec) * kNanos + deadline.tv_nsec - now.tv_nsec;
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static const auto next = Next<int (*)(clockid_t, timespec*)>("clock_gettime");
  const int result = next(clock, time);
  if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += OffsetSeconds();
  return result;
}

extern "C" int gettimeofday(timeval* time, void* zone) noexcept {
  static const auto next = Next<int (*)(timeval*, void*)>("gettimeofday");
  const int result = next(time, zone);
  if (result == 0) time->tv_sec += OffsetSeconds();
  return result;
}

extern "C" Word syscall(Word number, ...) noexcept {
  static const auto next = Next<Word (*)(Word, ...)>("syscall");
  va_list list;
  va_start(list, number);
  Word a[6];
  for (Word& one : a) one = va_arg(list, Word);
  va_end(list);
  if (number == SYS_clock_gettime) {  // as gRPC reads the clock
    return clock_gettime(static_cast<clockid_t>(a[0]), reinterpret_cast<timespec*>(a[1]));
  }
  const auto* const deadline = reinterpret_cast<const timespec*>(a[3]);
  constexpr Word kUntil = FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME;
  if (number != SYS_futex || (a[1] & ~FUTEX_PRIVATE_FLAG) != kUntil || deadline == nullptr) {
    return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  }
  // FUTEX_WAIT takes the time that is left. It has no bits, and Abseil asks for all bits.
  const Word wait = FUTEX_WAIT | (a[1] & FUTEX_PRIVATE_FLAG);
  for (;;) {
    const int64_t left = NanosUntil(*deadline);
    if (left <= 0) {
      errno = ETIMEDOUT;
      return -1;
    }
    const timespec slice = {0, std::min(left, kSliceNanos)};
    const Word result = next(number, a[0], wait, a[2], &slice, nullptr, 0);
    if (result == 0 || errno != ETIMEDOUT) return result;
  }
}
