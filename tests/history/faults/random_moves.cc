// What the clients of a HistoryMaker do to moves.
#include <algorithm>
#include <iterator>

#include "tests/history/checker/effect.h"
#include "tests/history/checker/move.h"
#include "tests/history/faults/history_maker.h"

namespace berth::history {

HistoryMaker::Held HistoryMaker::Find(const HeldBy& all, uint64_t number) const {
  const auto found = all.find(number);
  return found == all.end() ? Held() : found->second;
}

bool HistoryMaker::MoveHolds(uint64_t instance) const {
  for (uint64_t which = 0; which < kMigrationsMax; ++which) {
    const uint64_t migration = MigrationOf(instance, which);
    if (records_.contains(migration) && held_.contains(HolderOf(migration))) return true;
  }
  return false;
}

void HistoryMaker::DivideHolding() {
  const uint64_t instance = kInstanceBit | Upto(4);
  const uint64_t migration = MigrationOf(instance, Upto(kMigrationsMax));
  const std::vector<Row> sides = Find(records_, migration).rows;
  if (sides.size() < 2 || EndIn(sides[0].amount)) return WriteRecord();
  for (const Row& row : sides) {
    const ProviderState& state = providers_[row.provider];
    if (state.used[0] + 2 > state.capacity[0]) return WriteRecord();
  }
  operation_.kind = Kind::kSet;
  std::set<uint16_t> touched;
  Step step = NewStep();
  for (const uint64_t holder : {HolderOf(instance), HolderOf(migration)}) {
    const Held before = Find(held_, holder);
    const uint16_t side = sides[holder == HolderOf(instance) ? 1 : 0].provider;
    Held after = {before.generation == 0 ? commands_ + 1 : before.generation + 1, {{side, 0, 1}}};
    for (const Row& row : before.rows) Move(row, -1, &touched);
    Move(after.rows[0], 1, &touched);
    ++operation_.parts;
    log_->parts.push_back(
        {holder, before.generation, after.generation, static_cast<uint32_t>(log_->rows.size()), 1});
    log_->rows.push_back(after.rows[0]);
    AddPart(holder, after, &step);
    held_[holder] = after;
  }
  AddUses(touched, &step);
  steps_.push_back(step);
  Done();
}

// What the instance's consumer holds after the end of a move to `side`. All rows are on the two sides
// of the move.
std::vector<Row> HistoryMaker::HeldAfter(const Held& own, const Held& moved, bool keeps_both,
                                         uint16_t side) {
  const auto stays = [&](const Row& row) { return keeps_both || row.provider == side; };
  std::vector<Row> held;
  std::copy_if(own.rows.begin(), own.rows.end(), std::back_inserter(held), stays);
  const std::vector<Row> kept = held;
  for (const Row& row : moved.rows) {
    const bool is_there = std::any_of(kept.begin(), kept.end(), [&row](const Row& other) {
      return other.provider == row.provider && other.resource_class == row.resource_class;
    });
    if (stays(row) && !is_there) held.push_back(row);
  }
  SortRows(&held);
  return held;
}

void HistoryMaker::EndMove() {
  const uint64_t instance = kInstanceBit | Upto(4);
  const uint64_t migration = MigrationOf(instance, Upto(kMigrationsMax));
  const Held move = Find(records_, migration);
  const Held own = Find(held_, HolderOf(instance)), moved = Find(held_, HolderOf(migration));
  const auto is_off = [&move](const Row& row) { return !IsOn(row.provider, move.rows); };
  if (move.rows.size() < 2 || move.rows[0].provider == move.rows[1].provider ||
      std::any_of(own.rows.begin(), own.rows.end(), is_off) ||
      std::any_of(moved.rows.begin(), moved.rows.end(), is_off)) {
    return WriteRecord();
  }
  const std::vector<history::End> ends = EndsOf(TypeOf(migration));
  const history::End end = ends[Upto(ends.size())];
  const uint16_t side = move.rows[Arrives(end) ? 1 : 0].provider;
  const Held record = Find(records_, instance);
  const Held record_after = {record.generation + 1,
                             {{side, kStateClass, static_cast<int32_t>(1 + Upto(9))}}};
  Held move_after = {move.generation + 1, move.rows};
  move_after.rows[0].amount = StatusAfter(end);
  const bool is_stale = Upto(6) == 0;
  operation_.kind = Kind::kEndMove;
  Ask(migration, move.generation, {move_after.rows[0]});
  Ask(instance, record.generation + (is_stale ? 1 : 0), record_after.rows);
  Ask(HolderOf(instance), own.generation, {});
  Ask(HolderOf(migration), kAny, {});
  if (is_stale) return End(Outcome::kRefused, Reason::kRecordConflict, record.generation);
  const auto ended = EndIn(move.rows[0].amount);
  if (ended && (ended != history::End::kDone || end == history::End::kDone)) {
    return End(Outcome::kRefused, Reason::kWrongMoveEnd);
  }
  const auto held = HeldAfter(own, moved, end == history::End::kDone, side);
  const bool is_there = std::any_of(held.begin(), held.end(),
                                    [side](const Row& row) { return row.provider == side; });
  if (own.generation + moved.generation > 0 && !is_there) {
    return End(Outcome::kRefused, Reason::kNothingHeld);
  }
  Step step = NewStep();
  Settle(migration, held, &step);
  AddPart(instance, records_[instance] = record_after, &step);
  AddPart(migration, records_[migration] = move_after, &step);
  steps_.push_back(step);
  Done();
}

void HistoryMaker::Ask(uint64_t number, int64_t expected, const std::vector<Row>& rows) {
  ++operation_.parts;
  log_->parts.push_back({number, expected, 0, static_cast<uint32_t>(log_->rows.size()),
                         static_cast<uint32_t>(rows.size())});
  log_->rows.insert(log_->rows.end(), rows.begin(), rows.end());
}

void HistoryMaker::Settle(uint64_t migration, const std::vector<Row>& held, Step* step) {
  const uint64_t holder = HolderOf(InstanceOf(migration));
  const Held own = Find(held_, holder), moved = Find(held_, HolderOf(migration));
  const bool changes = own.lease_end_us != 0 || own.rows != held;
  if (moved.generation == 0 && !changes) return;
  std::set<uint16_t> touched;
  for (const Row& row : own.rows) Move(row, -1, &touched);
  for (const Row& row : moved.rows) Move(row, -1, &touched);
  for (const Row& row : held) Move(row, 1, &touched);
  if (moved.generation != 0) AddPart(HolderOf(migration), {}, step);
  held_.erase(HolderOf(migration));
  if (!held.empty()) {
    held_[holder] = {own.generation == 0 ? commands_ + 1 : own.generation + 1, held};
    AddPart(holder, held_[holder], step);
  }
  AddUses(touched, step);
}

}  // namespace berth::history
