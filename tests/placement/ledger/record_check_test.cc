// Records whose stored bytes are broken are told by their uuids, and are whole after the next write.
#include "placement/ledger/record_check.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "berth/placement/v1/aggregate.pb.h"
#include "berth/placement/v1/record.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "placement/ledger/self_check.h"
#include "placement/records/aggregate_message.h"
#include "placement/records/message.h"
#include "tests/placement/records/filled_message.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const InstanceId kGuest = {Uuid{11, 1}};
const MigrationId kMove = {Uuid{12, 1}};
const AggregateId kRack = {Uuid{14, 1}};

InstanceRecord Guest() {
  InstanceRecord record;
  record.id = kGuest;
  record.project = record.user = record.vm_state = "any";
  record.host = "h1";
  return record;
}

Aggregate Rack() {
  Aggregate aggregate;
  aggregate.id = kRack;
  aggregate.name = "rack";
  aggregate.metadata = {{"ssd", "true"}, {"zone", "a"}, {"empty", ""}};
  return aggregate;
}

void MakeRecords(LedgerRunner& runner) {
  runner.Must(SetAggregate{Rack(), std::nullopt});
  runner.Must(SetInstance{Guest(), std::nullopt});
  MigrationRecord migration;
  migration.id = kMove;
  migration.instance = kGuest;
  migration.source_host = "h1";
  runner.Must(CreateMigration{migration});
}

// The findings of the self-check about records.
std::vector<std::string> Findings(LedgerRunner& runner, const std::string& url) {
  const absl::StatusOr<SelfCheckReport> report = SelfCheck(runner.ledger(), url);
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? report->findings : std::vector<std::string>();
}

TEST(RecordCheck, ABrokenRecordIsToldAndReadableAfterTheNextWrite) {
  const std::string url = NewDatabase();
  {
    LedgerRunner runner(OptionsFor(url), false);
    MakeRecords(runner);
  }
  ASSERT_EQ(ConnectOrDie(url)->Run("UPDATE record SET content = '\\xff'", nullptr),
            absl::OkStatus());
  LedgerRunner runner(OptionsFor(url), false);
  EXPECT_THAT(runner.told(), HasSubstr(absl::StrCat("the record of instance ", kGuest.ToString(),
                                                    " cannot be read")));
  EXPECT_THAT(runner.told(), HasSubstr(absl::StrCat("the record of migration ", kMove.ToString(),
                                                    " cannot be read")));
  EXPECT_THAT(runner.told(), HasSubstr(absl::StrCat("the record of aggregate ", kRack.ToString(),
                                                    " cannot be read")));
  EXPECT_THAT(absl::StrCat(testing::PrintToString(Findings(runner, url))),
              HasSubstr(absl::StrCat("instance ", kGuest.ToString(), " cannot be read")));
  const Records& records = runner.ledger().Newest()->records();
  EXPECT_EQ(records.FindInstance(kGuest)->vm_state, kUnreadable);
  EXPECT_EQ(records.FindMigration(kMove)->status, kUnreadable);
  const AggregatePtr rack = runner.ledger().Newest()->aggregates().Find(kRack);
  EXPECT_EQ(rack->name, "");
  runner.Must(SetInstance{Guest(), records.FindInstance(kGuest)->generation});
  runner.Must(SetAggregate{Rack(), rack->generation});
  runner.Must(UpdateMigration{kMove, std::string(kUnreadable), "error", {}, {}});
  EXPECT_THAT(Findings(runner, url), IsEmpty());
  LedgerRunner late(OptionsFor(url), false);
  EXPECT_EQ(late.ledger().Newest()->records().FindInstance(kGuest)->host, "h1");
  EXPECT_EQ(late.ledger().Newest()->records().FindMigration(kMove)->status, "error");
  EXPECT_EQ(late.ledger().Newest()->aggregates().FindByName("rack")->metadata, Rack().metadata);
}

TEST(RecordCheck, ContentOfAnotherRecordIsBroken) {
  const std::string url = NewDatabase();
  {
    LedgerRunner runner(OptionsFor(url), false);
    MakeRecords(runner);
  }
  ASSERT_EQ(ConnectOrDie(url)->Run("UPDATE record SET generation = generation + 1", nullptr),
            absl::OkStatus());
  LedgerRunner runner(OptionsFor(url), false);
  const Records& records = runner.ledger().Newest()->records();
  EXPECT_EQ(records.FindInstance(kGuest)->vm_state, kUnreadable);
  EXPECT_EQ(records.FindMigration(kMove)->status, kUnreadable);
  EXPECT_EQ(runner.ledger().Newest()->aggregates().Find(kRack)->name, "");
}

