// What a State weighs, and what a batch of claims costs it.
//
// Bytes are those that the allocator hands out, its own word per block included. Times are printed;
// the bounds on them are wide, to catch a slip in the order of growth and not a busy machine.
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <random>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/state/state.h"

namespace {

std::atomic<int64_t> allocated_bytes = 0;  // now
std::atomic<int64_t> requested_bytes = 0;  // ever

int64_t SizeOf(void* block) { return static_cast<int64_t>(malloc_usable_size(block) + 8); }

}  // namespace

void* operator new(size_t size) {
  void* block = std::malloc(size);
  if (block == nullptr) std::abort();
  allocated_bytes.fetch_add(SizeOf(block), std::memory_order_relaxed);
  requested_bytes.fetch_add(SizeOf(block), std::memory_order_relaxed);
  return block;
}
void operator delete(void* block) noexcept {
  if (block == nullptr) return;
  allocated_bytes.fetch_sub(SizeOf(block), std::memory_order_relaxed);
  std::free(block);
}
void operator delete(void* block, size_t) noexcept { operator delete(block); }

namespace berth::placement {
namespace {

constexpr int kHosts = 10'000;
constexpr int kConsumers = kHosts * 10;
constexpr ClassId kClasses[] = {ClassId{1}, ClassId{2}, ClassId{3}};

ProviderId HostOf(uint64_t number) {
  return ProviderId{Uuid{number * 0x9e3779b97f4a7c15, number * 0xbf58476d1ce4e5b9}};
}

State Hosts() {
  State state;
  Changes changes;
  for (const ClassId id : kClasses) {
    changes.push_back(ClassPut{id, absl::StrCat("CUSTOM_", static_cast<uint32_t>(id))});
  }
  std::vector<TraitId> traits;
  for (uint32_t i = 1; i <= 20; ++i) {
    traits.push_back(TraitId{i});
    changes.push_back(TraitPut{TraitId{i}, absl::StrCat("CUSTOM_", i)});
  }
  state.Apply(changes);
  for (int i = 0; i < kHosts; ++i) {
    ProviderConfig config;
    config.id = HostOf(i);
    config.name = absl::StrCat("compute-", i, ".example.org");
    for (const ClassId id : kClasses) {
      config.inventories.push_back({id, Inventory{.total = 100'000}, 100'000});
    }
    config.traits = traits;
    config.aggregates = {AggregateId{Uuid{1, 1}}};
    state.Apply({ProviderPut{std::make_shared<const ProviderConfig>(std::move(config))}});
  }
  return state;
}

// A claim as the rules make it: one consumer with three classes on one host.
class Claims {
 public:
  Changes Next(const State& state) {
    const ProviderPlace place = *state.FindProvider(HostOf(random_() % kHosts));
    Consumer consumer;
    consumer.id = ConsumerId{Uuid{random_(), random_()}};
    consumer.generation = {++number_};
    consumer.owner = state.ShareOwner({absl::StrCat("project ", random_() % 100), "user", "TYPE"});
    ProviderUsed used{place.config().id, place.allocation_generation().Next(), {}};
    for (int row = 0; row < 3; ++row) {
      consumer.allocations.push_back({place.config().id, kClasses[row], 1});
      used.used.push_back({kClasses[row], place.used(row) + 1});
    }
    return {ConsumerPut{std::make_shared<const Consumer>(std::move(consumer))}, std::move(used)};
  }

 private:
  std::mt19937_64 random_{42};
  int64_t number_ = 0;
};

TEST(StateSize, KeepsToItsBudgets) {
  const int64_t before_hosts = allocated_bytes;
  State state = Hosts();
  const int64_t before_consumers = allocated_bytes;
  Claims claims;
  for (int i = 0; i < kConsumers; ++i) state.Apply(claims.Next(state));
  const double per_host = static_cast<double>(before_consumers - before_hosts) / kHosts;
  const double per_consumer = static_cast<double>(allocated_bytes - before_consumers) / kConsumers;
  std::printf("%.0f bytes a flat host, %.0f bytes a consumer\n", per_host, per_consumer);
  EXPECT_LE(per_consumer, 200);
  EXPECT_LE(per_host, 1100);
}

TEST(StateSize, AnInstanceKeepsToItsBudget) {
  State state;
  std::mt19937_64 random(42);
  const int64_t before = allocated_bytes;
  for (int i = 0; i < kConsumers; ++i) {
    InstanceRecord instance;
    instance.id = InstanceId{Uuid{random(), random()}};
    instance.generation = Generation{1};
    instance.name = absl::StrCat("instance-of-somebody-", i);
    instance.project = std::string(32, 'p');
    instance.user = std::string(32, 'u');
    instance.host = absl::StrCat("compute-", i % kHosts, ".example.org");
    instance.node = HostOf(i % kHosts);
    instance.vm_state = "active";
    instance.body = std::string(150, 'd');  // an image with some properties, and a flavor's id
    state.Apply({InstancePut{std::make_shared<const InstanceRecord>(std::move(instance))}});
  }
  const double per_instance = static_cast<double>(allocated_bytes - before) / kConsumers;
  std::printf("%.0f bytes an instance\n", per_instance);
  EXPECT_LE(per_instance, 1024);
}

// The bytes that applying `changes` to a copy of `state` allocates, which is what it copies.
int64_t BytesCopied(const State& state, const Changes& changes) {
  State next = state;
  const int64_t before = requested_bytes;
  next.Apply(changes);
  return requested_bytes - before;
}

constexpr uint32_t kOddFirst = 100;
constexpr uint32_t kOddCount = 1000;

// The first host's configuration, with an inventory of each of the odd classes, a mark for as many
// odd traits, and as many odd aggregates; or without them.
ProviderPut FirstHost(const State& state, bool is_odd) {
  auto config = std::make_shared<ProviderConfig>(state.FindProvider(HostOf(0))->config());
  config->generation = config->generation.Next();
  config->inventories.resize(std::size(kClasses));
  config->traits.resize(20);
  config->aggregates.resize(1);
  for (uint32_t i = kOddFirst; is_odd && i < kOddFirst + kOddCount; ++i) {
    config->inventories.push_back({ClassId{i}, Inventory{.total = 10}, 10});
    config->traits.push_back(TraitId{i});
    config->aggregates.push_back(AggregateId{Uuid{1, i}});
  }
  return ProviderPut{std::move(config)};
}

// A claim of the three usual classes on the first host.
Changes ClaimOnFirstHost(const State& state) {
  const ProviderPlace place = *state.FindProvider(HostOf(0));
  Consumer consumer;
  consumer.id = ConsumerId{Uuid{1, 1}};
  consumer.owner = state.ShareOwner({"project", "user", "TYPE"});
  ProviderUsed used{place.config().id, place.allocation_generation().Next(), {}};
  const std::vector<InventoryRow>& rows = place.config().inventories;
  for (size_t row = 0; row < rows.size(); ++row) {
    const bool is_usual = row < std::size(kClasses);
    if (is_usual) consumer.allocations.push_back({place.config().id, rows[row].resource_class, 1});
    used.used.push_back({rows[row].resource_class, is_usual ? 1 : 0});
  }
  return {ConsumerPut{std::make_shared<const Consumer>(std::move(consumer))}, std::move(used)};
}

// Class and trait of each odd number.
Changes OddNames() {
  Changes changes;
  for (uint32_t i = kOddFirst; i < kOddFirst + kOddCount; ++i) {
    changes.push_back(ClassPut{ClassId{i}, absl::StrCat("CUSTOM_ODD_", i)});
    changes.push_back(TraitPut{TraitId{i}, absl::StrCat("CUSTOM_ODD_", i)});
  }
  return changes;
}

TEST(StateSize, DeadClassesAndAggregatesCostNothing) {
  State state = Hosts();
  state.Apply(OddNames());
  const int64_t claim_before = BytesCopied(state, ClaimOnFirstHost(state));
  const int64_t config_before = BytesCopied(state, {FirstHost(state, false)});
  state.Apply({FirstHost(state, true)});
  state.Apply({FirstHost(state, false)});
  const int64_t claim_after = BytesCopied(state, ClaimOnFirstHost(state));
  const int64_t config_after = BytesCopied(state, {FirstHost(state, false)});
  std::printf("a claim copies %lld bytes, after %u dead classes %lld; a configuration %lld, %lld\n",
              static_cast<long long>(claim_before), kOddCount, static_cast<long long>(claim_after),
              static_cast<long long>(config_before), static_cast<long long>(config_after));
  EXPECT_LE(claim_after, claim_before + 1024);
  EXPECT_LE(config_after, config_before + 1024);
  EXPECT_TRUE(state.roots().most_free().Of(ClassId{kOddFirst}).empty());
}

TEST(StateSize, AClaimCopiesOnlyTheColumnsThatItChanges) {
  State state = Hosts();
  state.Apply(OddNames());
  const int64_t before = BytesCopied(state, ClaimOnFirstHost(state));
  state.Apply({FirstHost(state, true)});
  const int64_t after = BytesCopied(state, ClaimOnFirstHost(state));
  std::printf("a claim copies %lld bytes, beside %u more classes %lld\n",
              static_cast<long long>(before), kOddCount, static_cast<long long>(after));
  EXPECT_LE(after, before + kOddCount * 256);
}

TEST(StateSize, AppliesABatchQuickly) {
  using std::chrono::duration;
  using std::chrono::steady_clock;
  State state = Hosts();
  Claims claims;
  for (int i = 0; i < kConsumers; ++i) state.Apply(claims.Next(state));
  constexpr int kBatch = 64;
  double best_us = 1e9;
  double best_find_ns = 1e9;
  std::vector<StatePtr> published;
  for (int round = 0; round < 100; ++round) {
    published.push_back(std::make_shared<const State>(state));
    std::vector<Changes> batch;
    State scratch = state;  // the claims are drawn one after another
    for (int i = 0; i < kBatch; ++i) {
      batch.push_back(claims.Next(scratch));
      scratch.Apply(batch.back());
    }
    const auto begin = steady_clock::now();
    State next = *published.back();
    for (const Changes& changes : batch) next.Apply(changes);
    const auto published_at = steady_clock::now();
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(next.FindProvider(HostOf(i * 7 % kHosts)));
    const auto found_at = steady_clock::now();
    best_us = std::min(best_us, duration<double, std::micro>(published_at - begin).count());
    best_find_ns =
        std::min(best_find_ns, duration<double, std::micro>(found_at - published_at).count());
    state = next;
    if (published.size() > 8) published.erase(published.begin());
  }
  std::printf("%.0f us for a batch of %d claims on %d hosts, %.0f ns to find a provider\n", best_us,
              kBatch, kHosts, best_find_ns);
  EXPECT_LE(best_us, 1000);
}

}  // namespace
}  // namespace berth::placement
