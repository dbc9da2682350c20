// berth-watch-bench: what watching costs and how soon it tells, one measurement per call, told as one
// line of JSON.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/time/clock.h"
#include "berth/placement/v1/allocation.pb.h"
#include "berth/placement/v1/watch.pb.h"
#include "nlohmann/json.hpp"
#include "tests/bench/closed_loop.h"
#include "tests/bench/requests.h"
#include "tests/bench/watchers.h"

namespace berth::bench {
namespace {

namespace pb = berth::placement::v1;

constexpr char kClaimMethod[] = "/berth.placement.v1.AllocationService/SetAllocations";
constexpr int kConnectionsMax = 4;
constexpr absl::Duration kWarmUp = absl::Milliseconds(300);
constexpr std::chrono::seconds kToldWithin(10);

struct Settings {
  std::string address;
  std::string elsewhere;
  int64_t hosts = 10'000;
  int64_t watchers = 0;
  int64_t watchers_of_all = 0;
  int in_flight = 64;
  double seconds = 2;
  int pause_ms = 500;
};

LoopOptions Claiming(const Settings& settings, ClaimRequests* claims) {
  LoopOptions loop;
  loop.address = settings.address;
  loop.method = kClaimMethod;
  loop.in_flight = settings.in_flight;
  loop.connections = std::min(settings.in_flight, kConnectionsMax);
  loop.request = [claims](int64_t) { return claims->Next(); };
  return loop;
}

// Claims on random hosts while so many watch, each the tree of one host, or everything.
int Claims(const Settings& settings) {
  std::vector<std::string> requests;
  for (int64_t i = 0; i < settings.watchers; ++i) {
    pb::WatchRequest request;
    request.add_in_trees(HostUuid(i * settings.hosts / settings.watchers));
    requests.push_back(request.SerializeAsString());
  }
  requests.resize(requests.size() + settings.watchers_of_all);
  const Watchers watchers(settings.address, kConnectionsMax, requests, nullptr);
  ClaimRequests claims(settings.hosts);
  LoopOptions loop = Claiming(settings, &claims);
  loop.warm_up = kWarmUp;
  loop.duration = kWarmUp + absl::Seconds(settings.seconds);
  const LoopResult result = RunLoop(loop);
  const WatchCounts counts = watchers.counts();
  const nlohmann::json told = {{"done", result.done},
                               {"failed", result.failed},
                               {"per_second", result.per_second},
                               {"median_us", result.median_us},
                               {"told", counts.messages},
                               {"told_bytes", counts.bytes},
                               {"ended", counts.ended},
                               {"first_end", counts.first_end}};
  std::printf("%s\n", told.dump().c_str());
  return result.failed == 0 ? 0 : 1;
}

// Claims through one process, one at a time, with pauses; how long after the answer to each a
// watcher of another process is told.
int Elsewhere(const Settings& settings) {
  std::mutex mutex;
  std::condition_variable told;
  int64_t told_number = 0;
  pb::WatchRequest request;
  request.add_kinds(pb::ENTITY_KIND_CONSUMER);
  const Watchers watchers(settings.elsewhere, 1, {request.SerializeAsString()},
                          [&](absl::string_view bytes) {
                            pb::WatchResponse response;
                            response.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
                            const std::lock_guard<std::mutex> lock(mutex);
                            told_number = std::max(told_number, response.revision().number());
                            told.notify_all();
                          });
  ClaimRequests claims(settings.hosts);
  std::mt19937_64 random(1);
  std::vector<double> took_ms;
  const absl::Time end = absl::Now() + absl::Seconds(settings.seconds);
  while (absl::Now() < end) {
    absl::SleepFor(absl::Milliseconds(random() % settings.pause_ms));
    LoopOptions loop = Claiming(settings, &claims);
    loop.in_flight = loop.connections = 1;
    loop.calls_max = 1;
    absl::Time answered;
    int64_t number = 0;
    loop.is_right = [&](int64_t, absl::string_view reply) {
      answered = absl::Now();
      pb::SetAllocationsResponse answer;
      const bool parsed = answer.ParseFromArray(reply.data(), static_cast<int>(reply.size()));
      number = answer.revision().number();
      return parsed;
    };
    if (RunLoop(loop).failed > 0) return 1;
    std::unique_lock<std::mutex> lock(mutex);
    if (!told.wait_for(lock, kToldWithin, [&] { return told_number >= number; })) return 1;
    took_ms.push_back(absl::ToDoubleMilliseconds(absl::Now() - answered));
  }
  if (took_ms.empty()) return 1;
  std::sort(took_ms.begin(), took_ms.end());
  const nlohmann::json all = {{"done", took_ms.size()},
                              {"median_ms", took_ms[took_ms.size() / 2]},
                              {"p90_ms", took_ms[took_ms.size() * 9 / 10]},
                              {"p99_ms", took_ms[took_ms.size() * 99 / 100]},
                              {"most_ms", took_ms.back()}};
  std::printf("%s\n", all.dump().c_str());
  return 0;
}

int Main(int argc, char** argv) {
  Settings settings;
  CLI::App app("What watching costs and how soon it tells.");
  app.require_subcommand(1);
  app.fallthrough();
  app.add_option("--address", settings.address)->required();
  app.add_option("--hosts", settings.hosts);
  app.add_option("--seconds", settings.seconds);
  CLI::App* claims = app.add_subcommand("claims", "Claims while others watch");
  claims->add_option("--watchers", settings.watchers, "Each of one host");
  claims->add_option("--watchers-of-all", settings.watchers_of_all, "Of everything");
  claims->add_option("--in-flight", settings.in_flight);
  CLI::App* elsewhere = app.add_subcommand("elsewhere", "Claims here, watches another process");
  elsewhere->add_option("--elsewhere", settings.elsewhere)->required();
  elsewhere->add_option("--pause-ms", settings.pause_ms, "At most, between claims");
  CLI11_PARSE(app, argc, argv);
  return elsewhere->parsed() ? Elsewhere(settings) : Claims(settings);
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) { return berth::bench::Main(argc, argv); }
