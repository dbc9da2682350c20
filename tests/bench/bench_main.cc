// berth-bench: the load of tests/bench/run, one measurement per call, told as one line of JSON.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/candidate.pb.h"
#include "berth/placement/v1/ledger.pb.h"
#include "berth/placement/v1/provider.pb.h"
#include "nlohmann/json.hpp"
#include "tests/bench/closed_loop.h"
#include "tests/bench/echo.h"
#include "tests/bench/requests.h"

namespace berth::bench {
namespace {

namespace pb = berth::placement::v1;

constexpr char kService[] = "/berth.placement.v1.";
constexpr int kLoadInFlight = 256;
constexpr int kConnectionsMax = 4;
// Answers are decoded now and then: what a client does between two calls is not the server's time,
// and lets it fall asleep.
constexpr int64_t kDecodedEach = 64;
constexpr absl::Duration kWarmUp = absl::Milliseconds(300);

struct Settings {
  std::string address;
  int64_t hosts = 10'000;
  int in_flight = 1;
  double seconds = 2;
  int limit = 100;
  size_t request_bytes = 0;
  size_t answer_bytes = 0;
};

LoopOptions LoopOf(const Settings& settings, const std::string& method) {
  LoopOptions loop;
  loop.address = settings.address;
  loop.method = method;
  loop.in_flight = settings.in_flight;
  loop.connections = std::min(settings.in_flight, kConnectionsMax);
  loop.warm_up = kWarmUp;
  loop.duration = kWarmUp + absl::Seconds(settings.seconds);
  return loop;
}

// Prints what came of it; 0 where nothing failed.
int Tell(const LoopResult& result, nlohmann::json also = nlohmann::json::object()) {
  also["done"] = result.done;
  also["failed"] = result.failed;
  also["first_failure"] = result.first_failure;
  also["per_second"] = result.per_second;
  also["median_us"] = result.median_us;
  also["p99_us"] = result.p99_us;
  std::printf("%s\n", also.dump().c_str());
  return result.failed == 0 && result.done > 0 ? 0 : 1;
}

// One call per host.
LoopOptions EachHost(const Settings& settings, absl::string_view method) {
  LoopOptions loop;
  loop.address = settings.address;
  loop.method = absl::StrCat(kService, method);
  loop.in_flight = kLoadInFlight;
  loop.connections = kConnectionsMax;
  loop.calls_max = settings.hosts;
  return loop;
}

int LoadHosts(const Settings& settings) {
  std::vector<int64_t> generations(settings.hosts);
  LoopOptions loop = EachHost(settings, "ProviderService/CreateProvider");
  loop.request = CreateHostRequest;
  loop.is_right = [&](int64_t number, absl::string_view reply) {
    pb::CreateProviderResponse response;
    const bool parsed = response.ParseFromArray(reply.data(), static_cast<int>(reply.size()));
    generations[number] = response.provider().generation();
    return parsed;
  };
  const LoopResult created = RunLoop(loop);
  if (created.failed > 0) return Tell(created);
  loop = EachHost(settings, "InventoryService/SetInventories");
  loop.request = [&](int64_t number) {
    return HostInventoriesRequest(number, generations[number]);
  };
  return Tell(RunLoop(loop));
}

int Claim(const Settings& settings) {
  ClaimRequests requests(settings.hosts);
  LoopOptions loop = LoopOf(settings, absl::StrCat(kService, "AllocationService/SetAllocations"));
  loop.request = [&](int64_t) { return requests.Next(); };
  return Tell(RunLoop(loop));
}

int FindCandidates(const Settings& settings) {
  const std::string request = CandidatesRequest(settings.limit);
  size_t answer_bytes = 0;
  absl::Duration decoding;
  int64_t decoded = 0;
  LoopOptions loop = LoopOf(settings, absl::StrCat(kService, "CandidateService/FindCandidates"));
  loop.request = [&](int64_t) { return request; };
  loop.is_right = [&](int64_t number, absl::string_view reply) {
    if (decoded > 0 && number % kDecodedEach != 0) return reply.size() == answer_bytes;
    const absl::Time begun = absl::Now();
    pb::FindCandidatesResponse response;
    const bool parsed = response.ParseFromArray(reply.data(), static_cast<int>(reply.size()));
    decoding += absl::Now() - begun;
    ++decoded;
    answer_bytes = reply.size();
    return parsed && response.candidates_size() == settings.limit &&
           response.summaries_size() == settings.limit && !response.truncated();
  };
  const LoopResult result = RunLoop(loop);
  return Tell(result, {{"request_bytes", request.size()},
                       {"answer_bytes", answer_bytes},
                       {"decode_us",
                        absl::ToDoubleMicroseconds(decoding) / std::max<int64_t>(decoded, 1)}});
}

int Echo(const Settings& settings) {
  const std::string request = EchoPayload(settings.request_bytes);
  LoopOptions loop = LoopOf(settings, kEchoMethod);
  loop.request = [&](int64_t) { return request; };
  loop.is_right = [](int64_t, absl::string_view reply) { return IsEchoPayload(reply); };
  return Tell(RunLoop(loop));
}

int SelfCheck(const Settings& settings) {
  LoopOptions loop = LoopOf(settings, absl::StrCat(kService, "LedgerService/SelfCheck"));
  loop.calls_max = 1;
  loop.warm_up = absl::ZeroDuration();
  loop.duration = absl::InfiniteDuration();
  loop.request = [](int64_t) { return pb::SelfCheckRequest().SerializeAsString(); };
  std::string difference;
  loop.is_right = [&](int64_t, absl::string_view reply) {
    pb::SelfCheckResponse response;
    if (!response.ParseFromArray(reply.data(), static_cast<int>(reply.size()))) return false;
    if (response.differences_size() > 0) difference = response.differences(0).message();
    return response.clean();
  };
  const LoopResult result = RunLoop(loop);
  return Tell(result, {{"difference", difference}});
}

int Main(int argc, char** argv) {
  Settings settings;
  int (*chosen)(const Settings&) = nullptr;
  CLI::App app("The load of tests/bench/run.");
  app.require_subcommand(1);
  const auto add = [&](const char* name, const char* what, int (*run)(const Settings&)) {
    CLI::App* command = app.add_subcommand(name, what);
    command->callback([&chosen, run] { chosen = run; });
    command->add_option("--address", settings.address);
    command->add_option("--hosts", settings.hosts);
    command->add_option("--in-flight", settings.in_flight);
    command->add_option("--seconds", settings.seconds);
    command->add_option("--limit", settings.limit);
    command->add_option("--request-bytes", settings.request_bytes);
    command->add_option("--answer-bytes", settings.answer_bytes);
  };
  add("load-hosts", "Creates the hosts", LoadHosts);
  add("claim", "Claims on random hosts", Claim);
  add("candidates", "Searches candidates", FindCandidates);
  add("self-check", "Has placement compare log, tables and memory", SelfCheck);
  add("echo", "Calls the bare RPC", Echo);
  add("serve-echo", "Serves the bare RPC", [](const Settings& given) {
    ServeEcho(given.answer_bytes);
    return 0;
  });
  CLI11_PARSE(app, argc, argv);
  return chosen(settings);
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) { return berth::bench::Main(argc, argv); }
