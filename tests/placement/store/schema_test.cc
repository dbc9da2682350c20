#include "placement/store/schema.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

// A database without any of our tables.
std::string BareDatabase(const std::string& name) {
  EXPECT_TRUE(PrivateCluster().CreateDatabase(name).ok());
  return PrivateCluster().Url(name);
}

TEST(Schema, StepsAreNumberedFromOne) {
  int expected = 1;
  for (const SchemaStep& step : SchemaSteps()) {
    EXPECT_EQ(step.version, expected++);
    EXPECT_FALSE(step.sql.empty());
  }
}

TEST(Schema, SetsUpAnEmptyDatabaseOnce) {
  auto database = ConnectOrDie(BareDatabase("bare"));
  ASSERT_EQ(BringUpToDate(*database), absl::OkStatus());
  ASSERT_EQ(BringUpToDate(*database), absl::OkStatus());
  EXPECT_EQ(QueryOne(*database, "SELECT count(*) FROM ledger_schema"),
            absl::StrCat(SchemaSteps().size()));
}

TEST(Schema, ManyAtOnceDoEachStepOnce) {
  const std::string url = BareDatabase("race");
  std::vector<absl::Status> statuses(4);
  std::vector<std::thread> threads;
  for (absl::Status& status : statuses) {
    threads.emplace_back([&] { status = BringUpToDate(*ConnectOrDie(url)); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& status : statuses) EXPECT_EQ(status, absl::OkStatus());
}

TEST(Schema, RefusesANewerOne) {
  auto database = ConnectOrDie(NewDatabase());
  ASSERT_TRUE(
      database->Run("INSERT INTO ledger_schema (version, name) VALUES (9999, 'future')", nullptr)
          .ok());
  const absl::Status status = BringUpToDate(*database);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_EQ(QueryOne(*database, "SELECT 1"), "1");  // and leaves no transaction open
}

// A later release adds steps to a database that is in use.
TEST(Schema, ALaterStepChangesADatabaseWithRows) {
  auto database = ConnectOrDie(NewDatabase());
  ASSERT_EQ(database->Run("INSERT INTO trait (id, name) VALUES (7, 'CUSTOM_OLD')", nullptr),
            absl::OkStatus());
  std::vector<SchemaStep> later = SchemaSteps();
  const int next = later.back().version + 1;
  later.push_back({next, "made_up", "ALTER TABLE trait ADD COLUMN note text DEFAULT 'none'"});
  ASSERT_EQ(BringUpToDate(*database, later), absl::OkStatus());
  ASSERT_EQ(BringUpToDate(*database, later), absl::OkStatus());
  EXPECT_EQ(QueryOne(*database, "SELECT note FROM trait WHERE id = 7"), "none");
  EXPECT_EQ(QueryOne(*database, "SELECT name FROM ledger_schema ORDER BY version DESC LIMIT 1"),
            "made_up");
  // This release does not know that step.
  EXPECT_EQ(BringUpToDate(*database).code(), absl::StatusCode::kFailedPrecondition);
  // A step that fails leaves nothing behind, nor does the one before it.
  later.push_back({next + 1, "good", "CREATE TABLE good (x int)"});
  later.push_back({next + 2, "bad", "CREATE TABLE bad (x no_such_type)"});
  EXPECT_FALSE(BringUpToDate(*database, later).ok());
  EXPECT_EQ(QueryOne(*database, "SELECT to_regclass('good') IS NULL"), "t");
  EXPECT_EQ(QueryOne(*database, "SELECT max(version) FROM ledger_schema"), absl::StrCat(next));
}

// Each provider's use is within its capacity, at every place of the arrays, or it is flagged.
TEST(Schema, TheTableItselfRefusesTooMuchUse) {
  auto database = ConnectOrDie(NewDatabase());
  const auto insert = [&](const std::string& used, const std::string& capacity, bool flagged) {
    const std::string sql = absl::StrCat(
        "INSERT INTO provider SELECT gen_random_uuid(), gen_random_uuid()::text, NULL, 1, 1, "
        "array_fill(1, ARRAY[cardinality(u)]), '{}', '{}', '{}', '{}', '{}', '{}', c, u, ",
        flagged ? "true" : "false", ", '{}', '{}', now(), now() FROM (SELECT '", used,
        "'::bigint[] AS u, '", capacity, "'::bigint[] AS c) AS x");
    return SqlStateOf(database->Run(sql, nullptr));
  };
  EXPECT_EQ(insert("{}", "{}", false), "");
  EXPECT_EQ(insert("{1,2,3}", "{1,2,3}", false), "");
  EXPECT_EQ(insert("{1,2,4}", "{1,2,3}", false), "23514");
  EXPECT_EQ(insert("{1,2,4}", "{1,2,3}", true), "");
  EXPECT_EQ(insert("{1,2,3}", "{1,2}", false), "23514");
  for (int place = 0; place < 10; ++place) {
    std::string used = "{";
    for (int i = 0; i < 10; ++i) absl::StrAppend(&used, i == 0 ? "" : ",", i == place ? 6 : 5);
    absl::StrAppend(&used, "}");
    EXPECT_EQ(insert(used, "{5,5,5,5,5,5,5,5,5,5}", false), "23514") << place;
    EXPECT_EQ(insert(used, "{6,6,6,6,6,6,6,6,6,6}", false), "") << place;
  }
}

// Statistics that no plan asks for would be made on the claims' time.
TEST(Schema, TablesThatClaimsFillHaveLittleStatistics) {
  auto database = ConnectOrDie(NewDatabase());
  EXPECT_EQ(
      QueryOne(*database,
               "SELECT string_agg(DISTINCT attrelid::regclass || ' ' || attstattarget || ' ' "
               "|| (t.typcategory = 'A'), ', ') FROM pg_attribute a JOIN pg_type t ON t.oid = "
               "a.atttypid WHERE attrelid IN ('log'::regclass, 'provider'::regclass, "
               "'consumer'::regclass) AND attnum > 0"),
      "consumer 0 true, consumer 10 false, log 10 false, provider 0 true, "
      "provider 10 false");
}

TEST(Schema, RequestPartitionsComeAndGo) {
  auto database = ConnectOrDie(NewDatabase());
  const auto rotate = [&](const std::string& at) {
    return database->Run(absl::StrCat("SELECT rotate_requests(micros_of('", at, "'), 24)"),
                         nullptr);
  };
  const auto partitions = [&] {
    return QueryOne(*database,
                    "SELECT string_agg(inhrelid::regclass::text, ' ' ORDER BY "
                    "inhrelid::regclass::text) FROM pg_inherits "
                    "WHERE inhparent = 'request'::regclass");
  };
  ASSERT_EQ(rotate("2026-01-02 10:30+00"), absl::OkStatus());
  EXPECT_EQ(partitions(), "request_2026010210 request_2026010211 request_default");
  ASSERT_EQ(rotate("2026-01-02 11:01+00"), absl::OkStatus());
  EXPECT_EQ(partitions(),
            "request_2026010210 request_2026010211 request_2026010212 request_default");
  ASSERT_EQ(rotate("2026-01-03 11:59+00"), absl::OkStatus());
  EXPECT_EQ(partitions(),
            "request_2026010211 request_2026010212 request_2026010311 request_2026010312 "
            "request_default");
  // Only added to, and gone after a day.
  EXPECT_EQ(QueryOne(*database,
                     "SELECT count(*) FROM pg_class WHERE relname ~ '^request_[0-9]+$' AND "
                     "reloptions = '{autovacuum_enabled=false}'"),
            "4");
}

TEST(Schema, MicrosecondsSurviveTheTrip) {
  auto database = ConnectOrDie(NewDatabase());
  for (const char* micros : {"0", "1", "1763632672123457", "4102444800999999"}) {
    EXPECT_EQ(QueryOne(*database, absl::StrCat("SELECT micros_of(at_micros(", micros, "))")),
              micros);
  }
}

}  // namespace
}  // namespace berth::placement
