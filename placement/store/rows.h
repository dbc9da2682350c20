// Rows: a batch's changes as SQL, and the log as values.
//
// Every call of Run here is one round trip. The texts rely on schema/0002_writes.sql.
#ifndef BERTH_PLACEMENT_STORE_ROWS_H_
#define BERTH_PLACEMENT_STORE_ROWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "placement/state/state.h"
#include "placement/store/database.h"
#include "placement/values/change.h"

namespace berth::placement {

// What the database raises where a row is not as the batch believes.
inline constexpr char kRowsDiffer[] = "BR001";

// Which entities a batch touched.
struct Touched {
  absl::flat_hash_set<ProviderId> providers;
  absl::flat_hash_set<ConsumerId> consumers;
  absl::flat_hash_set<ClassId> classes;
  absl::flat_hash_set<TraitId> traits;
  absl::flat_hash_set<std::pair<std::string, std::string>> services;
  absl::flat_hash_set<ProviderId> nodes;

  void Add(const Changes& changes);
  int64_t size() const;
};

// A request id as its table knows it.
struct RequestKey {
  std::string actor;
  std::string request_id;
  friend auto operator<=>(const RequestKey&, const RequestKey&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const RequestKey& key) {
    return H::combine(std::move(h), key.actor, key.request_id);
  }
};
struct KeptRequest {
  RequestKey key;
  std::string body_hash;  // empty: nothing was done under it, and nothing will be
  std::string answer;
};

struct LogRow {
  Position position;
  BatchId previous;
  std::string payload;
};

// What stands under the lock before anything is decided.
struct LockedHead {
  std::optional<LogRow> head;  // without payload; none: the log is empty
  std::vector<KeptRequest> requests;
};

// Begins a transaction, takes the ledger's lock and reads the newest log row and what is kept for
// `keys`. Fails as Database::Run; kAborted with SQLSTATE 55P03 where the lock was not to be had. The
// transaction stays open unless the connection broke.
absl::StatusOr<LockedHead> LockAndReadHead(Database& database, const std::vector<RequestKey>& keys);

// The newest log row without its payload, or nothing.
absl::StatusOr<std::optional<LogRow>> ReadHead(Database& database);
// The revision after which the log is whole: {0, 0}, or that of its oldest row.
absl::StatusOr<Revision> ReadHorizon(Database& database);
// Up to `rows_max` log rows from `number` on, rising; that of `number` itself without its payload.
absl::StatusOr<std::vector<LogRow>> ReadLog(Database& database, int64_t number, int rows_max);

// What one batch writes.
struct BatchRows {
  const State* base = nullptr;  // as the tables are
  const State* next = nullptr;  // as they shall be; its position is that of the new log row
  const Touched* touched = nullptr;
  std::string payload;
  std::vector<KeptRequest> requests;
  int64_t log_rows_kept = 0;
};

// The statement that writes it.
Statement WriteBatchSql(const BatchRows& rows);

// Settings of the connection that writes: durable commits, no long waits, and plans that are made
// once.
std::string WriterSettingsSql();

// For the open transaction alone: its session may be silent for a minute while a large batch is
// decided, and nobody ends it as a paused one before.
std::string LargeBatchSql();

// Ends the session that holds the ledger's lock if it only waits for its client: a paused process.
// Never one that waits for a standby, which has committed, or that decides a large batch. Returns
// whether there was one.
absl::StatusOr<bool> EndIdleLockHolder(Database& database);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STORE_ROWS_H_
