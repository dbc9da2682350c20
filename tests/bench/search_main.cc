// berth-search-bench: the search alone, without gRPC, beside a bare scan of the same numbers. Tells
// medians in microseconds as one line of JSON.
//
// usage: berth-search-bench [HOSTS]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "nlohmann/json.hpp"
#include "placement/ground/check.h"
#include "placement/search/search.h"
#include "placement/state/state.h"

namespace berth::bench {
namespace {

using placement::Amount;
using placement::CandidateRequest;
using placement::Changes;
using placement::ClassId;
using placement::Inventory;
using placement::ProviderConfig;
using placement::ProviderId;
using placement::State;
using placement::TraitId;
using placement::Uuid;

constexpr int kRounds = 301;
constexpr int kWarmUpRounds = 20;
constexpr uint64_t kSeed = 42;
constexpr char kCommonTrait[] = "CUSTOM_COMMON";
constexpr char kRareTrait[] = "CUSTOM_RARE";  // of one host in a hundred

struct Column {
  ClassId id;
  const char* name;
  Amount total;
  double ratio;
  Amount wanted;
};
constexpr Column kColumns[] = {{ClassId{1}, "VCPU", 64, 16, 1},
                               {ClassId{2}, "MEMORY_MB", 262'144, 1.5, 256},
                               {ClassId{3}, "DISK_GB", 4'096, 1, 10}};
constexpr TraitId kCommon{1};
constexpr TraitId kRare{2};

// Flat hosts, every third without a processor left.
struct World {
  State state;
  std::vector<int64_t> free[std::size(kColumns)];  // by host
};

void AddHost(int64_t number, std::mt19937_64& random, World* world) {
  ProviderConfig config;
  config.id = ProviderId{Uuid{random(), random()}};
  config.name = absl::StrCat("host-", number);
  config.traits = {kCommon};
  if (number % 100 == 7) config.traits.push_back(kRare);
  const ProviderId host = config.id;
  placement::Consumer consumer;
  consumer.id = placement::ConsumerId{Uuid{random(), random()}};
  consumer.owner = world->state.ShareOwner({"bench", "bench", "INSTANCE"});
  placement::ProviderUsed used{host, {}, {}};
  for (size_t i = 0; i < std::size(kColumns); ++i) {
    const Column& column = kColumns[i];
    const Inventory inventory{.total = column.total, .allocation_ratio = column.ratio};
    const auto capacity = static_cast<Amount>(static_cast<double>(column.total) * column.ratio);
    config.inventories.push_back({column.id, inventory, capacity});
    const bool is_full = i == 0 && number % 3 == 0;
    const Amount taken = is_full ? capacity : static_cast<Amount>(1 + random() % (capacity / 2));
    consumer.allocations.push_back({host, column.id, static_cast<int32_t>(taken)});
    used.used.push_back({column.id, taken});
    world->free[i].push_back(capacity - taken);
  }
  Changes changes = {
      placement::ProviderPut{std::make_shared<const ProviderConfig>(std::move(config))}};
  changes.push_back(
      placement::ConsumerPut{std::make_shared<const placement::Consumer>(std::move(consumer))});
  changes.push_back(std::move(used));
  world->state.Apply(changes);
}

std::unique_ptr<World> MakeWorld(int64_t hosts) {
  auto world = std::make_unique<World>();
  Changes names = {placement::TraitPut{kCommon, kCommonTrait},
                   placement::TraitPut{kRare, kRareTrait}};
  for (const Column& column : kColumns)
    names.push_back(placement::ClassPut{column.id, column.name});
  world->state.Apply(names);
  std::mt19937_64 random(kSeed);
  for (int64_t number = 0; number < hosts; ++number) AddHost(number, random, world.get());
  return world;
}

CandidateRequest RequestOf(Amount processors, int64_t limit) {
  CandidateRequest request;
  placement::RequestGroup group;
  for (const Column& column : kColumns) group.resources.push_back({column.name, column.wanted});
  group.resources[0].amount = processors;
  request.groups.push_back(std::move(group));
  request.limit = limit;
  return request;
}

// The median over the rounds.
double MicrosecondsOf(const std::function<void()>& work) {
  std::vector<double> times;
  for (int round = 0; round < kWarmUpRounds + kRounds; ++round) {
    const absl::Time begun = absl::Now();
    work();
    if (round >= kWarmUpRounds) times.push_back(absl::ToDoubleMicroseconds(absl::Now() - begun));
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

double SearchTime(const World& world, const CandidateRequest& request, size_t expected) {
  return MicrosecondsOf([&] {
    const auto found = placement::FindCandidates(world.state, request, placement::SearchBudget{});
    BERTH_CHECK(found.ok() && found->candidates.size() == expected);
  });
}

// How many hosts have room, by nothing but the numbers: what memory allows.
double ScanTime(const World& world) {
  int64_t with_room = 0;
  const double time = MicrosecondsOf([&] {
    const size_t hosts = world.free[0].size();
    const int64_t *first = world.free[0].data(), *second = world.free[1].data(),
                  *third = world.free[2].data();
    int64_t count = 0;
    for (size_t i = 0; i < hosts; ++i) {
      count += static_cast<int64_t>(first[i] >= kColumns[0].wanted) &
               static_cast<int64_t>(second[i] >= kColumns[1].wanted) &
               static_cast<int64_t>(third[i] >= kColumns[2].wanted);
    }
    with_room = count;
  });
  BERTH_CHECK(with_room > 0);
  return time;
}

int Main(int argc, char** argv) {
  const int64_t hosts = argc > 1 ? std::atoll(argv[1]) : 100'000;
  const std::unique_ptr<World> world = MakeWorld(hosts);
  const Amount too_many = 2 * 64 * 16;
  CandidateRequest rare = RequestOf(1, 100);
  rare.groups[0].required = {{kRareTrait}};
  CandidateRequest not_common = RequestOf(1, 100);
  not_common.groups[0].forbidden = {kCommonTrait};
  const nlohmann::json told = {{"hosts", hosts},
                               {"scan_us", ScanTime(*world)},
                               {"flat_100_us", SearchTime(*world, RequestOf(1, 100), 100)},
                               {"flat_5_us", SearchTime(*world, RequestOf(1, 5), 5)},
                               {"no_room_us", SearchTime(*world, RequestOf(too_many, 100), 0)},
                               {"rare_trait_100_us", SearchTime(*world, rare, 100)},
                               {"forbidden_trait_us", SearchTime(*world, not_common, 0)}};
  std::printf("%s\n", told.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) { return berth::bench::Main(argc, argv); }
