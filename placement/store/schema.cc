#include "placement/store/schema.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "placement/store/statement.h"

namespace berth::placement {
namespace {

constexpr absl::string_view kNoPrivilege = "42501";  // insufficient_privilege

// The failure with `what` before PostgreSQL's text, if the session's role lacks a privilege. Any
// other status stays as it is.
absl::Status ExplainPrivilege(const absl::Status& status, absl::string_view what) {
  if (SqlStateOf(status) != kNoPrivilege) return status;
  absl::Status explained(status.code(), absl::StrCat(what, ": ", status.message()));
  status.ForEachPayload([&](absl::string_view type, const absl::Cord& payload) {
    explained.SetPayload(type, payload);
  });
  return explained;
}

absl::Status DoSteps(Database& database, const std::vector<SchemaStep>& steps) {
  BERTH_RETURN_IF_ERROR(database.Run(
      absl::StrCat("BEGIN; SET LOCAL lock_timeout = '30s'; SELECT pg_advisory_xact_lock(",
                   kLedgerLock, ")"),
      nullptr));
  BERTH_ASSIGN_OR_RETURN(const int64_t version, ReadSchemaVersion(database, steps));
  if (version == 0) {
    BERTH_RETURN_IF_ERROR(
        database.Run("CREATE TABLE ledger_schema (version int PRIMARY KEY, name text NOT NULL, "
                     "done_at timestamptz NOT NULL DEFAULT now())",
                     nullptr));
  }
  for (const SchemaStep& step : steps) {
    if (step.version <= version) continue;
    Statement done;
    done.Append("INSERT INTO ledger_schema (version, name) VALUES (");
    done.AppendValue(absl::StrCat(step.version));
    done.Append(", ");
    done.AppendValue(std::string(step.name));
    done.Append(")");
    BERTH_RETURN_IF_ERROR(database.RunPrepared(absl::StrCat(step.sql, "; "), done, nullptr));
  }
  return database.Run("COMMIT", nullptr);
}

}  // namespace

absl::StatusOr<int64_t> ReadSchemaVersion(Database& database,
                                          const std::vector<SchemaStep>& steps) {
  QueryRows rows;
  // The statement reads pg_class as a table. to_regclass is not used, because it answers from a
  // cache that may be older than the lock.
  BERTH_RETURN_IF_ERROR(
      database.Run("SELECT count(oid) FROM pg_class WHERE relname = 'ledger_schema' AND "
                   "pg_table_is_visible(oid)",
                   &rows));
  if (rows.Int(0, 0) == 0) return 0;
  BERTH_RETURN_IF_ERROR(database.Run("SELECT coalesce(max(version), 0) FROM ledger_schema", &rows));
  const int64_t version = rows.Int(0, 0);
  if (version <= steps.back().version) return version;
  return absl::FailedPreconditionError(absl::StrCat(
      "the database has schema ", version, ", but this release knows schemas only up to ",
      steps.back().version, ": run the newer release"));
}

absl::Status BringUpToDate(Database& database, const std::vector<SchemaStep>& steps) {
  // The version is read without the lock first: most starts have nothing to do, and must not wait
  // for a writer.
  const absl::StatusOr<int64_t> version = ReadSchemaVersion(database, steps);
  if (!version.ok()) {
    return ExplainPrivilege(version.status(),
                            "the database role of placement may not read placement's tables: "
                            "grant it what deploy/database/roles.sql grants");
  }
  if (*version == steps.back().version) return absl::OkStatus();
  const absl::Status status = DoSteps(database, steps);
  if (!status.ok() && !database.broken()) (void)database.Run("ROLLBACK", nullptr);
  return ExplainPrivilege(
      status, absl::StrCat("the database has schema ", *version, ", and this release needs schema ",
                           steps.back().version,
                           ", but the database role of placement may not change tables: start "
                           "placement once as the role that owns them"));
}

}  // namespace berth::placement
