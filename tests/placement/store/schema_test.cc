#include "placement/store/schema.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "placement/store/rows.h"
#include "tests/processes/cutting_proxy.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

// A database without any of our tables.
std::string BareDatabase(const std::string& name) {
  CreateDatabase(PrivateCluster(), name);
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

// As after the first run of roles.sql, when nobody has done the steps; and as after a start with
// another owner, whose tables nobody was granted.
TEST(Schema, SaysWhatARoleMayNotDo) {
  const std::string url = BareDatabase("roles");
  auto owner = ConnectOrDie(url);
  // Before PostgreSQL 15 everybody may create tables.
  ASSERT_EQ(owner->Run("CREATE ROLE plain; REVOKE CREATE ON SCHEMA public FROM PUBLIC", nullptr),
            absl::OkStatus());
  auto plain = ConnectOrDie(url);
  ASSERT_EQ(plain->Run("SET ROLE plain", nullptr), absl::OkStatus());
  const absl::Status no_steps = BringUpToDate(*plain);
  EXPECT_EQ(SqlStateOf(no_steps), "42501");
  for (const std::string& text :
       {absl::StrCat("has schema 0, and this release needs schema ", SchemaSteps().back().version),
        std::string("start placement once as the role that owns"), std::string("denied")}) {
    EXPECT_TRUE(absl::StrContains(no_steps.message(), text)) << no_steps;
  }
  ASSERT_EQ(BringUpToDate(*owner), absl::OkStatus());
  const absl::Status unread = BringUpToDate(*plain);
  EXPECT_EQ(SqlStateOf(unread), "42501");
  EXPECT_TRUE(absl::StrContains(unread.message(), "may not read placement's tables")) << unread;
  ASSERT_EQ(owner->Run("GRANT SELECT ON ledger_schema TO plain", nullptr), absl::OkStatus());
  EXPECT_EQ(BringUpToDate(*plain), absl::OkStatus());  // nothing is left to be done
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

// The ledger's lock is held while the steps are done.
TEST(Schema, AStepIsDoneAndNotedInOneRoundTrip) {
  const std::string url = NewDatabase();
  const CuttingProxy proxy(url);
  auto database = ConnectOrDie(proxy.Through(url));
  std::vector<SchemaStep> later = SchemaSteps();
  // Adds `count` steps. Returns the round trips that they take.
  const auto trips_of = [&](int count) {
    for (int i = 0; i < count; ++i) {
      later.push_back({later.back().version + 1, "made_up", "SELECT 1"});
    }
    const int before = proxy.round_trips();
    EXPECT_EQ(BringUpToDate(*database, later), absl::OkStatus());
    return proxy.round_trips() - before;
  };
  const int one = trips_of(1);
  EXPECT_EQ(trips_of(4), one + 3);
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

// Calls rotate_requests at `at`, for ids that are kept for `kept_hours`. Returns what was not done.
std::string Undone(Database& database, const std::string& at, int kept_hours) {
  return QueryOne(database,
                  absl::StrCat("SELECT rotate_requests(micros_of('", at, "'), ", kept_hours, ")"));
}
void Rotate(Database& database, const std::string& at, int kept_hours) {
  EXPECT_EQ(Undone(database, at, kept_hours), "");
}

std::string Partitions(Database& database) {
  return QueryOne(
      database,
      "SELECT string_agg(substr(inhrelid::regclass::text, 9), ' ' ORDER BY "
      "inhrelid::regclass::text) FROM pg_inherits WHERE inhparent = 'request'::regclass");
}

TEST(Schema, RequestPartitionsComeAndGo) {
  auto database = ConnectOrDie(NewDatabase());
  Rotate(*database, "2026-01-02 10:30+00", 24);
  EXPECT_EQ(Partitions(*database), "2026010210_2026010222 default");
  Rotate(*database, "2026-01-02 20:59+00", 24);
  EXPECT_EQ(Partitions(*database), "2026010210_2026010222 default");
  // The next one is made an hour before it is needed.
  Rotate(*database, "2026-01-02 21:00+00", 24);
  EXPECT_EQ(Partitions(*database), "2026010210_2026010222 2026010222_2026010310 default");
  Rotate(*database, "2026-01-03 09:00+00", 24);
  Rotate(*database, "2026-01-03 21:00+00", 24);
  EXPECT_EQ(Partitions(*database),
            "2026010210_2026010222 2026010222_2026010310 2026010310_2026010322 "
            "2026010322_2026010410 default");
  // Every id of the first one is older than a day now.
  Rotate(*database, "2026-01-03 22:00+00", 24);
  EXPECT_EQ(Partitions(*database),
            "2026010222_2026010310 2026010310_2026010322 2026010322_2026010410 default");
  // With another setting the partitions that exist stay as they are.
  Rotate(*database, "2026-01-04 09:30+00", 4);
  EXPECT_EQ(Partitions(*database), "2026010322_2026010410 2026010410_2026010412 default");
  // Rows are only added to a partition, and the partition is dropped: there is nothing to vacuum.
  EXPECT_EQ(QueryOne(*database,
                     "SELECT count(*) FROM pg_class WHERE relname ~ '^request_[0-9_]+$' AND "
                     "reloptions = '{autovacuum_enabled=false}'"),
            "2");
}

TEST(Schema, ARequestPartitionThatCannotBeMadeComesLater) {
  const std::string url = NewDatabase();
  auto database = ConnectOrDie(url);
  auto backup = ConnectOrDie(url);
  ASSERT_TRUE(backup->Run("BEGIN; LOCK TABLE request IN ACCESS SHARE MODE", nullptr).ok());
  const std::string undone = Undone(*database, "2026-01-02 10:30+00", 24);
  EXPECT_TRUE(absl::StrContains(undone, "no partition begins at 2026-01-02 10:00")) << undone;
  EXPECT_TRUE(absl::StrContains(undone, "no partition begins at 2026-01-02 11:00")) << undone;
  EXPECT_TRUE(absl::StrContains(undone, "lock timeout")) << undone;
  EXPECT_EQ(Partitions(*database), "default");
  const auto insert = [&](const std::string& at) {
    return database->Run(
        absl::StrCat("INSERT INTO request VALUES ('a', '", at, "', '", at, "', '', '')"), nullptr);
  };
  EXPECT_EQ(insert("2026-01-02 10:40+00"), absl::OkStatus());
  ASSERT_TRUE(backup->Run("ROLLBACK", nullptr).ok());
  // The rest of this hour stays in the default partition, where a row of it is already.
  const std::string rest = Undone(*database, "2026-01-02 10:50+00", 24);
  EXPECT_TRUE(absl::StrContains(rest, "no partition begins at 2026-01-02 10:00")) << rest;
  EXPECT_EQ(Partitions(*database), "2026010211_2026010223 default");
  Rotate(*database, "2026-01-03 11:00+00", 24);
  EXPECT_EQ(QueryOne(*database, "SELECT count(*) FROM request"), "0");
}

// How many partitions, and how many pages, PostgreSQL touches to look up 256 ids that are not there,
// where ids have come for longer than they are kept.
struct LookUpCost {
  int64_t partitions = 0;
  int64_t pages = 0;
};
LookUpCost CostOfLookUp(int kept_hours) {
  auto database = ConnectOrDie(NewDatabase());
  const std::string begin = "timestamptz '2026-01-01 00:00+00' + h * interval '1 hour'";
  EXPECT_EQ(
      database->Run(absl::StrCat("DO $$ BEGIN FOR h IN 0 .. ", 2 * kept_hours, " LOOP ",
                                 "PERFORM rotate_requests(micros_of(", begin, "), ", kept_hours,
                                 "); ", "INSERT INTO request SELECT 'a', gen_random_uuid()::text, ",
                                 begin, ", '', '' FROM generate_series(1, ", 24'000 / kept_hours,
                                 "); ", "END LOOP; END $$; ", WriterSettingsSql()),
                    nullptr),
      absl::OkStatus());
  const std::string find =
      "SELECT body_hash FROM find_requests(array_fill('a'::text, '{256}'), "
      "ARRAY(SELECT gen_random_uuid()::text FROM generate_series(1, 256)))";
  LookUpCost cost;
  // The plan is made at the first call, and pages of the catalog are read for it.
  EXPECT_EQ(database->Run(find, nullptr), absl::OkStatus());
  QueryRows plan;
  EXPECT_EQ(database->Run(absl::StrCat("BEGIN; EXPLAIN (ANALYZE, BUFFERS) ", find), &plan),
            absl::OkStatus());
  for (int row = 0; row < plan.size() && cost.pages == 0; ++row) {
    const std::string line(plan.Text(row, 0));
    for (const char* kind : {"hit=", "read="}) {
      const size_t at = line.find(kind);
      if (at != std::string::npos) cost.pages += std::atoll(line.c_str() + at + strlen(kind));
    }
  }
  cost.partitions = std::stoll(QueryOne(
      *database,
      "SELECT count(*) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation WHERE l.pid = "
      "pg_backend_pid() AND c.relkind = 'r' AND c.relname ~ '^request_'"));
  return cost;
}

TEST(Schema, ALookUpCostsTheSameHoweverLongIdsAreKept) {
  const LookUpCost day = CostOfLookUp(24);
  EXPECT_LE(day.partitions, 5);
  // A descent of each index, root and leaf, for each id.
  EXPECT_LE(day.pages, 256 * 5 * 3);
  for (const int kept_hours : {6, 48, 168}) {
    const LookUpCost other = CostOfLookUp(kept_hours);
    EXPECT_EQ(other.partitions, day.partitions) << kept_hours;
    EXPECT_LE(other.pages, day.pages * 11 / 10) << kept_hours;
  }
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
