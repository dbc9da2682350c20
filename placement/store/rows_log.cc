#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/ground/check.h"
#include "placement/store/rows.h"
#include "placement/store/schema.h"
#include "placement/store/sql_call.h"

namespace berth::placement {
namespace {

constexpr char kPositionColumns[] =
    "revision, epoch, batch_id, previous_batch_id, micros_of(ledger_time), format, command_count, "
    "next_class_id, next_trait_id, epoch_began_at";
constexpr int kPositionColumnCount = 10;
constexpr char kLargeBatchName[] = "berth-placement writer, large batch";

BatchId BatchAt(const QueryRows& rows, int row, int column) {
  const std::optional<BatchId> id = BatchId::Parse(rows.Text(row, column));
  BERTH_CHECK(id.has_value());  // the column has the type uuid
  return *id;
}

LogRow LogRowAt(const QueryRows& rows, int row) {
  LogRow log;
  Position& position = log.position;
  position.revision = {rows.Int(row, 1), rows.Int(row, 0)};
  position.batch = BatchAt(rows, row, 2);
  log.previous = BatchAt(rows, row, 3);
  position.ledger_time = absl::FromUnixMicros(rows.Int(row, 4));
  position.format = static_cast<int>(rows.Int(row, 5));
  position.command_count = rows.Int(row, 6);
  position.next_class_id = static_cast<uint32_t>(rows.Int(row, 7));
  position.next_trait_id = static_cast<uint32_t>(rows.Int(row, 8));
  position.epoch_began_at = rows.Int(row, 9);
  return log;
}

std::string LockSql() {
  return absl::StrCat("BEGIN; SELECT pg_advisory_xact_lock(", kLedgerLock, "); ");
}

std::string HeadSql() {
  return absl::StrCat("SELECT ", kPositionColumns, " FROM log ORDER BY revision DESC LIMIT 1");
}

// Appends the condition under which a batch that was decided at `base` may be written. PostgreSQL
// evaluates it before the calls of the select list.
void AppendIfUnmoved(const Position& base, const std::vector<RequestKey>& keys, Statement* sql) {
  SqlCall ids("", 2);
  for (const RequestKey& key : keys) {
    ids.Column(0).AddText(key.actor);
    ids.Column(1).AddText(key.request_id);
  }
  sql->Append(" WHERE lock_ledger_at(", kLedgerLock, ",");
  sql->AppendValue(absl::StrCat(base.revision.number));
  sql->Append(",");
  sql->AppendValue(base.batch.ToString());
  sql->Append(",");
  ids.Column(0).AppendTo(sql);
  sql->Append(",");
  ids.Column(1).AppendTo(sql);
  sql->Append(")");
}

}  // namespace

absl::StatusOr<LockedHead> LockAndReadHead(Database& database, int64_t known, int rows_max,
                                           const std::vector<RequestKey>& keys) {
  LockedHead locked;
  QueryRows rows;
  Statement sql;
  const absl::string_view no_request = ", NULL, NULL, NULL::bytea, NULL::bytea FROM log ";
  sql.Append("(SELECT ", kPositionColumns, ", NULL::bytea", no_request,
             "ORDER BY revision DESC LIMIT 1) UNION ALL (SELECT ", kPositionColumns, ", payload",
             no_request, "WHERE revision > ");
  sql.AppendValue(absl::StrCat(known));
  sql.Append(" ORDER BY revision LIMIT ");
  sql.AppendValue(absl::StrCat(rows_max));
  sql.Append(")");
  if (!keys.empty()) {
    SqlCall find("find_requests", 2);
    for (const RequestKey& key : keys) {
      find.Column(0).AddText(key.actor);
      find.Column(1).AddText(key.request_id);
    }
    sql.Append(" UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, ",
               "NULL, actor, request_id, body_hash, answer FROM ");
    find.AppendTo(&sql);
  }
  BERTH_RETURN_IF_ERROR(database.RunPrepared(LockSql(), sql, &rows));
  for (int row = 0; row < rows.size(); ++row) {
    const int payload = kPositionColumnCount;
    if (rows.IsNull(row, 0)) {
      locked.requests.push_back(
          {{std::string(rows.Text(row, payload + 1)), std::string(rows.Text(row, payload + 2))},
           rows.Bytes(row, payload + 3),
           rows.Bytes(row, payload + 4)});
    } else if (rows.IsNull(row, payload)) {
      locked.head = LogRowAt(rows, row);
    } else {
      locked.missing.push_back(LogRowAt(rows, row));
      locked.missing.back().payload = rows.Bytes(row, payload);
    }
  }
  return locked;
}

Statement WriteBatchIfUnmovedSql(const BatchRows& rows, const std::vector<RequestKey>& keys) {
  Statement sql = WriteBatchSql(rows);
  AppendIfUnmoved(rows.base->position(), keys, &sql);
  return sql;
}

Statement CheckUnmovedSql(const Position& base, const std::vector<RequestKey>& keys) {
  Statement sql;
  sql.Append("SELECT true");
  AppendIfUnmoved(base, keys, &sql);
  return sql;
}

absl::StatusOr<std::optional<LogRow>> ReadHead(Database& database) {
  QueryRows rows;
  BERTH_RETURN_IF_ERROR(database.Run(HeadSql(), &rows));
  if (rows.size() == 0) return std::optional<LogRow>();
  return std::optional<LogRow>(LogRowAt(rows, 0));
}

absl::Status CheckFollows(const LogRow& before, const LogRow& row) {
  const Revision& from = before.position.revision;
  const Revision& to = row.position.revision;
  if (to.number == from.number + 1 && row.previous == before.position.batch) {
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat(
      "the log has a gap: the row after revision ", from.number, " is revision ", to.number,
      to.number == from.number + 1 ? ", which was written after another one" : ""));
}

absl::StatusOr<Revision> ReadHorizon(Database& database) {
  QueryRows rows;
  BERTH_RETURN_IF_ERROR(database.Run(
      absl::StrCat("SELECT ", kPositionColumns, " FROM log ORDER BY revision LIMIT 2"), &rows));
  if (rows.size() == 0) return Revision();
  const LogRow oldest = LogRowAt(rows, 0);
  if (rows.size() == 2) {
    BERTH_RETURN_IF_ERROR(CheckFollows(oldest, LogRowAt(rows, 1)));
  }
  return oldest.position.revision.number == 1 ? Revision() : oldest.position.revision;
}

absl::StatusOr<std::vector<LogRow>> ReadLog(Database& database, int64_t number, int rows_max) {
  QueryRows rows;
  Statement sql;
  sql.Append("SELECT ", kPositionColumns, ", CASE WHEN revision = ");
  sql.AppendValue(absl::StrCat(number));
  sql.Append(" THEN ''::bytea ELSE payload END FROM log WHERE revision >= ");
  sql.AppendValue(absl::StrCat(number));
  sql.Append(" ORDER BY revision LIMIT ");
  sql.AppendValue(absl::StrCat(rows_max));
  BERTH_RETURN_IF_ERROR(database.RunPrepared("", sql, &rows));
  std::vector<LogRow> log;
  log.reserve(rows.size());
  for (int row = 0; row < rows.size(); ++row) {
    log.push_back(LogRowAt(rows, row));
    log.back().payload = rows.Bytes(row, kPositionColumnCount);
  }
  return log;
}

std::string WriterSettingsSql() {
  return "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE, ISOLATION LEVEL READ COMMITTED; "
         "SET synchronous_commit = on; SET idle_in_transaction_session_timeout = '2s'; "
         "SET lock_timeout = '3s'; "
         // With these settings the planner always looks up the elements of an array by key,
         // whatever the statistics say.
         "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; "
         "SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off";
}

std::string LargeBatchSql() {
  return absl::StrCat("SET LOCAL idle_in_transaction_session_timeout = '60s'; ",
                      "SET LOCAL application_name = '", kLargeBatchName, "'");
}

absl::StatusOr<bool> EndIdleLockHolder(Database& database) {
  QueryRows rows;
  BERTH_RETURN_IF_ERROR(database.Run(
      absl::StrCat(
          "SELECT pg_terminate_backend(a.pid) FROM pg_locks l JOIN pg_stat_activity a USING (pid) "
          "WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND l.database = (SELECT "
          "oid FROM pg_database WHERE datname = current_database()) AND (l.classid::bigint << 32 | "
          "l.objid::bigint) = ",
          kLedgerLock, " AND a.pid <> pg_backend_pid() AND a.application_name <> '",
          kLargeBatchName, "' AND a.wait_event = 'ClientRead'"),
      &rows));
  return rows.size() > 0;
}

}  // namespace berth::placement
