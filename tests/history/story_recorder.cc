#include "tests/history/story_recorder.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/placement/v1/record.pb.h"
#include "placement/ground/check.h"
#include "placement/ground/status_macros.h"
#include "placement/log/log.pb.h"
#include "tests/history/checker/effect.h"
#include "tests/history/record_wire.h"
#include "tests/history/wire.h"

namespace berth::history {
namespace {

namespace api_pb = ::berth::placement::v1;
namespace log_pb = ::berth::ledger::v1;

// The actor of the commands by which the ledger ends leases. Written again here: a test does not
// borrow it from the program that it checks.
constexpr char kExpires[] = "berth-placement/leases";

constexpr int kRowsAtOnce = 500;

uint8_t PlaceOf(const std::array<uint32_t, kClasses>& ids, uint32_t id) {
  return static_cast<uint8_t>(std::find(ids.begin(), ids.end(), id) - ids.begin());
}

placement::Uuid UuidOf(const log_pb::Id& id) { return {id.high(), id.low()}; }

template <typename Message>
Message Parsed(const std::string& bytes) {
  Message message;
  BERTH_CHECK(message.ParseFromString(bytes));
  return message;
}

}  // namespace

StoryRecorder::StoryRecorder(std::string url, Story* story) : url_(std::move(url)), story_(story) {
  BERTH_CHECK(LearnClasses().ok());
  placement::QueryRows rows;
  BERTH_CHECK(
      database_->Run("SELECT revision, batch_id FROM log ORDER BY revision DESC LIMIT 1", &rows)
          .ok());
  last_ = rows.Int(0, 0);
  last_batch_ = std::string(rows.Text(0, 1));
}

absl::Status StoryRecorder::Connect() {
  if (database_ != nullptr && !database_->broken()) return absl::OkStatus();
  auto database = placement::Database::Connect(url_, "berth history");
  if (!database.ok()) return database.status();
  database_ = *std::move(database);
  return absl::OkStatus();
}

absl::Status StoryRecorder::LearnClasses() {
  if (absl::Status status = Connect(); !status.ok()) return status;
  for (int c = 0; c < kClasses; ++c) {
    placement::QueryRows rows;
    const absl::Status status = database_->Run(
        absl::StrCat("SELECT id FROM resource_class WHERE name = '", ClassName(c), "'"), &rows);
    if (!status.ok()) return status;
    class_ids_[c] = static_cast<uint32_t>(rows.Int(0, 0));
  }
  return absl::OkStatus();
}

absl::Status StoryRecorder::Follow() {
  if (absl::Status status = Connect(); !status.ok()) return status;
  while (true) {
    placement::QueryRows rows;
    const absl::Status status = database_->Run(
        absl::StrCat(
            "SELECT revision, epoch, command_count, batch_id, previous_batch_id, payload, ",
            "(extract(epoch FROM ledger_time) * 1000000)::bigint FROM log WHERE revision > ", last_,
            " ORDER BY revision LIMIT ", kRowsAtOnce),
        &rows);
    if (!status.ok()) return status;
    for (int r = 0; r < rows.size(); ++r) {
      const int64_t revision = rows.Int(r, 0);
      if (revision != last_ + 1 || rows.Text(r, 4) != last_batch_) {
        story_->breaks.push_back(absl::StrCat(
            "revision ", revision, " of the ledger's log does not ", "follow on revision ", last_));
      }
      last_ = revision;
      last_batch_ = std::string(rows.Text(r, 3));
      log_pb::Batch batch;
      BERTH_CHECK(batch.ParseFromString(rows.Bytes(r, 5)));
      for (const log_pb::Command& command : batch.commands()) Take(command, revision);
      story_->revisions.push_back({revision, rows.Int(r, 1), rows.Int(r, 2),
                                   static_cast<uint32_t>(story_->steps.size()), rows.Int(r, 6)});
    }
    if (rows.size() < kRowsAtOnce) return absl::OkStatus();
  }
}

void StoryRecorder::Take(const log_pb::Command& command, int64_t revision) {
  Step step;
  step.revision = revision;
  Asked asked = AskedBy(command.request_id());
  for (const log_pb::Change& change : command.changes()) {
    if (change.has_node_put() && IsNewReport(change.node_put())) {
      asked = AskedBy(change.node_put().digest());
    }
  }
  step.client = asked.client;
  step.number = asked.number;
  step.expires = command.actor() == kExpires;
  step.first_part = static_cast<uint32_t>(story_->parts.size());
  step.first_use = static_cast<uint32_t>(story_->uses.size());
  step.first_config = static_cast<uint32_t>(story_->configs.size());
  for (const log_pb::Change& change : command.changes()) Take(change, &step);
  const bool none = step.parts == 0 && step.uses == 0 && step.configs == 0;
  if (!none || step.client != kNobody) story_->steps.push_back(step);
}

bool StoryRecorder::IsNewReport(const log_pb::Node& put) {
  std::string& digest = digests_[put.id().low()];
  return std::exchange(digest, put.digest()) != put.digest();
}

template <typename Message>
void StoryRecorder::TakeRecord(const std::string& bytes, Step* step) {
  const auto put = Parsed<Message>(bytes);
  const auto uuid = placement::Uuid::Parse(put.uuid());
  TakePart((uuid ? RecordOf(*uuid) : std::nullopt).value_or(0), put.generation(), RowsOf(put),
           step);
}

// A switch without default: a new kind of change does not compile until this has decided about it.
void StoryRecorder::Take(const log_pb::Change& change, Step* step) {
  switch (change.kind_case()) {
    case log_pb::Change::kConsumerPut:
      return TakeConsumer(UuidOf(change.consumer_put().id()), change.consumer_put(), step);
    case log_pb::Change::kConsumerRemoved:
      return TakeConsumer(UuidOf(change.consumer_removed()), log_pb::Consumer(), step);
    case log_pb::Change::kProviderUsed:
      return TakeUse(change.provider_used(), step);
    case log_pb::Change::kProviderPut:
      return TakeConfig(change.provider_put(), step);
    case log_pb::Change::kInstancePut:
      return TakeRecord<api_pb::Instance>(change.instance_put(), step);
    case log_pb::Change::kMigrationPut:
      return TakeRecord<api_pb::Migration>(change.migration_put(), step);
    case log_pb::Change::kInstanceRemoved:
      return TakePart(RecordOf(UuidOf(change.instance_removed())).value_or(0), 0, {}, step);
    case log_pb::Change::kMigrationRemoved:
      return TakePart(RecordOf(UuidOf(change.migration_removed())).value_or(0), 0, {}, step);
    // A report is known by its digest, and changes no more than this of a node. The history does
    // nothing to the others while it is recorded.
    case log_pb::Change::kProviderRemoved:
    case log_pb::Change::kClassPut:
    case log_pb::Change::kClassRemoved:
    case log_pb::Change::kTraitPut:
    case log_pb::Change::kTraitRemoved:
    case log_pb::Change::kServicePut:
    case log_pb::Change::kServiceRemoved:
    case log_pb::Change::kNodePut:
    case log_pb::Change::kNodeRemoved:
    case log_pb::Change::kAggregatePut:
    case log_pb::Change::kAggregateRemoved:
    case log_pb::Change::kServerGroupPut:
    case log_pb::Change::kServerGroupRemoved:
    case log_pb::Change::kFormatRaised:
    case log_pb::Change::KIND_NOT_SET:
      return;
  }
}

void StoryRecorder::TakeConsumer(const placement::Uuid& id, const log_pb::Consumer& put,
                                 Step* step) {
  std::vector<Row> rows;
  for (int i = 0; i < put.classes_size(); ++i) {
    const auto provider = ProviderOf({put.providers(2 * i), put.providers(2 * i + 1)});
    rows.push_back(
        {provider.value_or(kUnplaced), PlaceOf(class_ids_, put.classes(i)), put.amounts(i)});
  }
  SortRows(&rows);
  TakePart(ConsumerOf(id).value_or(0), put.generation(), rows, step);
  if (put.has_lease_expires_at_us()) story_->parts.back().lease_end_us = put.lease_expires_at_us();
}

void StoryRecorder::TakePart(uint64_t number, int64_t generation, const std::vector<Row>& rows,
                             Step* step) {
  story_->parts.push_back({number, 0, generation, static_cast<uint32_t>(story_->rows.size()),
                           static_cast<uint32_t>(rows.size())});
  story_->rows.insert(story_->rows.end(), rows.begin(), rows.end());
  ++step->parts;
}

void StoryRecorder::TakeUse(const log_pb::ProviderUse& used, Step* step) {
  UseAfter use;
  use.provider = ProviderOf(UuidOf(used.id())).value_or(kUnplaced);
  use.allocation_generation = used.allocation_generation();
  for (int i = 0; i < used.classes_size(); ++i) {
    const uint8_t c = PlaceOf(class_ids_, used.classes(i));
    if (c < kClasses) use.used[c] = used.amounts(i);
  }
  story_->uses.push_back(use);
  ++step->uses;
}

void StoryRecorder::TakeConfig(const log_pb::Provider& put, Step* step) {
  ConfigAfter config;
  config.provider = ProviderOf(UuidOf(put.id())).value_or(kUnplaced);
  config.generation = put.generation();
  for (const log_pb::Inventory& inventory : put.inventories()) {
    const uint8_t c = PlaceOf(class_ids_, inventory.class_());
    if (c < kClasses) config.capacity[c] = inventory.total() - inventory.reserved();
  }
  story_->configs.push_back(config);
  ++step->configs;
}

absl::Status StoryRecorder::Read(int providers, Dump* dump) {
  if (absl::Status status = Connect(); !status.ok()) return status;
  placement::QueryRows rows;
  absl::Status status = database_->Run(
      "SELECT revision, command_count FROM log ORDER BY revision DESC LIMIT 1", &rows);
  if (!status.ok()) return status;
  dump->revision = rows.Int(0, 0);
  dump->command_count = rows.Int(0, 1);
  dump->providers.assign(static_cast<size_t>(providers), {});
  status = database_->Run(
      "SELECT p.id, p.generation, p.allocation_generation, i.class, i.total - i.reserved, i.used "
      "FROM provider p CROSS JOIN LATERAL unnest(p.class, p.total, p.reserved, p.used) AS "
      "i(class, total, reserved, used)",
      &rows);
  if (!status.ok()) return status;
  for (int r = 0; r < rows.size(); ++r) {
    const auto uuid = placement::Uuid::Parse(rows.Text(r, 0));
    const uint16_t provider = (uuid ? ProviderOf(*uuid) : std::nullopt).value_or(kUnplaced);
    const uint8_t c = PlaceOf(class_ids_, static_cast<uint32_t>(rows.Int(r, 3)));
    if (provider >= providers || c >= kClasses) continue;
    ProviderState& state = dump->providers[provider];
    state.generation = rows.Int(r, 1);
    state.allocation_generation = rows.Int(r, 2);
    state.capacity[c] = rows.Int(r, 4);
    state.used[c] = rows.Int(r, 5);
  }
  status = database_->Run(
      "SELECT k.id, k.generation, a.provider, a.class, a.amount, "
      "coalesce((extract(epoch FROM k.lease_expires_at) * 1000000)::bigint, 0) "
      "FROM consumer k CROSS JOIN LATERAL "
      "unnest(k.provider, k.class, k.amount) AS a(provider, class, amount)",
      &rows);
  if (!status.ok()) return status;
  std::map<uint64_t, ConsumerState> consumers;
  for (int r = 0; r < rows.size(); ++r) {
    const auto uuid = placement::Uuid::Parse(rows.Text(r, 0));
    const auto provider = placement::Uuid::Parse(rows.Text(r, 2));
    ConsumerState& state = consumers[(uuid ? ConsumerOf(*uuid) : std::nullopt).value_or(0)];
    state.generation = rows.Int(r, 1);
    state.lease_end_us = rows.Int(r, 5);
    state.rows.push_back({(provider ? ProviderOf(*provider) : std::nullopt).value_or(kUnplaced),
                          PlaceOf(class_ids_, static_cast<uint32_t>(rows.Int(r, 3))),
                          static_cast<int32_t>(rows.Int(r, 4))});
  }
  for (auto& [consumer, state] : consumers) {
    state.consumer = consumer;
    SortRows(&state.rows);
    dump->consumers.push_back(std::move(state));
  }
  return ReadRecords(dump);
}

absl::Status StoryRecorder::ReadRecords(Dump* dump) {
  const auto number_at = [](const placement::QueryRows& rows, int row, int column) {
    const auto uuid = placement::Uuid::Parse(rows.Text(row, column));
    return (uuid ? RecordOf(*uuid) : std::nullopt).value_or(0);
  };
  placement::QueryRows rows;
  BERTH_RETURN_IF_ERROR(database_->Run("SELECT id, generation, kind, content FROM record", &rows));
  for (int r = 0; r < rows.size(); ++r) {
    dump->consumers.push_back({number_at(rows, r, 0), rows.Int(r, 1),
                               rows.Int(r, 2) == 1
                                   ? RowsOf(Parsed<api_pb::Instance>(rows.Bytes(r, 3)))
                                   : RowsOf(Parsed<api_pb::Migration>(rows.Bytes(r, 3)))});
  }
  return absl::OkStatus();
}

}  // namespace berth::history
