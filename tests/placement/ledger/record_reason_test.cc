// The log keeps the reason that a caller gives for the write of a record.

#include <gtest/gtest.h>

#include <string>

#include "placement/log/codec.h"
#include "placement/store/rows.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

// The reason in the newest row of the log.
std::string NewestReason(const std::string& url) {
  auto database = ConnectOrDie(url);
  const auto head = ReadHead(*database);
  const auto rows = ReadLog(*database, (*head)->position.revision.number - 1, 2);
  return DecodeBatch(rows->back().payload)->at(0).reason;
}

TEST(LedgerRecordReason, IsKeptInTheLog) {
  const std::string url = NewDatabase();
  LedgerRunner runner(OptionsFor(url), false);
  InstanceRecord instance;
  instance.project = instance.user = "any";
  instance.vm_state = "error";
  runner.Must(SetInstance{instance, std::nullopt, {}, "its disk is lost"});
  EXPECT_EQ(NewestReason(url), "its disk is lost");
  MigrationRecord migration;
  migration.id.uuid.low = 1;
  migration.source_host = "host1";
  runner.Must(CreateMigration{migration, {}, "the host is lost"});
  EXPECT_EQ(NewestReason(url), "the host is lost");
  runner.Must(UpdateMigration{migration.id, "accepted", "running", {}, {}});
  EXPECT_EQ(NewestReason(url), "");
  runner.Must(UpdateMigration{migration.id, "running", "queued", {}, {}, {}, "the host is gone"});
  EXPECT_EQ(NewestReason(url), "the host is gone");
  EndMove end;
  end.migration = migration.id;
  end.end = MoveEnd::kFailed;
  end.expected_generation =
      runner.ledger().Newest()->records().FindMigration(migration.id)->generation;
  end.expected_instance_generation =
      runner.ledger().Newest()->records().FindInstance(instance.id)->generation;
  end.reason = "the host does not come back";
  runner.Must(end);
  EXPECT_EQ(NewestReason(url), "the host does not come back");
  runner.Must(DeleteInstance{instance.id, std::nullopt, "nobody wants it"});
  EXPECT_EQ(NewestReason(url), "nobody wants it");
}

}  // namespace
}  // namespace berth::placement
