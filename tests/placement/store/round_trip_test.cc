// How many round trips a call takes. The writer makes some of its calls under the ledger's lock.

#include <gtest/gtest.h>

#include <string>

#include "placement/store/database.h"
#include "tests/processes/cutting_proxy.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

Statement LengthOf(size_t size) {
  Statement statement;
  statement.Append("SELECT length(");
  statement.AppendValue(std::string(size, 'x'));
  statement.Append("::text)");
  return statement;
}

TEST(RoundTrips, AreAsFewAsTheyCanBe) {
  const std::string url = NewDatabase();
  const CuttingProxy proxy(url);
  auto database = ConnectOrDie(proxy.Through(url));
  int before = 0;
  const auto begin = [&](const std::string& sql) {
    EXPECT_EQ(database->Run(sql, nullptr), absl::OkStatus()) << sql;
    before = proxy.round_trips();
  };
  const auto trips = [&] { return proxy.round_trips() - before; };

  begin("SELECT 1");
  EXPECT_EQ(database->Run("SELECT 1", nullptr), absl::OkStatus());
  EXPECT_EQ(trips(), 1) << "one statement";

  begin("SELECT 1");
  EXPECT_EQ(database->Run("BEGIN; SELECT 1; COMMIT", nullptr), absl::OkStatus());
  EXPECT_EQ(trips(), 1) << "several statements";

  for (const char* name : {"a statement that is prepared now", "a prepared statement"}) {
    begin("SELECT 1");
    EXPECT_EQ(database->RunPrepared("SELECT 1; ", LengthOf(1), nullptr), absl::OkStatus());
    EXPECT_EQ(trips(), 1) << name << ", with another one before it";
  }
  begin("DEALLOCATE ALL; SELECT 1");
  EXPECT_FALSE(database->RunPrepared("", LengthOf(1), nullptr).ok());  // is forgotten
  for (const char* name : {"a statement that is prepared now", "a prepared statement"}) {
    begin("SELECT 1");
    EXPECT_EQ(database->RunPrepared("", LengthOf(1), nullptr), absl::OkStatus());
    EXPECT_EQ(trips(), 1) << name;
  }

  begin("BEGIN");
  EXPECT_EQ(database->RunAndCommit(LengthOf(1), nullptr), absl::OkStatus());
  EXPECT_EQ(trips(), 1) << "a short statement and its commit";

  begin("BEGIN");
  EXPECT_EQ(database->RunAndCommit(LengthOf(40'000), nullptr), absl::OkStatus());
  EXPECT_EQ(trips(), 2) << "a long statement and its commit";

  begin("SELECT 1");
  EXPECT_TRUE(database->HasPrepared(LengthOf(1)));
  EXPECT_EQ(database->Send(LengthOf(1)), absl::OkStatus());
  EXPECT_EQ(database->Receive(nullptr), absl::OkStatus());
  EXPECT_EQ(trips(), 1) << "a prepared statement that is sent";
}

}  // namespace
}  // namespace berth::placement