TEST(RecordCheck, ABodyAgreesWithItsIndex) {
  const auto fault_of = [](auto change) {
    InstanceRecord record = Guest();
    record.generation = Generation{1};
    record.body = "\x52";  // an empty flavor
    record.body += '\0';
    change(record);
    State state;
    state.Apply({InstancePut{std::make_shared<const InstanceRecord>(std::move(record))}});
    const std::vector<std::string> faults = FaultyRecords(state);
    return faults.empty() ? "" : faults[0];
  };
  EXPECT_EQ(fault_of([](InstanceRecord&) {}), "");
  EXPECT_THAT(fault_of([](InstanceRecord& r) { r.body = "\xff"; }), HasSubstr("cannot be read"));
  EXPECT_THAT(fault_of([](InstanceRecord& r) { r.body += "\x32\x01h"; }),  // a host
              HasSubstr("has a field of its index in its body"));
  EXPECT_THAT(fault_of([](InstanceRecord& r) { r.body = "\x52\x02\x10\x01"; }),  // vcpus
              HasSubstr("has a field of its index in its body"));
  EXPECT_THAT(fault_of([](InstanceRecord& r) { r.body += "\x8a\x01\x03\x0a\x01z"; }),  // a device
              HasSubstr("other CPUs, devices or units"));
  // To protobuf, fields of a wrong type are not there: a cell's number, and a context.
  const std::string cell("\x5a\x09\x09\xff\xff\xff\xff\xff\xff\xff\xff", 11);
  EXPECT_EQ(fault_of([&](InstanceRecord& r) { r.body += cell; }), "");
  EXPECT_EQ(fault_of([](InstanceRecord& r) { r.body += "\x68\x01"; }), "");
  EXPECT_THAT(fault_of([](InstanceRecord& r) {
                auto held = std::make_shared<HeldParts>();
                held->own = PartNames({"c0/1"});
                r.held = held;
              }),
              HasSubstr("other CPUs, devices or units"));
}

// With a value in every field of record.proto, so that no field is forgotten in the text.
TEST(RecordCheck, ARecordAndItsStoredBytesGiveTheSameText) {
  v1::Instance filled_instance;
  FillAll(&filled_instance);
  InstanceRecord instance = InstanceFrom(filled_instance);
  instance.generation = Generation{8};
  instance.created_at = instance.updated_at = absl::FromUnixMicros(8'000'001);
  instance.deleted_at = absl::FromUnixMicros(8'000'002);
  EXPECT_EQ(TextOf(instance), StoredInstanceText(StoredBytes(instance)));
  v1::Migration filled_migration;
  FillAll(&filled_migration);
  MigrationRecord migration = MigrationFrom(filled_migration);
  migration.generation = Generation{8};
  migration.created_at = migration.updated_at = absl::FromUnixMicros(8'000'001);
  EXPECT_EQ(TextOf(migration), StoredMigrationText(StoredBytes(migration)));
  v1::Aggregate filled_aggregate;
  FillAll(&filled_aggregate);
  filled_aggregate.set_uuid(kRack.ToString());
  Aggregate aggregate = *AggregateFrom(filled_aggregate);
  aggregate.generation = Generation{8};
  aggregate.metadata = Rack().metadata;
  aggregate.created_at = aggregate.updated_at = absl::FromUnixMicros(8'000'001);
  EXPECT_EQ(TextOf(aggregate), StoredAggregateText(StoredBytes(aggregate)));
}

// While releases change, one process may read and check what a newer one has written. It keeps the
// field, whatever it writes.
TEST(RecordCheck, AFieldOfANewerReleaseIsKeptAndNoFinding) {
  const std::string url = NewDatabase();
  {
    LedgerRunner runner(OptionsFor(url), false);
    MakeRecords(runner);
  }
  const std::unique_ptr<Database> database = ConnectOrDie(url);
  ASSERT_EQ(
      database->Run("UPDATE record SET content = '\\xa00601' || content WHERE kind < 3", nullptr),
      absl::OkStatus());
  LedgerRunner runner(OptionsFor(url), false);
  EXPECT_THAT(runner.told(), Not(HasSubstr("the record of")));
  EXPECT_THAT(Findings(runner, url), IsEmpty());
  runner.Must(UpdateMigration{kMove, "accepted", "error", {}, {}});
  EXPECT_EQ(
      QueryOne(*database, "SELECT count(*) FROM record WHERE position('\\xa00601' IN content) = 1"),
      "2");
  EXPECT_THAT(Findings(runner, url), IsEmpty());
}

}  // namespace
}  // namespace berth::placement
