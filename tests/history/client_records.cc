// What a client does to the records of instances and migrations.

#include "tests/history/client.h"

namespace berth::history {
namespace {

constexpr uint64_t kOwnInstances = 5;
constexpr uint64_t kContendedInstances = 2;
constexpr uint64_t kHosts = 4;
constexpr uint64_t kStates = 50;
constexpr uint16_t kSmallPage = 3;

}  // namespace

// Mostly one of this client's own instances. The same few numbers are used again and again, so that
// records are deleted and made anew.
uint64_t Client::AnyInstance() {
  if (Upto(4) == 0) return kInstanceBit | kContendedClient << 40 | Upto(kContendedInstances);
  return kInstanceBit | uint64_t{index_} << 40 | Upto(kOwnInstances);
}

Row Client::AnyState() {
  return {static_cast<uint16_t>(Upto(kHosts)), kStateClass,
          static_cast<int32_t>(1 + Upto(kStates))};
}

void Client::ActOnRecord() {
  const uint64_t instance = AnyInstance();
  const auto draw = static_cast<int>(Upto(10));
  if (draw < 3) return WriteRecord(Kind::kSetInstance, instance);
  if (draw < 4) return WriteRecord(Kind::kDeleteInstance, instance);
  const uint64_t migration = MigrationOf(instance, Upto(kMigrationsMax));
  if (draw < 6) return WriteRecord(Kind::kCreateMigration, migration);
  if (draw < 8) return WriteRecord(Kind::kUpdateMigration, migration);
  ListRecords(draw == 8 ? Kind::kListInstances : Kind::kListMigrations);
}

// Now and then with an old expectation, as if another client had decided it.
void Client::WriteRecord(Kind kind, uint64_t record) {
  const auto known = expected_.find(record);
  int64_t expected = known == expected_.end() ? kNew : known->second;
  if (Upto(12) == 0) expected = expected == kNew ? 1 : expected - 1;
  if (kind == Kind::kDeleteInstance && (expected == kNew || Upto(2) == 0)) expected = kAny;
  if (kind == Kind::kUpdateMigration && expected == kNew) expected = 1;
  Operation operation = New(kind);
  std::vector<Row> rows;
  if (kind != Kind::kDeleteInstance) rows.push_back(AnyState());
  if (IsMigration(record) && Upto(2) == 0) {
    rows.push_back({static_cast<uint16_t>(Upto(kHosts)), kDestinationClass, 0});
  }
  AddPart(&operation, record, expected, rows);
  Do(operation);
}

void Client::ListRecords(Kind kind) {
  Operation operation = New(kind);
  operation.provider = static_cast<uint16_t>(Upto(kHosts));
  operation.minimum = Upto(4) == 0 ? seen_ : 0;
  operation.epoch = epoch_;
  operation.limit = Upto(4) == 0 ? kSmallPage : uint16_t{0};
  while (Do(operation)) {
    const Operation& page = log_->operations.back();
    if (!page.more || page.parts == 0) return;
    Operation next = New(kind);
    next.provider = operation.provider;
    next.minimum = operation.minimum;
    next.epoch = operation.epoch;
    next.limit = operation.limit;
    next.cursor = log_->parts[page.first_part + page.parts - 1].consumer;
    operation = next;
  }
}

// What the next write of each record of `operation` is to expect.
void Client::BelieveRecords(const Operation& operation) {
  const bool done = operation.outcome == Outcome::kDone;
  for (uint32_t p = 0; p < operation.parts; ++p) {
    const Part& part = log_->parts[operation.first_part + p];
    const uint64_t record = part.consumer;
    if (done && part.rows > 0) {
      expected_[record] = IsMigration(record) ? log_->rows[part.first_row].amount : part.generation;
    } else if (operation.outcome == Outcome::kRefused &&
               operation.reason == Reason::kRecordConflict && operation.generation != 0) {
      expected_[record] = operation.generation;
    } else if (done || operation.outcome == Outcome::kRefused ||
               operation.outcome == Outcome::kUnknown) {
      expected_.erase(record);
    }
  }
}

}  // namespace berth::history
