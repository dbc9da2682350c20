#include "tests/history/watch_recorder.h"

#include <grpcpp/create_channel.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "tests/history/checker/effect.h"
#include "tests/history/record_wire.h"
#include "tests/history/wire.h"

namespace berth::history {
namespace {

namespace pb = ::berth::placement::v1;

constexpr std::chrono::milliseconds kReconnectAfter{50};

// 0: the uuid does not belong to a history.
uint64_t NumberOf(const std::optional<placement::Uuid>& uuid, bool is_record) {
  if (!uuid) return 0;
  return (is_record ? RecordOf(*uuid) : ConsumerOf(*uuid)).value_or(0);
}

uint64_t FoldTold(uint64_t digest, const pb::Consumer& told) {
  const auto uuid = placement::Uuid::Parse(told.uuid());
  digest = FoldConsumer(digest, NumberOf(uuid, false), told.generation());
  std::vector<Row> rows;
  for (const pb::ProviderAllocation& held : told.allocations()) {
    const auto provider = placement::Uuid::Parse(held.provider_uuid());
    for (const auto& [name, amount] : held.resources()) {
      rows.push_back({static_cast<uint16_t>(provider ? provider->low : kUnplaced),
                      ClassOf(name).value_or(kClasses), static_cast<int32_t>(amount)});
    }
  }
  SortRows(&rows);
  for (const Row& row : rows) digest = FoldRow(digest, row);
  return digest;
}

uint64_t FoldTold(uint64_t digest, const pb::ProviderUsage& told) {
  UseAfter use;
  const auto uuid = placement::Uuid::Parse(told.provider_uuid());
  use.provider = static_cast<uint16_t>(uuid ? uuid->low : kUnplaced);
  use.allocation_generation = told.allocation_generation();
  for (const auto& [name, amount] : told.used()) {
    if (const auto c = ClassOf(name)) use.used[*c] = amount;
  }
  return FoldUse(digest, use);
}

uint64_t FoldTold(uint64_t digest, const pb::Provider& told) {
  ConfigAfter config;
  const auto uuid = placement::Uuid::Parse(told.uuid());
  config.provider = static_cast<uint16_t>(uuid ? uuid->low : kUnplaced);
  config.generation = told.generation();
  for (const auto& [name, inventory] : told.inventories()) {
    if (const auto c = ClassOf(name)) config.capacity[*c] = inventory.capacity();
  }
  return FoldConfig(digest, config);
}

// Of an instance or a migration.
template <typename Record>
uint64_t FoldRecord(uint64_t digest, const Record& told) {
  const auto uuid = placement::Uuid::Parse(told.uuid());
  digest = FoldConsumer(digest, NumberOf(uuid, true), told.generation());
  for (const Row& row : RowsOf(told)) digest = FoldRow(digest, row);
  return digest;
}

bool IsOfConsumerOrRecord(pb::EntityKind kind) {
  return kind == pb::ENTITY_KIND_CONSUMER || kind == pb::ENTITY_KIND_INSTANCE ||
         kind == pb::ENTITY_KIND_MIGRATION;
}

}  // namespace

WatchRecorder::WatchRecorder(uint64_t seed, int64_t after, const Servers* servers, WatchLog* log)
    : random_(seed), servers_(servers), log_(log) {
  log_->after = log_->until = after;
}

void WatchRecorder::Work() {
  while (!stop_) {
    if (Follow() == 0) std::this_thread::sleep_for(kReconnectAfter);
  }
}

void WatchRecorder::Stop() {
  stop_ = true;
  const placement::MutexLock lock(&mutex_);
  if (watch_ != nullptr) watch_->Cancel();
}

int WatchRecorder::Follow() {
  const Server server = servers_->Find(static_cast<int>(random_() % kServers));
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto channel =
      grpc::CreateCustomChannel(server.address, grpc::InsecureChannelCredentials(), arguments);
  pb::Revision after;
  after.set_epoch(1);
  after.set_number(log_->until);
  pb::WatchRequest request = e2e::After(after);
  for (const pb::EntityKind kind :
       {pb::ENTITY_KIND_PROVIDER, pb::ENTITY_KIND_PROVIDER_USAGE, pb::ENTITY_KIND_CONSUMER,
        pb::ENTITY_KIND_INSTANCE, pb::ENTITY_KIND_MIGRATION}) {
    request.add_kinds(kind);
  }
  e2e::Watch watch(channel, request);
  {
    const placement::MutexLock lock(&mutex_);
    watch_ = &watch;
  }
  digest_ = 0;
  const int messages_max = 1 + static_cast<int>(random_() % 400);
  int messages = 0;
  pb::WatchResponse response;
  while (!stop_ && messages < messages_max && watch.Next(&response)) {
    ++messages;
    Take(response);
  }
  {
    const placement::MutexLock lock(&mutex_);
    watch_ = nullptr;
  }
  watch.Cancel();
  watch.End();
  return messages;
}

void WatchRecorder::Take(const pb::WatchResponse& response) {
  for (const pb::Change& change : response.changes()) {
    if (IsOfConsumerOrRecord(change.removed().kind())) {
      const auto uuid = placement::Uuid::Parse(change.removed().key());
      const bool is_record = change.removed().kind() != pb::ENTITY_KIND_CONSUMER;
      digest_ = FoldConsumer(digest_, NumberOf(uuid, is_record), 0);
    } else if (change.present().has_consumer()) {
      digest_ = FoldTold(digest_, change.present().consumer());
    } else if (change.present().has_instance()) {
      digest_ = FoldRecord(digest_, change.present().instance());
    } else if (change.present().has_migration()) {
      digest_ = FoldRecord(digest_, change.present().migration());
    } else if (change.present().has_provider_usage()) {
      digest_ = FoldTold(digest_, change.present().provider_usage());
    } else if (change.present().has_provider()) {
      digest_ = FoldTold(digest_, change.present().provider());
    } else {
      digest_ = Fold(digest_, 4);  // nothing that this history does
    }
  }
  if (!response.complete()) return;
  if (digest_ != 0) log_->told.push_back({response.revision().number(), digest_});
  digest_ = 0;
  log_->until = std::max(log_->until, response.revision().number());
}

}  // namespace berth::history
