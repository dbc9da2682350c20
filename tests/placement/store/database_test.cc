#include "placement/store/database.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "placement/store/database_watch.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

TEST(Database, AnswersWithTheRowsOfTheLastStatementThatReturnsRows) {
  auto database = ConnectOrDie(NewDatabase());
  QueryRows rows;
  ASSERT_TRUE(database
                  ->Run("BEGIN; SELECT 1; SELECT 'a''b', 7::bigint, 0.1::float8, true, "
                        "'\\x00ff'::bytea, NULL; COMMIT",
                        &rows)
                  .ok());
  ASSERT_EQ(rows.size(), 1);
  EXPECT_EQ(rows.Text(0, 0), "a'b");
  ASSERT_TRUE(database->Run("SELECT 1 WHERE false; COMMIT", &rows).ok());
  EXPECT_EQ(rows.size(), 0);
  ASSERT_TRUE(
      database->Run("SELECT 'a''b', 7::bigint, 0.1::float8, true, '\\x00ff'::bytea, NULL", &rows)
          .ok());
  ASSERT_EQ(rows.size(), 1);
  EXPECT_EQ(rows.Text(0, 0), "a'b");
  EXPECT_EQ(rows.Int(0, 1), 7);
  EXPECT_EQ(rows.Text(0, 2), "0.1");
  EXPECT_TRUE(rows.Bool(0, 3));
  EXPECT_EQ(rows.Bytes(0, 4), std::string("\0\xff", 2));
  EXPECT_TRUE(rows.IsNull(0, 5));
}

TEST(Database, EachStatementOfOneRoundTripHasItsOwnSnapshot) {
  const std::string url = NewDatabase();
  auto database = ConnectOrDie(url);
  auto other = ConnectOrDie(url);
  ASSERT_TRUE(other
                  ->Run("BEGIN; SELECT pg_advisory_xact_lock(1); "
                        "INSERT INTO trait VALUES (1, 'CUSTOM_A')",
                        nullptr)
                  .ok());
  std::string seen;
  std::thread waiter([&] {
    seen =
        QueryOne(*database, "BEGIN; SELECT pg_advisory_xact_lock(1); SELECT count(*) FROM trait");
  });
  auto watcher = ConnectOrDie(url);
  while (QueryOne(*watcher, "SELECT count(*) FROM pg_locks WHERE NOT granted") != "1") {
    std::this_thread::yield();
  }
  ASSERT_TRUE(other->Run("COMMIT", nullptr).ok());
  waiter.join();
  EXPECT_EQ(seen, "1");
}

TEST(Database, TellsWhatFailedAndWhetherItIsOver) {
  struct Case {
    const char* name;
    const char* sql;
    absl::StatusCode code;
    const char* sqlstate;
  };
  const Case cases[] = {
      {"a mistake", "SELECT nothing", absl::StatusCode::kInternal, "42703"},
      {"a constraint", "INSERT INTO trait VALUES (1, NULL)", absl::StatusCode::kInternal, "23502"},
      {"a time-out", "SET statement_timeout = 1; SELECT pg_sleep(5)", absl::StatusCode::kAborted,
       "57014"},
      {"a standby", "SET TRANSACTION READ ONLY; INSERT INTO trait VALUES (1, 'A')",
       absl::StatusCode::kAborted, "25006"},
      {"a conflict", "DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '40001'; END $$",
       absl::StatusCode::kAborted, "40001"},
      {"a full disk", "DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '53100'; END $$",
       absl::StatusCode::kAborted, "53100"},
  };
  const std::string url = NewDatabase();
  for (const Case& test : cases) {
    auto database = ConnectOrDie(url);
    const absl::Status status = database->Run(test.sql, nullptr);
    EXPECT_EQ(status.code(), test.code) << test.name << ": " << status;
    EXPECT_EQ(SqlStateOf(status), test.sqlstate) << test.name;
    EXPECT_FALSE(database->broken()) << test.name;
  }
}

