// Settings: what one call of berth-bench was told. A plain value.
#ifndef BERTH_TESTS_BENCH_SETTINGS_H_
#define BERTH_TESTS_BENCH_SETTINGS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "nlohmann/json.hpp"
#include "tests/bench/closed_loop.h"

namespace berth::bench {

struct Settings {
  std::string address;
  int64_t hosts = 10'000;
  int in_flight = 1;
  int connections = 0;  // 0: one for each in flight, but at most four
  double seconds = 2;
  double rate = 0;  // 0: as fast as answers come
  int limit = 100;  // 0: none
  int groups = 6;
  int consumers = 1;  // of one message
  int64_t count = 0;  // 0: as many as the time allows
  int64_t first = 0;  // the number of the first new host, after those of other calls
  bool hot = false;
  bool spread = false;
  bool nested = false;
  bool marked = false;
  bool none = false;
  bool table = false;
  bool in_one_call = false;
  bool request_ids = false;
  size_t request_bytes = 0;
  size_t answer_bytes = 0;
};

inline constexpr char kService[] = "/berth.placement.v1.";

// A loop that measures calls of `method` of berth.placement.v1, for as long or as many as was told.
LoopOptions Measuring(const Settings& settings, const std::string& method);
// One that makes `count` calls as fast as it can.
LoopOptions Making(const Settings& settings, const std::string& method, int64_t count,
                   int in_flight);

// Prints what came of it; 0 where nothing failed.
int Tell(const LoopResult& result, nlohmann::json also = nlohmann::json::object());

}  // namespace berth::bench

#endif  // BERTH_TESTS_BENCH_SETTINGS_H_
