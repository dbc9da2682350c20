// Statements that are sent without waiting for the answer.

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "placement/store/database.h"
#include "tests/processes/cutting_proxy.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

Statement SleepUntilUnlocked(int number) {
  Statement statement;
  statement.Append("SELECT pg_advisory_xact_lock(1), ");
  statement.AppendValue(absl::StrCat(number));
  statement.Append("::int AS number");
  return statement;
}

// What is sent runs while the caller does something else.
TEST(SentStatement, IsSentWithoutWaiting) {
  const std::string url = NewDatabase();
  auto database = ConnectOrDie(url);
  auto other = ConnectOrDie(url);
  const int event = eventfd(0, EFD_CLOEXEC);
  for (const int number : {7, 8}) {
    EXPECT_TRUE(database->Silent());
    ASSERT_TRUE(other->Run("BEGIN; SELECT pg_advisory_xact_lock(1)", nullptr).ok());
    ASSERT_EQ(database->Send(SleepUntilUnlocked(number)), absl::OkStatus());
    EXPECT_FALSE(database->AwaitAnswer(event, absl::ZeroDuration()));
    eventfd_write(event, 1);
    EXPECT_FALSE(database->AwaitAnswer(event, absl::Minutes(1)));
    eventfd_t count = 0;
    eventfd_read(event, &count);
    ASSERT_TRUE(other->Run("COMMIT", nullptr).ok());
    EXPECT_TRUE(database->AwaitAnswer(event, absl::Minutes(1)));
    QueryRows rows;
    ASSERT_EQ(database->Receive(&rows), absl::OkStatus());
    EXPECT_EQ(rows.Int(0, 1), number);
  }
  close(event);
}

// Whatever may have been committed is unknown; what PostgreSQL refuses is not done.
TEST(SentStatement, WhatIsSentFailsLikeACommit) {
  const std::string url = NewDatabase();
  auto database = ConnectOrDie(url);
  auto other = ConnectOrDie(url);
  ASSERT_TRUE(
      database->Run("CREATE TABLE note (number int UNIQUE DEFERRABLE INITIALLY DEFERRED)", nullptr)
          .ok());
  Statement statement;
  statement.Append("INSERT INTO note VALUES (");
  statement.AppendValue("7");
  statement.Append("), (7)");
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(database->Send(statement), absl::OkStatus());
    const absl::Status refused = database->Receive(nullptr);  // by the commit alone
    EXPECT_EQ(refused.code(), absl::StatusCode::kInternal);
    EXPECT_EQ(SqlStateOf(refused), "23505");
    EXPECT_EQ(QueryOne(*database, "SELECT count(*) FROM note"), "0");
  }
  const std::string pid = QueryOne(*database, "SELECT pg_backend_pid()");
  ASSERT_TRUE(other->Run("BEGIN; SELECT pg_advisory_xact_lock(1)", nullptr).ok());
  ASSERT_EQ(database->Send(SleepUntilUnlocked(7)), absl::OkStatus());
  ASSERT_EQ(QueryOne(*other, absl::StrCat("SELECT pg_terminate_backend(", pid, ", 5000)")), "t");
  EXPECT_TRUE(database->AwaitAnswer(-1, absl::Minutes(1)));
  EXPECT_EQ(database->Receive(nullptr).code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(database->Silent());
  EXPECT_EQ(database->Send(SleepUntilUnlocked(7)).code(), absl::StatusCode::kUnavailable);
}

// The server reads nothing any more, and the message is longer than what the socket holds. The call
// ends when another thread shuts the socket.
TEST(SentStatement, AMessageThatTheServerDoesNotReadIsGivenUp) {
  const std::string url = NewDatabase();
  CuttingProxy proxy(url);
  auto database = ConnectOrDie(proxy.Through(url));
  const auto length_of = [](size_t size) {
    Statement statement;
    statement.Append("SELECT length(");
    statement.AppendValue(std::string(size, 'x'));
    statement.Append("::text)");
    return statement;
  };
  QueryRows rows;
  ASSERT_EQ(database->Send(length_of(3)), absl::OkStatus());
  ASSERT_EQ(database->Receive(&rows), absl::OkStatus());
  EXPECT_EQ(rows.Int(0, 0), 3);
  proxy.Hold(true);
  std::atomic<bool> ended{false};
  absl::Status status;
  std::thread caller([&] {
    status = database->Send(length_of(size_t{16} << 20));
    if (status.ok()) status = database->Receive(nullptr);
    ended = true;
  });
  while (!ended) {
    database->ShutIfSlow(absl::Milliseconds(100));
    std::this_thread::yield();
  }
  caller.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
}

// The row came back, but nothing is committed while a transaction is open.
TEST(SentStatement, IsNotCommittedInAnOpenTransaction) {
  auto database = ConnectOrDie(NewDatabase());
  ASSERT_TRUE(database->Run("BEGIN", nullptr).ok());
  Statement statement;
  statement.Append("SELECT ");
  statement.AppendValue("7");
  statement.Append("::int");
  ASSERT_EQ(database->Send(statement), absl::OkStatus());
  EXPECT_EQ(database->Receive(nullptr).code(), absl::StatusCode::kUnavailable);
}

// A session that ends while nothing runs is heard of before the next call.
TEST(SentStatement, AnEndedSessionIsNotSilent) {
  const std::string url = NewDatabase();
  auto database = ConnectOrDie(url);
  const std::string pid = QueryOne(*database, "SELECT pg_backend_pid()");
  EXPECT_TRUE(database->Silent());
  ASSERT_EQ(
      QueryOne(*ConnectOrDie(url), absl::StrCat("SELECT pg_terminate_backend(", pid, ", 5000)")),
      "t");
  EXPECT_FALSE(database->Silent());
}

}  // namespace
}  // namespace berth::placement
