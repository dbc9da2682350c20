// Seed: where a random test begins, so that a failure can be repeated. kSanitized: whether a
// sanitizer watches the program. It is then up to a hundred times slower, so random tests try fewer
// cases, and no test compares times.
#ifndef BERTH_TESTS_WORLDS_SEED_H_
#define BERTH_TESTS_WORLDS_SEED_H_

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace berth {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define BERTH_SANITIZED 1
#endif
#endif
#ifdef BERTH_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

}  // namespace berth

namespace berth::placement {

// From the environment variable BERTH_SEED, else a fresh one; prints it.
inline uint64_t Seed() {
  const char* given = std::getenv("BERTH_SEED");
  const uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  std::printf("BERTH_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

}  // namespace berth::placement

#endif  // BERTH_TESTS_WORLDS_SEED_H_
