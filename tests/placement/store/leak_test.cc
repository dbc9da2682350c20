// The memory that is left behind when a connection breaks during a call.
//
// libpqxx 6.4 never frees a result that it gets because the connection broke while it waited: more
// than two KiB each. The address sanitizer has an allocator of its own: its leak check counts the
// memory when the program ends. Under the thread sanitizer nothing counts it.

#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
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

// Another thread shuts the connection while a statement runs.
absl::Status RunAndShut(Database& database) {
  std::atomic<bool> ended{false};
  std::thread shutting([&] {
    while (!ended) {
      database.ShutIfSlow(absl::Milliseconds(10));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  absl::Status status = database.Run("SELECT pg_sleep(10)", nullptr);
  ended = true;
  shutting.join();
  return status;
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
      {"a statement that is shut while it runs", RunAndShut},
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
        absl::string_view why = lost.message();
        EXPECT_TRUE(absl::ConsumePrefix(&why, "lost the connection to the database: "))
            << losing.name << ": " << lost;
        EXPECT_TRUE(absl::StrContains(why, "connection")) << losing.name << ": " << lost;
      }
      return mallinfo2().uordblks + mallinfo2().hblkhd;
    };
    const size_t before = lose(5);
    EXPECT_LE(lose(kLosses), before + kLosses * kBytesPerLossMax) << losing.name;
  }
}

}  // namespace
}  // namespace berth::placement
