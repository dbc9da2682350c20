#include "tests/bench/loading.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/association.pb.h"
#include "berth/placement/v1/inventory.pb.h"
#include "berth/placement/v1/provider.pb.h"
#include "tests/bench/requests.h"
#include "tests/bench/topology.h"

namespace berth::bench {
namespace {

namespace pb = berth::placement::v1;

constexpr char kApplyTopology[] = "ReshapeService/ApplyTopology";
constexpr int kHostsOfMessage = 100;
constexpr int kLoadInFlight = 4;
constexpr int kClaimsOfMessage = 64;
// Of the places of each busy host that are taken at first: the least, and how many more at most.
constexpr int kTakenMin = 3, kTakenMore = 5;

// The providers of settings.hosts hosts, many in a message.
LoopResult LoadMany(const Settings& settings,
                    const std::function<std::string(int64_t first, int count)>& topology) {
  const int64_t messages = (settings.hosts + kHostsOfMessage - 1) / kHostsOfMessage;
  LoopOptions loop = Making(settings, kApplyTopology, messages, kLoadInFlight);
  loop.request = [&](int64_t number) {
    const int64_t first = number * kHostsOfMessage;
    return topology(first,
                    static_cast<int>(std::min<int64_t>(kHostsOfMessage, settings.hosts - first)));
  };
  return RunLoop(loop);
}

LoopResult Once(const Settings& settings, const char* method, const std::string& request) {
  LoopOptions loop = Making(settings, method, 1, 1);
  loop.request = [&](int64_t) { return request; };
  return RunLoop(loop);
}

// One of the four calls, for all new hosts; `generations` go in and out.
template <typename Response>
LoopResult RegisterStep(const Settings& settings, const char* method,
                        const std::function<std::string(int64_t, int64_t)>& request,
                        const std::function<int64_t(const Response&)>& generation_of,
                        std::vector<int64_t>* generations) {
  LoopOptions loop = Making(settings, method, settings.count, settings.in_flight);
  loop.request = [&](int64_t number) {
    return request(kNewHosts + settings.first + number, (*generations)[number]);
  };
  loop.is_right = [&](int64_t number, absl::string_view reply) {
    Response response;
    const bool parsed = response.ParseFromArray(reply.data(), static_cast<int>(reply.size()));
    (*generations)[number] = generation_of(response);
    return parsed;
  };
  return RunLoop(loop);
}

int RegisterInFourCalls(const Settings& settings) {
  std::vector<int64_t> generations(settings.count);
  const absl::Time begun = absl::Now();
  RegisterStep<pb::CreateProviderResponse>(
      settings, "ProviderService/CreateProvider",
      [](int64_t host, int64_t) { return CreateHostRequest(host); },
      [](const auto& response) { return response.provider().generation(); }, &generations);
  const auto generation_of = [](const auto& response) { return response.generation(); };
  RegisterStep<pb::SetInventoriesResponse>(settings, "InventoryService/SetInventories",
                                           HostInventoriesRequest, generation_of, &generations);
  RegisterStep<pb::SetProviderTraitsResponse>(settings, "AssociationService/SetProviderTraits",
                                              HostTraitsRequest, generation_of, &generations);
  LoopResult last = RegisterStep<pb::SetProviderAggregatesResponse>(
      settings, "AssociationService/SetProviderAggregates", HostAggregatesRequest, generation_of,
      &generations);
  last.per_second =
      static_cast<double>(settings.count) / absl::ToDoubleSeconds(absl::Now() - begun);
  return Tell(last);
}

}  // namespace

int LoadHosts(const Settings& settings) {
  const LoopResult hosts = LoadMany(settings, [&](int64_t first, int count) {
    return HostsTopology(first, count, settings.marked);
  });
  if (!settings.hot || hosts.failed > 0) return Tell(hosts);
  return Tell(Once(settings, kApplyTopology, HostsTopology(kHotHost, 1, false)));
}

int LoadTrees(const Settings& settings) {
  const LoopResult named = Once(settings, "CatalogService/EnsureTrait", TreeTraitRequest());
  if (named.failed > 0) return Tell(named);
  return Tell(LoadMany(settings, TreesTopology));
}

int LoadDevices(const Settings& settings) {
  const LoopResult named = Once(settings, "CatalogService/EnsureClass", DeviceClassRequest());
  if (named.failed > 0) return Tell(named);
  return Tell(Once(settings, kApplyTopology, DevicesTopology()));
}

int LoadBusyHosts(const Settings& settings) {
  const LoopResult hosts = LoadMany(settings, BusyHostsTopology);
  if (hosts.failed > 0) return Tell(hosts);
  std::vector<int64_t> taken;  // a host for each place
  for (int64_t host = 0; host < settings.hosts; ++host) {
    taken.insert(taken.end(), kTakenMin + host * 7 % kTakenMore, host);
  }
  ClaimRequests claims(settings.hosts, kClaimsOfMessage, kBusyClaim);
  LoopOptions loop = Making(settings, "AllocationService/SetAllocations",
                            static_cast<int64_t>(taken.size()) / kClaimsOfMessage, kLoadInFlight);
  loop.request = [&](int64_t number) {
    return claims.NextOn({taken.data() + number * kClaimsOfMessage, kClaimsOfMessage});
  };
  return Tell(RunLoop(loop));
}

int Register(const Settings& settings) {
  if (!settings.in_one_call) return RegisterInFourCalls(settings);
  LoopOptions loop = Making(settings, kApplyTopology, settings.count, settings.in_flight);
  loop.request = [&](int64_t number) {
    return HostsTopology(kOtherNewHosts + settings.first + number, 1, true);
  };
  return Tell(RunLoop(loop));
}

}  // namespace berth::bench
