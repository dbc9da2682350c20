// What a Feed counts for its batches is what they take from the allocator.
//
// The allocator is counted as in state_size_test: the usable size of each block and one word more.
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/log/feed.h"

namespace {

std::atomic<int64_t> allocated_bytes = 0;

int64_t SizeOf(void* block) { return static_cast<int64_t>(malloc_usable_size(block) + 8); }

}  // namespace

void* operator new(size_t size) {
  void* block = std::malloc(size);
  if (block == nullptr) std::abort();
  allocated_bytes.fetch_add(SizeOf(block), std::memory_order_relaxed);
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

const ProviderId kHost{Uuid{1, 1}};

std::string Long(const std::string& text) { return text + std::string(40, 'x'); }

// One batch of claims, as the writer makes it: owners are shared with the state.
std::vector<LogCommand> Claims(int count, const std::shared_ptr<const Owner>& owner) {
  std::vector<LogCommand> commands;
  for (int i = 0; i < count; ++i) {
    auto consumer = std::make_shared<Consumer>();
    consumer->id = ConsumerId{Uuid{7, static_cast<uint64_t>(i)}};
    consumer->owner = owner;
    for (uint32_t c = 1; c <= 3; ++c) consumer->allocations.push_back({kHost, ClassId{c}, 1});
    auto changes = std::make_shared<Changes>();
    changes->push_back(ConsumerPut{std::move(consumer)});
    changes->push_back(ProviderUsed{kHost, {}, {{ClassId{1}, 1}, {ClassId{2}, 1}}});
    commands.push_back({"anonymous", Long(absl::StrCat(i)), std::move(changes), "", nullptr});
  }
  return commands;
}

// One of everything that owns memory.
std::vector<LogCommand> Mixture() {
  auto config = std::make_shared<ProviderConfig>();
  config->name = Long("host");
  for (uint32_t c = 1; c <= 5; ++c) config->inventories.push_back({ClassId{c}, {}, 1});
  for (uint32_t t = 1; t <= 30; ++t) config->traits.push_back(TraitId{t});
  config->aggregates.push_back(AggregateId{Uuid{3, 3}});
  auto service = std::make_shared<ServiceRecord>();
  service->host = service->binary = service->version = service->zone = Long("h");
  service->machine_id = service->disabled_reason = Long("m");
  auto node = std::make_shared<NodeRecord>();
  node->name = node->host = node->digest = Long("n");
  node->reported.assign(20, {kHost, Generation{1}});
  node->facts = std::make_shared<const std::string>(std::string(5000, 'f'));
  node->account = std::string(1000, 'a');
  auto alone = std::make_shared<Consumer>();
  alone->owner =
      std::make_shared<const Owner>(Owner{Long("project"), Long("user"), Long("INSTANCE")});
  auto aggregate = std::make_shared<Aggregate>();
  aggregate->name = Long("rack");
  for (int i = 0; i < 40; ++i) aggregate->metadata[Long(absl::StrCat(i))] = i == 0 ? "" : Long("v");
  auto changes = std::make_shared<Changes>();
  *changes = {ClassPut{ClassId{1}, Long("CLASS")},
              TraitPut{TraitId{1}, Long("TRAIT")},
              ProviderPut{config},
              ConsumerPut{std::move(alone)},
              ServicePut{std::move(service)},
              ServiceRemoved{Long("a"), Long("b")},
              NodePut{std::move(node)},
              AggregatePut{std::move(aggregate)},
              FormatRaised{2}};
  auto scope = std::make_shared<Scope>();
  scope->after.roots.assign(10, {kHost, kHost});
  scope->after.aggregates = {{kHost, {AggregateId{Uuid{3, 3}}, AggregateId{Uuid{4, 4}}}}};
  scope->gave_up = {{ConsumerId{Uuid{5, 5}}, {kHost, kHost, kHost}}};
  scope->derived = {ProviderPut{std::move(config)}};
  scope->removed_keys = {Long("key"), Long("other")};
  return {{"anonymous", "", std::move(changes), "", std::move(scope)}};
}

struct Count {
  int64_t counted = 0;
  int64_t allocated = 0;
};

// What a batch of `commands` is said to take, and what the allocator gets back when it goes.
Count CountOf(std::vector<LogCommand> commands) {
  FeedBatchPtr batch = FeedBatchOf(Position(), commands);
  commands = {};
  const int64_t counted = batch->bytes;
  const int64_t before = allocated_bytes;
  batch.reset();
  return {counted, before - allocated_bytes};
}

TEST(FeedSize, IsWhatTheAllocatorGave) {
  const auto owner = std::make_shared<const Owner>(Owner{Long("project"), "user", "INSTANCE"});
  for (const int claims : {0, 1, 64, 256}) {
    const Count count = CountOf(Claims(claims, owner));
    EXPECT_GT(count.allocated, claims * 300);
    EXPECT_NEAR(static_cast<double>(count.counted), static_cast<double>(count.allocated),
                0.03 * static_cast<double>(count.allocated))
        << claims;
  }
}

// A value that two changes share is counted twice: the count is never too low.
TEST(FeedSize, CountsSharedValuesInFull) {
  const Count count = CountOf(Mixture());
  EXPECT_GE(count.counted, count.allocated);
  EXPECT_LT(count.counted, count.allocated * 3 / 2);
}

// 4096 batches of 256 claims, which is what the number of batches alone would admit, are far more.
TEST(FeedSize, AFullFeedTakesNoMoreThanItMay) {
  const int64_t bytes_max = 4 << 20;
  const auto owner = std::make_shared<const Owner>(Owner{"project", "user", "INSTANCE"});
  const int64_t before = allocated_bytes;
  Feed feed({.batches = 4096, .changes = 1'000'000, .bytes = bytes_max});
  for (int64_t number = 1; number <= 200; ++number) {
    Position position;
    position.revision = {1, number};
    feed.Append(FeedBatchOf(position, Claims(256, owner)));
    ASSERT_LE(allocated_bytes - before, bytes_max * 103 / 100) << number;
  }
  EXPECT_GT(allocated_bytes - before, bytes_max / 2);
}

}  // namespace
}  // namespace berth::placement
