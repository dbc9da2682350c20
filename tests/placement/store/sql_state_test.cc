// The SQLSTATE of what PostgreSQL refuses. A text that is one statement goes through libpqxx, whose
// exceptions do not all keep their SQLSTATE; a message of several statements does not.

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "placement/store/database.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

struct RaisedFailure {
  const char* sqlstate;
  const char* through_libpqxx;
  absl::StatusCode code;
};
constexpr RaisedFailure kRaisedFailures[] = {
    {"08000", "08000", absl::StatusCode::kInternal},
    {"08006", "08000", absl::StatusCode::kInternal},
    {"08P01", "08000", absl::StatusCode::kInternal},
    {"0A000", "0A000", absl::StatusCode::kInternal},
    {"22012", "22012", absl::StatusCode::kInternal},
    {"23505", "23505", absl::StatusCode::kInternal},
    {"25006", "25006", absl::StatusCode::kAborted},
    {"40000", "40000", absl::StatusCode::kAborted},
    {"40001", "40001", absl::StatusCode::kAborted},
    {"40002", "40002", absl::StatusCode::kAborted},
    {"40003", "40003", absl::StatusCode::kAborted},
    {"40P01", "40P01", absl::StatusCode::kAborted},
    {"42501", "42501", absl::StatusCode::kInternal},
    {"42601", "42601", absl::StatusCode::kInternal},
    {"42P01", "42P01", absl::StatusCode::kInternal},
    {"53000", "53000", absl::StatusCode::kAborted},
    {"53100", "53100", absl::StatusCode::kAborted},
    {"53200", "53200", absl::StatusCode::kAborted},
    {"53300", "53300", absl::StatusCode::kAborted},
    {"55P03", "55P03", absl::StatusCode::kAborted},
    {"57014", "57014", absl::StatusCode::kAborted},
    {"58030", "58030", absl::StatusCode::kAborted},
    {"P0001", "P0001", absl::StatusCode::kInternal},
    {"XX000", "XX000", absl::StatusCode::kInternal},
};

TEST(SqlState, IsToldWhicheverWayAStatementTakes) {
  auto database = ConnectOrDie(NewDatabase());
  ASSERT_EQ(
      database->Run("CREATE FUNCTION fail(code text) RETURNS int LANGUAGE plpgsql AS $$ BEGIN "
                    "RAISE EXCEPTION 'made up' USING ERRCODE = code; END $$",
                    nullptr),
      absl::OkStatus());
  for (const RaisedFailure& failure : kRaisedFailures) {
    const std::string sql = absl::StrCat("SELECT fail('", failure.sqlstate, "')");
    const absl::Status one = database->Run(sql, nullptr);
    EXPECT_EQ(one.code(), failure.code) << failure.sqlstate << ": " << one;
    EXPECT_EQ(SqlStateOf(one), failure.through_libpqxx) << one;
    const absl::Status several = database->Run("SELECT 1; " + sql, nullptr);
    EXPECT_EQ(several.code(), failure.code) << failure.sqlstate << ": " << several;
    EXPECT_EQ(SqlStateOf(several), failure.sqlstate) << several;
    EXPECT_FALSE(database->broken()) << failure.sqlstate;
    EXPECT_EQ(QueryOne(*database, "SELECT 7"), "7") << failure.sqlstate;
  }
}

// A commit that PostgreSQL refuses is never taken for one of unknown outcome. A long statement is
// committed by a statement of its own, which goes through libpqxx.
TEST(SqlState, OfARefusedCommitIsTold) {
  auto database = ConnectOrDie(NewDatabase());
  ASSERT_EQ(
      database->Run("CREATE TABLE note (text text, code text); "
                    "CREATE FUNCTION fail_late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                    "RAISE EXCEPTION 'made up' USING ERRCODE = new.code; END $$; "
                    "CREATE CONSTRAINT TRIGGER late AFTER INSERT ON note DEFERRABLE INITIALLY "
                    "DEFERRED FOR EACH ROW EXECUTE FUNCTION fail_late()",
                    nullptr),
      absl::OkStatus());
  for (const RaisedFailure& failure : kRaisedFailures) {
    for (const size_t size : {10, 40'000}) {
      Statement statement;
      statement.Append("INSERT INTO note VALUES (");
      statement.AppendValue(std::string(size, 'x'));
      statement.Append(", ");
      statement.AppendValue(failure.sqlstate);
      statement.Append(")");
      ASSERT_EQ(database->Run("BEGIN", nullptr), absl::OkStatus());
      const absl::Status refused = database->RunAndCommit(statement, nullptr);
      EXPECT_EQ(refused.code(), failure.code) << failure.sqlstate << ": " << refused;
      EXPECT_EQ(SqlStateOf(refused), size == 10 ? failure.sqlstate : failure.through_libpqxx);
      ASSERT_EQ(database->Send(statement), absl::OkStatus());
      const absl::Status sent = database->Receive(nullptr);
      EXPECT_EQ(sent.code(), failure.code) << failure.sqlstate << ": " << sent;
      EXPECT_EQ(SqlStateOf(sent), failure.sqlstate);
      ASSERT_FALSE(database->broken()) << failure.sqlstate << " at " << size;
    }
  }
  EXPECT_EQ(QueryOne(*database, "SELECT count(*) FROM note"), "0");
}

TEST(SqlState, OfAMissingPrivilegeIsTold) {
  auto database = ConnectOrDie(NewDatabase());
  ASSERT_EQ(database->Run("DROP ROLE IF EXISTS berth_stranger; CREATE ROLE berth_stranger; "
                          "SET ROLE berth_stranger",
                          nullptr),
            absl::OkStatus());
  const absl::Status refused = database->Run("SELECT count(id) FROM trait", nullptr);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInternal) << refused;
  EXPECT_EQ(SqlStateOf(refused), "42501");
  EXPECT_FALSE(database->broken());
}

// Values of a short statement are escaped here, those of a long one are checked by PostgreSQL.
TEST(SqlState, OfAValueThatIsNoUtf8IsTold) {
  auto database = ConnectOrDie(NewDatabase());
  for (const size_t size : {10, 40'000}) {
    Statement statement;
    statement.Append("SELECT length(");
    statement.AppendValue(std::string(size, 'x') + "\xff");
    statement.Append("::text)");
    ASSERT_EQ(database->Run("BEGIN", nullptr), absl::OkStatus());
    const absl::Status refused = database->RunAndCommit(statement, nullptr);
    EXPECT_EQ(refused.code(), absl::StatusCode::kInternal) << refused;
    EXPECT_EQ(SqlStateOf(refused), "22021") << refused;
    EXPECT_EQ(database->Run("ROLLBACK", nullptr), absl::OkStatus());
  }
}

}  // namespace
}  // namespace berth::placement
