#include "placement/ledger/self_check.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

struct Corruption {
  const char* sql;
  const char* finding;  // begins one of the findings
};

// One corrupted row is enough to make it shout, whatever the corruption.
constexpr Corruption kCorruptions[] = {
    {"UPDATE provider SET used[1] = 9, overcommitted = true WHERE name = 'host1'",
     "used is not what the consumers hold"},
    {"UPDATE consumer SET amount[1] = amount[1] + 1", "used is not what the consumers hold"},
    {"DELETE FROM consumer", "used is not what the consumers hold"},
    {"UPDATE provider SET overcommitted = true WHERE name = 'host2'",
     "flagged as over-committed without reason"},
    {"UPDATE provider SET capacity[1] = capacity[1] + 1 WHERE name = 'host2'",
     "capacity is not what total, reserved and ratio give"},
    {"UPDATE provider SET total = total || 1 WHERE name = 'host2'",
     "the arrays of a provider do not match"},
    {"UPDATE provider SET parent = gen_random_uuid() WHERE name = 'host2'", "no such parent"},
    {"UPDATE provider SET parent = id WHERE name = 'host2'", "not below any root"},
    {"UPDATE provider SET trait = '{777}' WHERE name = 'host2'", "no such trait"},
    {"DELETE FROM resource_class WHERE name = 'VCPU'", "no such resource class"},
    {"UPDATE consumer SET class[1] = 777", "used is not what the consumers hold"},
    {"UPDATE consumer SET amount = amount || 1", "a consumer without allocations, or with arrays"},
    {"UPDATE provider SET name = 'other' WHERE name = 'host2'", "a provider only in the tables"},
    {"UPDATE provider SET generation = generation + 1 WHERE name = 'host2'",
     "a provider only in memory"},
    {"UPDATE provider SET updated_at = updated_at + interval '1 us' WHERE name = 'host2'",
     "a provider only in memory"},
    {"UPDATE provider SET ratio[1] = ratio[1] + 1e-15 WHERE name = 'host2'",
     "an inventory only in the tables"},
    {"UPDATE consumer SET project = 'other'", "a consumer only in the tables"},
    {"UPDATE consumer SET lease_expires_at = now()", "a consumer only in the tables"},
    {"INSERT INTO trait VALUES (900, 'CUSTOM_X')", "a name only in the tables"},
    {"INSERT INTO trait VALUES (900, 'CUSTOM_X')", "an id that was not given yet"},
    {"DELETE FROM service", "a service only in memory"},
    {"UPDATE service SET zone = zone || 'x'", "a service only in the tables"},
    {"UPDATE service SET forced_down = NOT forced_down", "a service only in the tables"},
    {"DELETE FROM record WHERE kind = 1", "a migration of an instance that has no record"},
    {"DELETE FROM record WHERE kind = 1", "an instance only in memory"},
    {"UPDATE record SET content = '\\xff' WHERE kind = 1", "an instance only in the tables"},
    {"UPDATE record SET content = content || '\\x8a0101' WHERE kind = 1",  // updated_at_us
     "an instance only in memory"},
    {"UPDATE record SET content = content || '\\x4a0178' WHERE kind = 1",  // task_state
     "an instance only in the tables"},
    {"UPDATE record SET content = content || '\\x2a0178' WHERE kind = 2",  // status
     "a migration only in the tables"},
    {"UPDATE record SET content = content || '\\x720178' WHERE kind = 2",  // body
     "a migration only in the tables"},
    {"DELETE FROM record WHERE kind = 2", "a migration only in memory"},
    {"DELETE FROM record WHERE kind = 4", "an aggregate only in memory"},
    {"UPDATE record SET content = content || '\\x1a0178' WHERE kind = 4",  // name
     "an aggregate only in the tables"},
    {"UPDATE record SET content = content || '\\x22060a016b120176' WHERE kind = 4",  // an entry
     "an aggregate only in the tables"},
    {"DELETE FROM log WHERE revision = 3", "the log has a gap"},
    {"UPDATE log SET previous_batch_id = gen_random_uuid() WHERE revision = 4",
     "the log has a gap"},
    {"UPDATE epoch SET began_at = 2", "an epoch that the table of epochs has otherwise"},
};

