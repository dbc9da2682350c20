// What a client does to the records of instances and migrations.

#include "tests/history/checker/move.h"
#include "tests/history/client.h"

namespace berth::history {
namespace {

constexpr uint64_t kOwnInstances = 5;
constexpr uint64_t kContendedInstances = 2;
constexpr uint64_t kStates = 50;
constexpr uint16_t kSmallPage = 3;
constexpr int kMarksMax = 1000;

}  // namespace

int64_t Client::MarkHost(uint16_t host) {
  for (int tries = 0; tries < kMarksMax; ++tries) {
    Operation operation = New(Kind::kSetInstance);
    AddPart(&operation, kInstanceBit | uint64_t{index_} << 40, kNew, {{host, kStateClass, 1}});
    if (Do(operation)) return log_->operations.back().revision;
  }
  return INT64_MAX;
}

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

int32_t Client::AnyEnd() { return kEndStatus + 1 + static_cast<int32_t>(Upto(kEnds)); }

void Client::ActOnRecord() {
  const uint64_t instance = AnyInstance();
  const auto draw = static_cast<int>(Upto(11));
  if (draw < 3) return WriteRecord(Kind::kSetInstance, instance);
  if (draw < 4) return WriteRecord(Kind::kDeleteInstance, instance);
  const uint64_t migration = MigrationOf(instance, Upto(kMigrationsMax));
  if (draw < 6) return WriteRecord(Kind::kCreateMigration, migration);
  if (draw < 8) return WriteRecord(Kind::kUpdateMigration, migration);
  if (draw == 10) return EndMove(migration);
  ListRecords(draw == 8 ? Kind::kListInstances : Kind::kListMigrations);
}

// Now and then with an old expectation, as if another client had decided it.
void Client::WriteRecord(Kind kind, uint64_t record) {
  const auto known = records_.find(record);
  int64_t expected = kNew;
  if (known != records_.end()) {
    const bool by_status = kind == Kind::kUpdateMigration;
    expected = by_status ? known->second.rows[0].amount : known->second.generation;
  }
  if (Upto(12) == 0) expected = expected == kNew ? 1 : expected - 1;
  if (kind == Kind::kDeleteInstance && (expected == kNew || Upto(2) == 0)) expected = kAny;
  if (kind == Kind::kUpdateMigration && expected == kNew) expected = 1;
  Operation operation = New(kind);
  std::vector<Row> rows;
  if (kind != Kind::kDeleteInstance) rows.push_back(AnyState());
  if (kind == Kind::kUpdateMigration && Upto(4) == 0) rows[0].amount = AnyEnd();
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

// What this client knows of the records of `operation` afterwards.
void Client::BelieveRecords(const Operation& operation) {
  const bool done = operation.outcome == Outcome::kDone;
  if (!done && operation.outcome != Outcome::kRefused && operation.outcome != Outcome::kUnknown) {
    return;
  }
  for (uint32_t p = 0; p < operation.parts; ++p) {
    const Part& part = log_->parts[operation.first_part + p];
    if (!IsRecord(part.consumer)) {
      const bool is_same =
          operation.outcome == Outcome::kRefused && operation.reason != Reason::kConsumerConflict;
      if (!is_same) held_.erase(part.consumer);
    } else if (done) {
      BelieveRecord(operation.kind, part);
    } else if (operation.reason == Reason::kRecordConflict) {
      BelieveConflict(operation, part.consumer);
    } else if (operation.kind != Kind::kEndMove) {
      records_.erase(part.consumer);
    }
  }
}

void Client::BelieveRecord(Kind kind, const Part& part) {
  if (kind == Kind::kDeleteInstance) {
    for (const uint64_t relative : RelativesOf(part.consumer)) records_.erase(relative);
  }
  const auto before = records_.find(part.consumer);
  if (part.rows == 0 || part.generation <= 0) return;
  const auto first = log_->rows.begin() + part.first_row;
  std::vector<Row> rows(first, first + part.rows);
  // These requests do not name the source of a migration.
  if (kind == Kind::kUpdateMigration || (kind == Kind::kEndMove && IsMigration(part.consumer))) {
    if (before == records_.end()) return;
    rows[0].provider = before->second.rows[0].provider;
    if (rows.size() == 1 && before->second.rows.size() == 2) {
      rows.push_back(before->second.rows[1]);
    }
  }
  records_[part.consumer] = {part.generation, rows};
}

// The refusal tells the present value of one of the operation's records.
void Client::BelieveConflict(const Operation& operation, uint64_t record) {
  const auto known = records_.find(record);
  if (known == records_.end()) {
    if (operation.generation == 0 || operation.kind == Kind::kEndMove) return;
    records_[record] = {operation.generation, {AnyState()}};
    records_[record].rows[0].amount = static_cast<int32_t>(operation.generation);
  } else if (operation.generation == 0 || operation.kind == Kind::kEndMove) {
    records_.erase(known);
  } else if (operation.kind == Kind::kUpdateMigration) {
    known->second.rows[0].amount = static_cast<int32_t>(operation.generation);
  } else {
    known->second.generation = operation.generation;
  }
}

}  // namespace berth::history
