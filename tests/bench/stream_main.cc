// berth-stream-bench: what those cost that stay connected, and how soon they are told; one measurement
// per call, told as one line of JSON. With certificates if the environment has them (credentials.h).
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
#include "berth/placement/v1/report.pb.h"
#include "berth/placement/v1/watch.pb.h"
#include "nlohmann/json.hpp"
#include "tests/bench/closed_loop.h"
#include "tests/bench/credentials.h"
#include "tests/bench/requests.h"
#include "tests/bench/streams.h"

namespace berth::bench {
namespace {

namespace pb = berth::placement::v1;

constexpr char kWatchMethod[] = "/berth.placement.v1.WatchService/Watch";
constexpr char kSessionMethod[] = "/berth.placement.v1.ReportService/Session";
constexpr char kClaimMethod[] = "/berth.placement.v1.AllocationService/SetAllocations";
constexpr int kConnectionsMax = 4;
constexpr absl::Duration kWarmUp = absl::Milliseconds(300);
constexpr std::chrono::seconds kToldWithin(10);
constexpr absl::Duration kWelcomedWithin = absl::Seconds(60);

struct Settings {
  std::string address;
  std::string elsewhere;
  int64_t hosts = 10'000;
  int64_t watchers = 0;
  int64_t watchers_of_all = 0;
  int64_t trackers = 0;
  int64_t first_tracker = 0;
  std::string ca_key;
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
  StreamOptions options;
  options.address = settings.address;
  options.method = kWatchMethod;
  options.connections = kConnectionsMax;
  const Streams watchers(options, requests);
  ClaimRequests claims(settings.hosts);
  LoopOptions loop = Claiming(settings, &claims);
  loop.warm_up = kWarmUp;
  loop.duration = kWarmUp + absl::Seconds(settings.seconds);
  const LoopResult result = RunLoop(loop);
  const StreamCounts counts = watchers.counts();
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
  StreamOptions options;
  options.address = settings.elsewhere;
  options.method = kWatchMethod;
  options.look = [&](absl::string_view bytes) {
    pb::WatchResponse response;
    response.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
    const std::lock_guard<std::mutex> lock(mutex);
    told_number = std::max(told_number, response.revision().number());
    told.notify_all();
  };
  const Streams watchers(options, {request.SerializeAsString()});
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

// Trackers of one node each, on a connection of their own, that have said who they are; stays until
// standard input ends.
int Trackers(const Settings& settings) {
  std::vector<std::string> requests;
  std::vector<std::string> hosts;
  for (int64_t i = 0; i < settings.trackers; ++i) {
    const int64_t number = settings.first_tracker + i;
    hosts.push_back(HostName(number));
    pb::SessionRequest request;
    pb::Hello* const hello = request.mutable_hello();
    hello->set_host(hosts.back());
    hello->set_binary("berth-tracker");
    hello->set_incarnation(HostUuid(kHotHost - number));
    hello->set_machine_id(HostName(number));
    pb::NodeDigest* const node = hello->add_nodes();
    node->set_node_uuid(HostUuid(number));
    node->set_node_name(HostName(number));
    requests.push_back(request.SerializeAsString());
  }
  StreamOptions options;
  options.address = settings.address;
  options.method = kSessionMethod;
  options.connections = static_cast<int>(settings.trackers);
  options.half_close = false;
  options.credentials = TrackerCredentials(hosts, settings.ca_key);
  const Streams trackers(options, requests);
  const absl::Time until = absl::Now() + kWelcomedWithin;
  StreamCounts counts = trackers.counts();
  while (counts.answered < settings.trackers && counts.ended == 0 && absl::Now() < until) {
    absl::SleepFor(absl::Milliseconds(20));
    counts = trackers.counts();
  }
  const nlohmann::json told = {
      {"done", counts.answered}, {"ended", counts.ended}, {"first_end", counts.first_end}};
  std::printf("%s\n", told.dump().c_str());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return counts.answered == settings.trackers && trackers.counts().ended == 0 ? 0 : 1;
}

int Main(int argc, char** argv) {
  Settings settings;
  CLI::App app(
      "What those cost that stay connected, and how soon they are told. Calls over mutual TLS if "
      "BERTH_TLS_CERTIFICATE, BERTH_TLS_KEY, BERTH_TLS_CA and BERTH_TRUST_DOMAIN are set.");
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
  CLI::App* trackers = app.add_subcommand("trackers", "Trackers that are connected and silent");
  trackers->add_option("--count", settings.trackers)->required();
  trackers->add_option("--first", settings.first_tracker, "The number of the first one's host");
  trackers->add_option(
      "--ca-key", settings.ca_key,
      "With certificates: the private key of BERTH_TLS_CA, which issues one to each");
  CLI11_PARSE(app, argc, argv);
  if (trackers->parsed()) return Trackers(settings);
  return elsewhere->parsed() ? Elsewhere(settings) : Claims(settings);
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) { return berth::bench::Main(argc, argv); }
