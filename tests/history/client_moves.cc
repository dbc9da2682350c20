// What a client does to move instances: it brings one of its own instances one step further.
#include "tests/history/checker/effect.h"
#include "tests/history/checker/move.h"
#include "tests/history/client.h"

namespace berth::history {
namespace {

constexpr uint64_t kMovingInstances = 2;  // of each client

}  // namespace

// The instance gets a record, allocations, a migration and allocations on both sides; then the move
// ends. After its last move the instance is deleted.
void Client::AdvanceMove() {
  const uint64_t instance = kInstanceBit | uint64_t{index_} << 40 | Upto(kMovingInstances);
  const uint64_t holder = HolderOf(instance);
  const auto record = records_.find(instance);
  if (record == records_.end()) return WriteRecord(Kind::kSetInstance, instance);
  if (!held_.contains(holder)) {
    if (Upto(2) == 0) return ReadHolder(holder);
    return Hold(holder, {{record->second.rows[0].provider, 0, static_cast<int32_t>(1 + Upto(2))}});
  }
  for (uint64_t which = 0; which < kMigrationsMax; ++which) {
    const uint64_t migration = MigrationOf(instance, which);
    const auto known = records_.find(migration);
    if (known == records_.end()) return WriteRecord(Kind::kCreateMigration, migration);
    const std::optional<End> ended = EndIn(known->second.rows[0].amount);
    if (ended && (ended != End::kDone || Upto(2) == 0)) continue;
    const bool is_divided = held_.contains(HolderOf(migration));
    if (!is_divided && Upto(4) == 0) return ReadHolder(HolderOf(migration));
    if (!is_divided && Upto(3) != 0) return DivideHolding(migration);
    return EndMove(migration);
  }
  WriteRecord(Kind::kDeleteInstance, instance);
}

void Client::ReadHolder(uint64_t holder) {
  Operation operation = New(Kind::kReadConsumer);
  AddPart(&operation, holder, kAny, {});
  if (!Do(operation)) return;
  const Part& part = log_->parts[operation.first_part];
  held_.erase(holder);
  if (part.generation == 0) return;
  const auto first = log_->rows.begin() + part.first_row;
  held_[holder] = {part.generation, {first, first + part.rows}};
}

void Client::Hold(uint64_t holder, const std::vector<Row>& rows) {
  Operation operation = New(Kind::kSet);
  AddPart(&operation, holder, kNew, rows);
  Do(operation);
}

// The migration gets what the instance holds, and the instance gets a part on the destination; now
// and then one that belongs to no node, or to a node that the move does not name.
void Client::DivideHolding(uint64_t migration) {
  const uint64_t holder = HolderOf(InstanceOf(migration));
  const Held own = held_[holder];
  const std::vector<Row>& sides = records_[migration].rows;
  const uint16_t to = sides.size() == 2 ? sides[1].provider : static_cast<uint16_t>(Upto(kHosts));
  std::vector<Row> rows = {{to, 0, static_cast<int32_t>(1 + Upto(2))}};
  const uint16_t beside = AnyProvider();
  if (Upto(4) == 0 && beside != to) rows.push_back({beside, 0, 1});
  SortRows(&rows);
  Operation operation = New(Kind::kSet);
  AddPart(&operation, holder, own.generation, rows);
  AddPart(&operation, HolderOf(migration), kNew, own.rows);
  Do(operation);
}

// Mostly with an end that the type of the move allows, and with the record of the instance on the
// host where it is then.
void Client::EndMove(uint64_t migration) {
  const uint64_t instance = InstanceOf(migration);
  const auto generation_of = [](const std::map<uint64_t, Held>& all, uint64_t number) {
    const auto found = all.find(number);
    return found == all.end() ? kNew : found->second.generation;
  };
  const std::vector<End> ends = EndsOf(TypeOf(migration));
  const int32_t status = Upto(5) == 0 ? AnyEnd() : StatusAfter(ends[Upto(ends.size())]);
  Operation operation = New(Kind::kEndMove);
  AddPart(&operation, migration, generation_of(records_, migration), {{0, kStateClass, status}});
  std::vector<Row> record;
  const auto known = records_.find(migration);
  if (Upto(4) != 0) {
    record.push_back(AnyState());
    if (known != records_.end() && Upto(8) != 0) {
      const std::vector<Row>& sides = known->second.rows;
      record[0].provider = (Arrives(*EndIn(status)) ? sides.back() : sides.front()).provider;
    }
  }
  AddPart(&operation, instance, generation_of(records_, instance), record);
  for (const uint64_t number : {HolderOf(instance), HolderOf(migration)}) {
    const bool is_compared = IsOwn(number) && Upto(3) == 0;
    AddPart(&operation, number, is_compared ? generation_of(held_, number) : kAny, {});
  }
  Do(operation);
}

}  // namespace berth::history