TEST(Database, ABrokenConnectionStaysBroken) {
  const std::string url = NewDatabase();
  auto database = ConnectOrDie(url);
  auto other = ConnectOrDie(url);
  const std::string pid = QueryOne(*database, "SELECT pg_backend_pid()");
  ASSERT_EQ(QueryOne(*other, absl::StrCat("SELECT pg_terminate_backend(", pid, ", 5000)")), "t");
  const absl::Status lost = database->Run("SELECT 1", nullptr);
  EXPECT_EQ(lost.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(absl::StrContains(lost.message(), "server closed the connection")) << lost;
  // What libpqxx says by default is not what happened.
  EXPECT_FALSE(absl::StrContains(lost.message(), "Connection to database failed")) << lost;
  EXPECT_TRUE(database->broken());
  EXPECT_EQ(database->Run("SELECT 1", nullptr).code(), absl::StatusCode::kUnavailable);
}

TEST(Database, ShutEndsACallThatHangs) {
  const std::string url = NewDatabase();
  auto database = ConnectOrDie(url);
  auto watcher = ConnectOrDie(url);
  const std::string pid = QueryOne(*database, "SELECT pg_backend_pid()");
  absl::Status status;
  std::thread caller([&] { status = database->Run("SELECT pg_sleep(3600)", nullptr); });
  const std::string sleeping = absl::StrCat(
      "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND pid = ", pid);
  while (QueryOne(*watcher, sleeping) != "1") std::this_thread::yield();
  database->Shut();
  caller.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
}

TEST(DatabaseWatch, EndsCallsThatHang) {
  const std::string url = NewDatabase();
  DatabaseWatch watch;
  const std::shared_ptr<Database> database = ConnectOrDie(url);
  watch.Add(database);
  watch.Add(std::shared_ptr<Database>(ConnectOrDie(url)));  // is gone at once
  watch.ShutIfSlow(absl::ZeroDuration());                   // no call is under way
  EXPECT_EQ(QueryOne(*database, "SELECT 1"), "1");
  std::atomic<bool> ended{false};
  std::thread watching([&] {
    while (!ended) watch.ShutIfSlow(absl::Milliseconds(200));
  });
  EXPECT_EQ(database->Run("SELECT pg_sleep(3600)", nullptr).code(), absl::StatusCode::kUnavailable);
  ended = true;
  watching.join();
}

TEST(DatabaseWatch, ClosesWhatComesLater) {
  const std::string url = NewDatabase();
  DatabaseWatch watch;
  const std::shared_ptr<Database> before = ConnectOrDie(url);
  const std::shared_ptr<Database> after = ConnectOrDie(url);
  watch.Add(before);
  watch.Close();
  watch.Add(after);
  EXPECT_EQ(before->Run("SELECT 1", nullptr).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(after->Run("SELECT 1", nullptr).code(), absl::StatusCode::kUnavailable);
}

TEST(Database, NeverShowsAPassword) {
  for (const char* url :
       {"postgresql://berth:topsecret@localhost:1/x", "host=localhost port=1 password=topsecret",
        "postgresql://localhost:1/x?password=topsecret", "postgresql://berth:topsecret@[/x"}) {
    const auto database = Database::Connect(url, "test");
    ASSERT_EQ(database.status().code(), absl::StatusCode::kUnavailable) << url;
    EXPECT_EQ(std::string(database.status().message()).find("topsecret"), std::string::npos)
        << database.status();
  }
}

// The first statement of each type is prepared and executed in one message, the others go through
// libpqxx.
TEST(Literals, SurviveTheTrip) {
  auto database = ConnectOrDie(NewDatabase());
  const auto returned = [&](const std::string& value, absl::string_view type) {
    Statement statement;
    statement.Append("SELECT ");
    statement.AppendValue(value);
    statement.Append("::", type);
    QueryRows rows;
    EXPECT_EQ(database->RunPrepared("", statement, &rows), absl::OkStatus()) << value;
    return rows;
  };
  for (const std::string text :
       {"", "a", "it's", "back\\slash", "\"quoted\", {braces}", "one; two", "ünï ☃"}) {
    EXPECT_EQ(returned(text, "text").Text(0, 0), text);
    EXPECT_EQ(returned(text, "text").Text(0, 0), text);
  }
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  EXPECT_EQ(returned(BytesText(bytes), "bytea").Bytes(0, 0), bytes);
  EXPECT_EQ(returned(BytesText(bytes), "bytea").Bytes(0, 0), bytes);
}

TEST(QueryRows, OutliveTheirConnection) {
  QueryRows one;
  QueryRows several;
  {
    auto database = ConnectOrDie(NewDatabase());
    ASSERT_EQ(database->Run("SELECT 'a', NULL, '' UNION ALL SELECT 'b', 'c', 'd'", &one),
              absl::OkStatus());
    ASSERT_EQ(
        database->Run("SELECT 1; SELECT 'a', NULL, '' UNION ALL SELECT 'b', 'c', 'd'", &several),
        absl::OkStatus());
  }
  for (const QueryRows& rows : {one, several}) {
    ASSERT_EQ(rows.size(), 2);
    EXPECT_EQ(rows.Text(0, 0), "a");
    EXPECT_TRUE(rows.IsNull(0, 1));
    EXPECT_EQ(rows.Text(0, 1), "");
    EXPECT_FALSE(rows.IsNull(0, 2));
    EXPECT_EQ(rows.Text(0, 2), "");
    EXPECT_EQ(rows.Text(1, 0), "b");
    EXPECT_EQ(rows.Text(1, 1), "c");
    EXPECT_EQ(rows.Text(1, 2), "d");
  }
}

TEST(QueryRowsDeathTest, AValueThatIsNotThereEndsTheProcess) {
  const QueryRows rows(nullptr, 1, 2, {"a", "b"});
  EXPECT_EQ(rows.Text(0, 1), "b");
  EXPECT_DEATH(rows.Text(0, 2), "BERTH_CHECK");
  EXPECT_DEATH(rows.Text(1, 0), "BERTH_CHECK");
  EXPECT_DEATH(rows.Int(0, 0), "BERTH_CHECK");
  EXPECT_DEATH(QueryRows().Text(0, 0), "BERTH_CHECK");
}

Statement ValueAnd(int number, absl::string_view column, absl::string_view type) {
  Statement statement;
  statement.Append("SELECT 1000 / ");
  statement.AppendValue(absl::StrCat(number));
  statement.Append("::", type, " AS ", column);
  return statement;
}

// Values differ, the text is read once; also where its first values are refused, or what came
// before.
TEST(Statement, IsPreparedByItsText) {
  auto database = ConnectOrDie(NewDatabase());
  const char kKept[] = "SELECT count(*) FROM pg_prepared_statements";
  QueryRows rows;
  EXPECT_EQ(SqlStateOf(database->RunPrepared("", ValueAnd(0, "a", "int"), &rows)), "22012");
  EXPECT_EQ(SqlStateOf(database->RunPrepared("SELECT 1 / 0; ", ValueAnd(1, "a", "int"), &rows)),
            "22012");
  for (const int number : {1, 2, 4}) {
    ASSERT_EQ(database->RunPrepared("SELECT 7; ", ValueAnd(number, "a", "int"), &rows),
              absl::OkStatus());
    EXPECT_EQ(rows.Int(0, 0), 1000 / number);
  }
  // The one that was refused is there too: nobody could know.
  EXPECT_EQ(QueryOne(*database, kKept), "2");
  ASSERT_TRUE(database->RunPrepared("", ValueAnd(3, "a", "float8"), &rows).ok());
  EXPECT_EQ(rows.Text(0, 0).substr(0, 5), "333.3");
  EXPECT_EQ(QueryOne(*database, kKept), "3");
  // However many texts come, PostgreSQL's memory has an end: also of what it refuses each time.
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(database->RunPrepared("", ValueAnd(5, absl::StrCat("b", i), "int"), &rows).ok());
    EXPECT_EQ(rows.Int(0, 0), 200);
  }
  EXPECT_LT(std::stoi(QueryOne(*database, kKept)), 100);
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(SqlStateOf(database->RunPrepared("", ValueAnd(0, "c", "int"), &rows)), "22012");
  }
  EXPECT_LT(std::stoi(QueryOne(*database, kKept)), 100);
  // And two that take turns do not throw each other out.
  for (int i = 0; i < 10; ++i) {
    for (const char* name : {"a", "b"}) {
      ASSERT_TRUE(database->RunPrepared("", ValueAnd(8, name, "int"), &rows).ok());
      EXPECT_EQ(rows.Int(0, 0), 125);
    }
  }
  EXPECT_GE(std::stoi(QueryOne(*database, kKept)), 2);
}

