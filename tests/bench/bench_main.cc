// berth-bench: the load of tests/bench/run, one measurement per call, told as one line of JSON.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/association.pb.h"
#include "berth/placement/v1/candidate.pb.h"
#include "berth/placement/v1/inventory.pb.h"
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
  int groups = 6;
  int64_t count = 0;  // 0: as many as the time allows
  bool hot = false;
  bool spread = false;
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

// Creates a provider and then its inventories for each number.
LoopResult CreateEach(LoopOptions loop, const std::function<std::string(int64_t)>& create,
                      const std::function<std::string(int64_t, int64_t)>& inventories) {
  std::vector<int64_t> generations(loop.calls_max);
  loop.request = create;
  loop.is_right = [&](int64_t number, absl::string_view reply) {
    pb::CreateProviderResponse response;
    const bool parsed = response.ParseFromArray(reply.data(), static_cast<int>(reply.size()));
    generations[number] = response.provider().generation();
    return parsed;
  };
  const LoopResult created = RunLoop(loop);
  if (created.failed > 0) return created;
  loop.method = absl::StrCat(kService, "InventoryService/SetInventories");
  loop.is_right = nullptr;
  loop.request = [&](int64_t number) { return inventories(number, generations[number]); };
  return RunLoop(loop);
}

LoopOptions Creating(const Settings& settings, int64_t count, int in_flight) {
  LoopOptions loop;
  loop.address = settings.address;
  loop.method = absl::StrCat(kService, "ProviderService/CreateProvider");
  loop.in_flight = in_flight;
  loop.connections = std::min(in_flight, kConnectionsMax);
  loop.calls_max = count;
  return loop;
}

int LoadHosts(const Settings& settings) {
  const LoopResult hosts = CreateEach(Creating(settings, settings.hosts, kLoadInFlight),
                                      CreateHostRequest, HostInventoriesRequest);
  if (!settings.hot || hosts.failed > 0) return Tell(hosts);
  return Tell(CreateEach(
      Creating(settings, 1, 1), [](int64_t) { return CreateHostRequest(kHotHost); },
      [](int64_t, int64_t generation) { return HostInventoriesRequest(kHotHost, generation); }));
}

// Hosts that were never there: as its clients register them, four calls for each.
int Register(const Settings& settings) {
  std::vector<int64_t> generations(settings.count);
  double seconds = 0;
  const auto stage = [&]<typename Response>(absl::string_view method, auto request,
                                            auto generation_of, Response*) {
    LoopOptions loop = Creating(settings, settings.count, settings.in_flight);
    loop.method = absl::StrCat(kService, method);
    loop.request = [&](int64_t number) { return request(kNewHosts + number, generations[number]); };
    loop.is_right = [&](int64_t number, absl::string_view reply) {
      Response response;
      const bool parsed = response.ParseFromArray(reply.data(), static_cast<int>(reply.size()));
      generations[number] = generation_of(response);
      return parsed;
    };
    const absl::Time begun = absl::Now();
    LoopResult result = RunLoop(loop);
    seconds += absl::ToDoubleSeconds(absl::Now() - begun);
    return result;
  };
  const auto generation_of = [](const auto& response) { return response.generation(); };
  stage(
      "ProviderService/CreateProvider",
      [](int64_t host, int64_t) { return CreateHostRequest(host); },
      [](const auto& response) { return response.provider().generation(); },
      static_cast<pb::CreateProviderResponse*>(nullptr));
  stage("InventoryService/SetInventories", HostInventoriesRequest, generation_of,
        static_cast<pb::SetInventoriesResponse*>(nullptr));
  stage("AssociationService/SetProviderTraits", HostTraitsRequest, generation_of,
        static_cast<pb::SetProviderTraitsResponse*>(nullptr));
  LoopResult last = stage("AssociationService/SetProviderAggregates", HostAggregatesRequest,
                          generation_of, static_cast<pb::SetProviderAggregatesResponse*>(nullptr));
  last.per_second = static_cast<double>(settings.count) / seconds;
  return Tell(last);
}

int LoadDevices(const Settings& settings) {
  LoopOptions naming = Creating(settings, 1, 1);
  naming.method = absl::StrCat(kService, "CatalogService/EnsureClass");
  naming.request = [](int64_t) { return DeviceClassRequest(); };
  const LoopResult named = RunLoop(naming);
  if (named.failed > 0) return Tell(named);
  // One after another: the host first.
  return Tell(CreateEach(
      Creating(settings, 1 + kDeviceCount, 1),
      [](int64_t number) { return CreateDeviceRequest(static_cast<int>(number)); },
      [](int64_t number, int64_t generation) {
        return DeviceInventoriesRequest(static_cast<int>(number), generation);
      }));
}

int Claim(const Settings& settings) {
  ClaimRequests requests(settings.hosts);
  LoopOptions loop = LoopOf(settings, absl::StrCat(kService, "AllocationService/SetAllocations"));
  loop.request = [&](int64_t) {
    return settings.hot ? requests.NextOn(kHotHost) : requests.Next();
  };
  if (settings.count > 0) {
    loop.calls_max = settings.count;
    loop.warm_up = absl::ZeroDuration();
    loop.duration = absl::InfiniteDuration();
  }
  return Tell(RunLoop(loop));
}

int ClaimSearch(const Settings& settings) {
  ClaimSearchRequests requests(settings.spread);
  LoopOptions loop = LoopOf(settings, absl::StrCat(kService, "CandidateService/Claim"));
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
  if (settings.count > 0) {
    loop.calls_max = settings.count;
    loop.warm_up = absl::ZeroDuration();
  }
  const LoopResult result = RunLoop(loop);
  return Tell(result, {{"request_bytes", request.size()},
                       {"answer_bytes", answer_bytes},
                       {"decode_us",
                        absl::ToDoubleMicroseconds(decoding) / std::max<int64_t>(decoded, 1)}});
}

int FindDevices(const Settings& settings) {
  const std::string request = DevicesRequest(settings.groups);
  LoopOptions loop = LoopOf(settings, absl::StrCat(kService, "CandidateService/FindCandidates"));
  loop.request = [&](int64_t) { return request; };
  loop.is_right = [&](int64_t, absl::string_view reply) {
    pb::FindCandidatesResponse response;
    return response.ParseFromArray(reply.data(), static_cast<int>(reply.size())) &&
           response.candidates_size() == kDeviceCandidates;
  };
  return Tell(RunLoop(loop));
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
    command->add_option("--groups", settings.groups);
    command->add_option("--count", settings.count);
    command->add_flag("--hot", settings.hot);
    command->add_flag("--spread", settings.spread);
    command->add_option("--request-bytes", settings.request_bytes);
    command->add_option("--answer-bytes", settings.answer_bytes);
  };
  add("load-hosts", "Creates the hosts", LoadHosts);
  add("load-devices", "Creates the host with devices", LoadDevices);
  add("claim", "Claims on random hosts, or on the hot one", Claim);
  add("claim-search", "Claims wherever placement finds room", ClaimSearch);
  add("candidates", "Searches candidates", FindCandidates);
  add("devices", "Searches ways to take several devices of one host", FindDevices);
  add("register", "Registers new hosts", Register);
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