// Runs `statement` for each table of the ledger, whose name it has as %I.
std::string ForEachTable(const std::string& statement) {
  return absl::StrCat(
      "DO $$ DECLARE name text; BEGIN "
      "FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP EXECUTE "
      "format('",
      statement, "', name); END LOOP; END $$");
}

TEST(SelfCheck, ShoutsAboutOneCorruptedRow) {
  const std::string url = NewDatabase();
  LedgerRunner runner(OptionsFor(url), false);
  MakeProviders(runner, 2, 8, 1024);
  runner.Must(Claim(1, {1}, 2));
  runner.Must(RegisterService{"host1", "berth-tracker", Uuid{1, 1}, "machine", "1", Uuid{1, 2}});
  InstanceRecord instance;
  instance.project = instance.user = instance.vm_state = "any";
  runner.Must(SetInstance{instance, std::nullopt});
  MigrationRecord migration;
  migration.id = MigrationId{Uuid{12, 1}};
  migration.source_host = "host1";
  runner.Must(CreateMigration{migration});
  Aggregate aggregate;
  aggregate.name = "rack";
  aggregate.metadata = {{"ssd", "true"}, {"zone", ""}};
  runner.Must(SetAggregate{aggregate, std::nullopt});
  const auto database = ConnectOrDie(url);
  ASSERT_EQ(database->Run("CREATE SCHEMA kept", nullptr), absl::OkStatus());
  ASSERT_EQ(database->Run(ForEachTable("CREATE TABLE kept.%1$I AS TABLE %1$I"), nullptr),
            absl::OkStatus());
  for (const Corruption& corruption : kCorruptions) {
    ExpectCleanSelfCheck(runner, url);
    ASSERT_EQ(database->Run(corruption.sql, nullptr), absl::OkStatus());
    const absl::StatusOr<SelfCheckReport> report = SelfCheck(runner.ledger(), url);
    ASSERT_TRUE(report.ok()) << report.status();
    bool found = false;
    for (const std::string& finding : report->findings) {
      found |= absl::StartsWith(finding, corruption.finding);
    }
    EXPECT_TRUE(found) << corruption.sql << " did not give: " << corruption.finding << "; but "
                       << testing::PrintToString(report->findings);
    ASSERT_EQ(database->Run(ForEachTable("DELETE FROM %1$I"), nullptr), absl::OkStatus());
    ASSERT_EQ(database->Run(ForEachTable("INSERT INTO %1$I TABLE kept.%1$I"), nullptr),
              absl::OkStatus());
  }
}

// An operator reads the findings, and one answer may list a hundred.
TEST(SelfCheck, AFindingAboutALargeRecordIsShort) {
  const std::string url = NewDatabase();
  LedgerRunner runner(OptionsFor(url), false);
  InstanceRecord instance;
  instance.project = instance.user = instance.vm_state = "any";
  // One field that no release knows, with 60,000 bytes.
  instance.body = absl::StrCat("\xc2\x0c\xe0\xd4\x03", std::string(60'000, 'x'));
  runner.Must(SetInstance{instance, std::nullopt});
  ExpectCleanSelfCheck(runner, url);
  ASSERT_EQ(ConnectOrDie(url)->Run("UPDATE record SET content = content || '\\xaa010178'", nullptr),
            absl::OkStatus());
  const absl::StatusOr<SelfCheckReport> report = SelfCheck(runner.ledger(), url);
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->findings.size(), 2U);
  for (const std::string& finding : report->findings) EXPECT_LT(finding.size(), 500U) << finding;
}

TEST(SelfCheck, IsCleanWhileClaimsAreTaken) {
  const std::string url = NewDatabase();
  LedgerRunner runner(OptionsFor(url));
  MakeProviders(runner, 3, 100'000, 1024);
  std::atomic<bool> ending{false};
  std::thread claims([&] {
    for (int i = 1; !ending; ++i) runner.Must(Claim(i, {1 + i % 3}, 1));
  });
  for (int i = 0; i < 10; ++i) ExpectCleanSelfCheck(runner, url);
  ending = true;
  claims.join();
  const absl::StatusOr<SelfCheckReport> report = SelfCheck(runner.ledger(), url);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->providers, 3);
  EXPECT_EQ(report->consumers, runner.ledger().Newest()->consumers().size());
  EXPECT_EQ(report->revision, runner.ledger().Newest()->position().revision);
  EXPECT_GT(report->log_rows, 0);
}

}  // namespace
}  // namespace berth::placement