// What PostgreSQL does not take any more is prepared anew the next time.
TEST(Statement, IsPreparedAnewAfterAFailure) {
  const std::string url = NewDatabase();
  auto database = ConnectOrDie(url);
  ASSERT_TRUE(
      database->Run("CREATE TABLE note (number int); INSERT INTO note VALUES (7)", nullptr).ok());
  Statement statement;
  statement.Append("SELECT number FROM note WHERE number > ");
  statement.AppendValue("0");
  QueryRows rows;
  ASSERT_TRUE(database->RunPrepared("", statement, &rows).ok());
  const char* const changes[] = {"ALTER TABLE note ALTER number TYPE bigint", "DEALLOCATE ALL"};
  for (const char* change : changes) {
    ASSERT_TRUE(database->Run(change, nullptr).ok());
    EXPECT_EQ(database->RunPrepared("", statement, &rows).code(), absl::StatusCode::kInternal)
        << change;
    ASSERT_TRUE(database->RunPrepared("", statement, &rows).ok()) << change;
    EXPECT_EQ(rows.Int(0, 0), 7);
  }
}

// A short statement is prepared, a long one sends its values as parameters.
TEST(Statement, IsWrittenAndCommittedWhateverItsLength) {
  const std::string url = NewDatabase();
  auto database = ConnectOrDie(url);
  ASSERT_TRUE(database->Run("CREATE TABLE note (number int, text text)", nullptr).ok());
  for (const size_t size : {10, 1'000'000}) {
    const std::string text = absl::StrCat("it's \\ $1 ", std::string(size, 'x'));
    Statement statement;
    statement.Append("INSERT INTO note VALUES (");
    statement.AppendValue("7");
    statement.Append(",");
    statement.AppendValue(text);
    statement.Append(")");
    ASSERT_TRUE(database->Run("BEGIN", nullptr).ok());
    ASSERT_EQ(database->RunAndCommit(statement, nullptr), absl::OkStatus());
    EXPECT_EQ(QueryOne(*ConnectOrDie(url), "SELECT text FROM note WHERE number = 7"), text);
    // What is refused leaves nothing behind.
    statement.Append(", (8, 'no')");
    statement.AppendValue("more");
    ASSERT_TRUE(database->Run("BEGIN; DELETE FROM note", nullptr).ok());
    EXPECT_EQ(database->RunAndCommit(statement, nullptr).code(), absl::StatusCode::kInternal);
    ASSERT_TRUE(database->Run("ROLLBACK", nullptr).ok());
    EXPECT_EQ(QueryOne(*database, "SELECT count(*) FROM note"), "1");
    ASSERT_TRUE(database->Run("DELETE FROM note", nullptr).ok());
  }
}

// What only the commit can refuse is refused, whatever the statement's length.
TEST(Statement, ARefusedCommitLeavesNothing) {
  auto database = ConnectOrDie(NewDatabase());
  ASSERT_TRUE(database
                  ->Run("CREATE TABLE note (text text, number int UNIQUE DEFERRABLE INITIALLY "
                        "DEFERRED)",
                        nullptr)
                  .ok());
  for (const size_t size : {10, 1'000'000}) {
    Statement statement;
    statement.Append("INSERT INTO note VALUES (");
    statement.AppendValue(std::string(size, 'x'));
    statement.Append(", 7), ('again', 7)");
    ASSERT_TRUE(database->Run("BEGIN", nullptr).ok());
    const absl::Status refused = database->RunAndCommit(statement, nullptr);
    EXPECT_EQ(refused.code(), absl::StatusCode::kInternal);
    EXPECT_EQ(SqlStateOf(refused), "23505");
    EXPECT_EQ(QueryOne(*database, "SELECT count(*) FROM note"), "0");
  }
}

}  // namespace
}  // namespace berth::placement
