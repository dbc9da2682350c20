// The memory that is left behind when a connection breaks during a call.
//
// libpqxx 6.4 never frees a result that it gets because the connection broke while it waited: more
// than two KiB each. Under the sanitizers the memory is counted by the leak check at the end.

#include <gtest/gtest.h>
#include <malloc.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/store/database.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

constexpr int kLosses = 40;
constexpr size_t kBytesPerLossMax = 400;
constexpr char kEndThisSession[] = "SELECT pg_terminate_backend(pg_backend_pid())";

// A statement with `size` bytes of values that ends its own session, or with `ends` false does not.
Statement EndingStatement(bool ends, size_t size) {
  Statement statement;
  statement.Append("SELECT CASE WHEN ");
  statement.AppendValue(ends ? "t" : "f");
  statement.Append("::bool THEN pg_terminate_backend(pg_backend_pid()) END, length(");
  statement.AppendValue(std::string(size, 'x'));
  statement.Append("::text)");
  return statement;
}

// The session ends when this statement is committed.
Statement LateEndingStatement(size_t size) {
  Statement statement;
  statement.Append("INSERT INTO note VALUES (");
  statement.AppendValue(std::string(size, 'x'));
  statement.Append(")");
  return statement;
}

std::string DatabaseWithNotes() {
  std::string url = NewDatabase();
  EXPECT_EQ(ConnectOrDie(url)->Run(
                "CREATE TABLE note (text text); "
                "CREATE FUNCTION end_session() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                "PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$; "
                "CREATE CONSTRAINT TRIGGER late AFTER INSERT ON note DEFERRABLE INITIALLY "
                "DEFERRED FOR EACH ROW EXECUTE FUNCTION end_session()",
                nullptr),
            absl::OkStatus());
  return url;
}

absl::Status CommitOf(Database& database, const Statement& statement) {
  EXPECT_EQ(database.Run("BEGIN", nullptr), absl::OkStatus());
  return database.RunAndCommit(statement, nullptr);
}

struct LosingCall {
  const char* name;
  std::function<absl::Status(Database&)> call;
};

std::vector<LosingCall> LosingCalls() {
  return {
      {"one statement", [](Database& database) { return database.Run(kEndThisSession, nullptr); }},
      {"several statements",
       [](Database& database) {
         return database.Run(absl::StrCat("SELECT 1; ", kEndThisSession), nullptr);
       }},
      {"a statement that is prepared now",
       [](Database& database) {
         return database.RunPrepared("", EndingStatement(true, 1), nullptr);
       }},
      {"a prepared statement",
       [](Database& database) {
         EXPECT_EQ(database.RunPrepared("", EndingStatement(false, 1), nullptr), absl::OkStatus());
         return database.RunPrepared("", EndingStatement(true, 1), nullptr);
       }},
      {"a short statement before its commit",
       [](Database& database) { return CommitOf(database, EndingStatement(true, 1)); }},
      {"the commit of a short statement",
       [](Database& database) { return CommitOf(database, LateEndingStatement(1)); }},
      {"a long statement before its commit",
       [](Database& database) { return CommitOf(database, EndingStatement(true, 40'000)); }},
      {"the commit of a long statement",
       [](Database& database) { return CommitOf(database, LateEndingStatement(40'000)); }},
      {"a statement that was sent",
       [](Database& database) {
         EXPECT_EQ(database.Send(EndingStatement(true, 1)), absl::OkStatus());
         return database.Receive(nullptr);
       }},
      {"an idle session",
       [](Database& database) {
         EXPECT_EQ(QueryOne(database, "SELECT 1"), "1");
         database.Shut();
         return database.Run("SELECT 1", nullptr);
       }},
  };
}

TEST(Leak, ABrokenConnectionLeavesNothingBehind) {
  const std::string url = DatabaseWithNotes();
  for (const LosingCall& losing : LosingCalls()) {
    const auto lose = [&](int times) {
      for (int i = 0; i < times; ++i) {
        auto database = ConnectOrDie(url);
        const absl::Status lost = losing.call(*database);
        EXPECT_EQ(lost.code(), absl::StatusCode::kUnavailable) << losing.name << ": " << lost;
        EXPECT_TRUE(database->broken()) << losing.name;
      }
      return mallinfo2().uordblks + mallinfo2().hblkhd;
    };
    const size_t before = lose(5);
    EXPECT_LE(lose(kLosses), before + kLosses * kBytesPerLossMax) << losing.name;
  }
}

}  // namespace
}  // namespace berth::placement
