#include "tests/bench/settings.h"

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"

namespace berth::bench {
namespace {

constexpr int kConnectionsMax = 4;
constexpr absl::Duration kWarmUp = absl::Milliseconds(300);

}  // namespace

LoopOptions Making(const Settings& settings, const std::string& method, int64_t count,
                   int in_flight) {
  LoopOptions loop;
  loop.address = settings.address;
  loop.method = absl::StrCat(kService, method);
  loop.in_flight = in_flight;
  loop.connections =
      settings.connections > 0 ? settings.connections : std::min(in_flight, kConnectionsMax);
  loop.calls_max = count;
  return loop;
}

LoopOptions Measuring(const Settings& settings, const std::string& method) {
  LoopOptions loop = Making(settings, method, INT64_MAX, settings.in_flight);
  loop.rate = settings.rate;
  if (settings.count > 0) {
    loop.calls_max = settings.count;
    return loop;
  }
  loop.warm_up = kWarmUp;
  loop.duration = kWarmUp + absl::Seconds(settings.seconds);
  return loop;
}

int Tell(const LoopResult& result, nlohmann::json also) {
  also["done"] = result.done;
  also["failed"] = result.failed;
  also["first_failure"] = result.first_failure;
  also["per_second"] = result.per_second;
  also["median_us"] = result.median_us;
  also["p99_us"] = result.p99_us;
  std::printf("%s\n", also.dump().c_str());
  return result.failed == 0 && result.done > 0 ? 0 : 1;
}

}  // namespace berth::bench
