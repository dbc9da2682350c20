#include "placement/epoch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/command_queue.h"
#include "placement/log_codec.h"
#include "placement/refusal.h"
#include "placement/rows.h"
#include "placement/rows_load.h"

namespace berth::placement {
namespace {

// More than one epoch can ever hand out.
constexpr int64_t kCommandsJump = int64_t{1} << 40;
constexpr uint32_t kIdsJump = 1u << 20;
constexpr int64_t kKeepAllLogRows = int64_t{1} << 50;

Position FirstOfEpoch(const Position& head, const Position& lost) {
  Position first = head;
  first.revision.epoch = std::max(head.revision.epoch, lost.revision.epoch) + 1;
  first.revision.number = head.revision.number + 1;
  first.batch = BatchId{Uuid::Random()};
  first.command_count = std::max(head.command_count, lost.command_count) + kCommandsJump;
  first.next_class_id = std::max(head.next_class_id, lost.next_class_id) + kIdsJump;
  first.next_trait_id = std::max(head.next_trait_id, lost.next_trait_id) + kIdsJump;
  first.epoch_began_at = first.revision.number;
  return first;
}

absl::StatusOr<State> BeginUnderLock(Database& database, const State& last_good,
                                     const std::string& actor, Revision expected_head) {
  const absl::StatusOr<LockedHead> locked = LockAndReadHead(database, {});
  if (!locked.ok()) return locked.status();
  const Position head = locked->head ? locked->head->position : Position();
  if (head.revision != expected_head) {
    return Refuse(absl::StatusCode::kAborted, "CONCURRENT_UPDATE",
                  absl::StrCat("the newest revision is ", head.revision.number, " of epoch ",
                               head.revision.epoch));
  }
  absl::StatusOr<State> tables = LoadTables(database);
  if (!tables.ok()) return tables;
  State next = *tables;
  next.set_position(FirstOfEpoch(head, last_good.position()));
  const Touched nothing;
  BatchRows rows;
  rows.base = &*tables;
  rows.next = &next;
  rows.touched = &nothing;
  rows.payload = EncodeBatch({{actor, "", std::make_shared<const Changes>()}});
  rows.log_rows_kept = kKeepAllLogRows;
  const absl::Status written = database.Run(WriteBatchSql(rows), nullptr);
  // Lost in the commit: an operator must look again.
  if (written.code() == absl::StatusCode::kUnavailable) return OutcomeUnknown();
  if (!written.ok()) return written;
  return next;
}

// Appends "<what> <key>: lost" or ": differs" for what `good` holds beyond `tables`.
template <typename Map, typename KeyText>
void CompareMaps(const Map& good, const Map& tables, absl::string_view what, KeyText key_text,
                 std::vector<std::string>* out) {
  good.ForEach([&](const auto& key, const auto& record) {
    const auto* other = tables.Find(key);
    if (other != nullptr && **other == *record) return true;
    out->push_back(
        absl::StrCat(what, " ", key_text(key), other == nullptr ? ": lost" : ": differs"));
    return true;
  });
}

}  // namespace

absl::StatusOr<State> BeginEpoch(Database& database, const State& last_good,
                                 const std::string& actor, Revision expected_head) {
  // Loading the tables takes its time, and the lock is held meanwhile.
  absl::Status status = database.Run(
      WriterSettingsSql() + "; SET idle_in_transaction_session_timeout = '10min'", nullptr);
  if (!status.ok()) return status;
  absl::StatusOr<State> state = BeginUnderLock(database, last_good, actor, expected_head);
  if (!state.ok() && !database.broken()) (void)database.Run("ROLLBACK", nullptr);
  return state;
}

std::vector<std::string> Differences(const State& last_good, const State& tables) {
  std::vector<std::string> found;
  last_good.consumers().ForEach([&](ConsumerId id, const ConsumerPtr& consumer) {
    const ConsumerPtr other = tables.FindConsumer(id);
    if (!other) found.push_back(absl::StrCat("consumer ", id.ToString(), ": lost"));
    if (other && other->allocations != consumer->allocations) {
      found.push_back(absl::StrCat("consumer ", id.ToString(), ": differs"));
    }
    return true;
  });
  for (const auto& chunk : last_good.roots().chunks()) {
    for (int at = 0; at < chunk->trees.size(); ++at) {
      for (const auto& config : chunk->trees[at]->shape->configs) {
        const std::optional<ProviderPlace> other = tables.FindProvider(config->id);
        if (other && other->config().generation == config->generation) continue;
        found.push_back(absl::StrCat("provider ", config->id.ToString(), " ", config->name,
                                     other ? ": differs" : ": lost"));
      }
    }
  }
  CompareMaps(
      last_good.services(), tables.services(), "service",
      [](const auto& key) { return absl::StrCat(key.first, " ", key.second); }, &found);
  CompareMaps(
      last_good.nodes(), tables.nodes(), "node", [](ProviderId id) { return id.ToString(); },
      &found);
  return found;
}

}  // namespace berth::placement
