// Rows: writes the changes of a batch as SQL, and reads the log as values.
//
// The functions use the connection that the caller passes, and have no state of their own. Each
// function makes one round trip to PostgreSQL. The SQL calls the functions of
// schema/0002_writes.sql.
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

// The SQLSTATE that the SQL functions raise if a table row is not as the batch expects.
inline constexpr char kRowsDiffer[] = "BR001";
// The SQLSTATE of a statement that did not get a lock within lock_timeout.
inline constexpr char kLockTimeout[] = "55P03";

// The ids of the entities that a batch touched.
struct Touched {
  absl::flat_hash_set<ProviderId> providers;
  absl::flat_hash_set<ConsumerId> consumers;
  absl::flat_hash_set<ClassId> classes;
  absl::flat_hash_set<TraitId> traits;
  absl::flat_hash_set<std::pair<std::string, std::string>> services;
  absl::flat_hash_set<ProviderId> nodes;
  absl::flat_hash_set<AggregateId> aggregates;
  absl::flat_hash_set<ServerGroupId> groups;
  absl::flat_hash_set<InstanceId> instances;
  absl::flat_hash_set<MigrationId> migrations;
  int64_t size = 0;  // of all these sets

  void Add(const Changes& changes);
};

// The key of a kept answer: the actor who sent the request, and the request's id.
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
  std::string body_hash;  // empty: the id was cancelled, so nothing is ever done under it
  std::string answer;
};

struct LogRow {
  Position position;
  BatchId previous;  // the batch of the row before
  std::string payload;
};

// The data that the writer reads right after it has taken the ledger's lock.
struct LockedHead {
  std::optional<LogRow> head;   // the newest log row, without its payload; none: the log is empty
  std::vector<LogRow> missing;  // rows after `known`, oldest first
  std::vector<KeptRequest> requests;
};

// Begins a transaction, takes the ledger's lock, and reads the newest log row, at most `rows_max`
// log rows after the revision number `known`, and the answers that are kept for `keys`. Fails as
// Database::Run, or with kAborted and SQLSTATE 55P03 if the lock could not be taken within
// lock_timeout. The transaction stays open unless the connection broke.
absl::StatusOr<LockedHead> LockAndReadHead(Database& database, int64_t known, int rows_max,
                                           const std::vector<RequestKey>& keys);

// The newest log row, without its payload; nothing if the log is empty.
absl::StatusOr<std::optional<LogRow>> ReadHead(Database& database);
// OK if `row` is the batch right after `before`. Else kDataLoss, with the two revisions in the
// message. The log has no gaps by design: only its oldest rows are deleted.
absl::Status CheckFollows(const LogRow& before, const LogRow& row);
// The revision of the oldest row, or {0, 0} if no row was ever deleted. The log has every row with
// a later revision. Fails as Database::Run, or with kDataLoss if the second oldest row is not the
// batch right after the oldest row.
absl::StatusOr<Revision> ReadHorizon(Database& database);
// At most `rows_max` log rows, oldest first, beginning with revision number `number`. The row with
// that number comes without its payload.
absl::StatusOr<std::vector<LogRow>> ReadLog(Database& database, int64_t number, int rows_max);

// The content that one batch writes.
struct BatchRows {
  const State* base = nullptr;  // the state that the tables hold
  const State* next = nullptr;  // the state after the batch, at the position of the new log row
  const Touched* touched = nullptr;
  std::string payload;
  std::vector<KeptRequest> requests;
  int64_t log_rows_kept = 0;
};

// The statement that writes a batch in the open transaction, and returns one row. REQUIRES: the
// caller holds the ledger's lock, and the newest log row is that of `rows.base`.
Statement WriteBatchSql(const BatchRows& rows);
// The statement that takes the ledger's lock and then writes a batch, if the newest log row is that
// of `rows.base` and no answer is kept for any of `keys`. Returns one row if it has written the
// batch, and no row if it has written nothing. To be run as a transaction of its own, or in an open
// transaction that holds the lock already.
Statement WriteBatchIfUnmovedSql(const BatchRows& rows, const std::vector<RequestKey>& keys);
// Like WriteBatchIfUnmovedSql for a batch that writes nothing and was decided at `base`.
Statement CheckUnmovedSql(const Position& base, const std::vector<RequestKey>& keys);

// The statement with the settings of a connection that writes: durable commits, short waits, and
// plans that are made once per statement.
std::string WriterSettingsSql();

// The statement with the settings for the open transaction of a large batch, which takes long to
// decide. The batch's session may be idle for a minute, and EndIdleLockHolder does not end it.
std::string LargeBatchSql();

// Ends the session that holds the ledger's lock, if PostgreSQL waits for that session's client: the
// client is then a paused process, whatever the state of the session. Example: a client that was
// paused after it had sent a prepared call and before it asked for the answer. Does not end a
// session that waits for a standby, because that session has committed, nor the session of a large
// batch. Returns whether a session was ended.
absl::StatusOr<bool> EndIdleLockHolder(Database& database);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STORE_ROWS_H_
