// What the clients of a HistoryMaker do.
#include "tests/history/faults/random_history.h"

#include <algorithm>

#include "tests/history/checker/effect.h"
#include "tests/history/checker/move.h"
#include "tests/history/faults/history_maker.h"

namespace berth::history {

void HistoryMaker::ReadProvider() {
  CloseRevision();
  operation_.kind = Kind::kReadInventory;
  operation_.provider = AnyProvider();
  const ProviderState& state = providers_[operation_.provider];
  operation_.generation = state.generation;
  operation_.allocation_generation = state.allocation_generation;
  operation_.revision = revision_;
  operation_.rows = 2 * kClasses;
  for (uint8_t c = 0; c < kClasses; ++c) {
    log_->rows.push_back({operation_.provider, c, static_cast<int32_t>(state.used[c])});
    log_->rows.push_back({operation_.provider, c, static_cast<int32_t>(state.capacity[c])});
  }
  End(Outcome::kDone);
}

void HistoryMaker::WriteInventory() {
  operation_.kind = Kind::kInventory;
  operation_.provider = AnyProvider();
  ProviderState& state = providers_[operation_.provider];
  const bool stale = Upto(4) == 0;
  operation_.expected = state.generation - (stale ? 1 : 0);
  operation_.rows = kClasses;
  for (uint8_t c = 0; c < kClasses; ++c) {
    log_->rows.push_back({operation_.provider, c, static_cast<int32_t>(4 + Upto(12))});
  }
  if (stale) return End(Outcome::kRefused, Reason::kProviderConflict, state.generation);
  ++state.generation;
  for (uint8_t c = 0; c < kClasses; ++c) {
    state.capacity[c] = log_->rows[operation_.first_row + c].amount;
  }
  operation_.generation = state.generation;
  Step step = NewStep();
  step.configs = 1;
  history_.story.configs.push_back({operation_.provider, state.generation, state.capacity});
  steps_.push_back(step);
  Done();
}

void HistoryMaker::Move(const Row& row, int sign, std::set<uint16_t>* touched) {
  providers_[row.provider].used[row.resource_class] += sign * row.amount;
  touched->insert(row.provider);
}

void HistoryMaker::Claim() {
  operation_.kind = Kind::kSet;
  operation_.parts = 1;
  Held held;
  const uint16_t first = AnyProvider();
  held.rows.push_back({first, 0, static_cast<int32_t>(1 + Upto(3))});
  if (Upto(2) == 0) {
    held.rows.push_back({static_cast<uint16_t>((first + 1) % providers_.size()), 0,
                         static_cast<int32_t>(1 + Upto(3))});
  }
  SortRows(&held.rows);
  const uint64_t consumer = static_cast<uint64_t>(client_) << 40 | ++consumers_;
  Part part = {consumer, kNew, 0, operation_.first_row, static_cast<uint32_t>(held.rows.size())};
  log_->rows.insert(log_->rows.end(), held.rows.begin(), held.rows.end());
  for (const Row& row : held.rows) {
    const ProviderState& state = providers_[row.provider];
    if (state.used[0] + row.amount <= state.capacity[0]) continue;
    log_->parts.push_back(part);
    return End(Outcome::kRefused, Reason::kNoRoom, state.used[0]);
  }
  std::set<uint16_t> touched;
  for (const Row& row : held.rows) Move(row, 1, &touched);
  part.generation = held.generation = commands_ + 1;
  log_->parts.push_back(part);
  held_[consumer] = held;
  Tell(consumer, held, touched);
  Done();
}

// Leaves a consumer with one unit of its first row, and without a lease.
void HistoryMaker::Rewrite() {
  const auto chosen = AnyHeld();
  if (chosen == held_.end()) return Claim();
  operation_.kind = Kind::kSet;
  operation_.parts = 1;
  auto& [consumer, held] = *chosen;
  std::set<uint16_t> touched;
  for (const Row& row : held.rows) Move(row, -1, &touched);
  Held now = {held.generation + 1, {held.rows.front()}};
  now.rows.front().amount = 1;
  Move(now.rows.front(), 1, &touched);
  log_->parts.push_back({consumer, held.generation, now.generation, operation_.first_row, 1});
  log_->rows.push_back(now.rows.front());
  held = now;
  Tell(consumer, held, touched);
  Done();
}

void HistoryMaker::Release() {
  const auto victim = AnyHeld();
  if (victim == held_.end()) return Claim();
  operation_.kind = Kind::kRelease;
  operation_.parts = 1;
  log_->parts.push_back({victim->first, kAny, 0, 0, 0});
  std::set<uint16_t> touched;
  for (const Row& row : victim->second.rows) Move(row, -1, &touched);
  Tell(victim->first, {}, touched);
  held_.erase(victim);
  Done();
}

void HistoryMaker::Adjust() {
  // Only by the client that made it: else nobody could tell whose adjustment was which.
  const auto chosen = held_.lower_bound(static_cast<uint64_t>(client_) << 40);
  if (chosen == held_.end() || chosen->first >> 40 != client_) return Claim();
  operation_.kind = Kind::kAdjust;
  operation_.parts = 1;
  operation_.with_id = false;
  Held& held = chosen->second;
  Row& row = held.rows.front();
  Part part = {chosen->first, kAny, 0, operation_.first_row, 1};
  log_->rows.push_back({row.provider, row.resource_class, 1});
  ProviderState& state = providers_[row.provider];
  if (state.used[0] + 1 > state.capacity[0]) {
    log_->parts.push_back(part);
    return End(Outcome::kRefused, Reason::kNoRoom, state.used[0] - row.amount);
  }
  std::set<uint16_t> touched;
  Move({row.provider, row.resource_class, 1}, 1, &touched);
  ++row.amount;
  part.generation = ++held.generation;
  log_->parts.push_back(part);
  Tell(chosen->first, held, touched);
  steps_.back().client = kNobody;
  steps_.back().number = 0;
  Done();
}

// Gives a consumer a lease, renews it, or confirms the consumer.
void HistoryMaker::Lease() {
  const auto chosen = AnyHeld();
  if (chosen == held_.end()) return Claim();
  operation_.kind = Kind::kLease;
  operation_.parts = 1;
  operation_.lease_s = static_cast<int32_t>(Upto(4));
  Held& held = chosen->second;
  const bool stale = Upto(6) == 0;
  Part part = {chosen->first, Upto(2) == 0 && !stale ? kAny : held.generation - (stale ? 1 : 0)};
  if (stale) {
    log_->parts.push_back(part);
    return End(Outcome::kRefused, Reason::kConsumerConflict, held.generation);
  }
  part.generation = ++held.generation;
  log_->parts.push_back(part);
  held.lease_end_us = operation_.lease_s == 0 ? 0 : time_us_ + operation_.lease_s * 1'000'000;
  Tell(chosen->first, held, {});
  Done();
}

void HistoryMaker::Expire() {
  Step step = NewStep();
  step.client = kNobody;
  step.number = 0;
  step.expires = true;
  std::set<uint16_t> touched;
  for (auto at = held_.begin(); at != held_.end();) {
    const auto [consumer, held] = *at;
    if (held.lease_end_us == 0 || held.lease_end_us > time_us_) {
      ++at;
      continue;
    }
    for (const Row& row : held.rows) Move(row, -1, &touched);
    AddPart(consumer, {}, &step);
    at = held_.erase(at);
  }
  if (step.parts == 0) return;
  AddUses(touched, &step);
  steps_.push_back(step);
  ++commands_;
}

// Of a few instances, for which all clients contend.
void HistoryMaker::WriteRecord() {
  operation_.parts = 1;
  const uint64_t instance = kInstanceBit | Upto(4);
  const uint64_t migration = MigrationOf(instance, Upto(kMigrationsMax));
  const auto draw = Upto(5);
  if (draw < 2) return Put(Kind::kSetInstance, instance, Reason::kNone);
  if (draw == 2 && records_.contains(instance)) return DeleteInstance(instance);
  if (records_.contains(migration)) {
    const bool creates = Upto(3) == 0;
    return Put(creates ? Kind::kCreateMigration : Kind::kUpdateMigration, migration,
               creates ? Reason::kDuplicateMigration : Reason::kNone);
  }
  if (!records_.contains(instance)) {
    return Put(Kind::kCreateMigration, migration, Reason::kInstanceNotFound);
  }
  const bool creates = Upto(3) != 0;
  Put(creates ? Kind::kCreateMigration : Kind::kUpdateMigration, migration,
      creates ? Reason::kNone : Reason::kMigrationNotFound);
}

// Adds the rows that the client writes to its log. Returns them as the ledger stores them.
std::vector<Row> HistoryMaker::RowsToPut(Kind kind, uint64_t record) {
  Row row = {AnyHost(), kStateClass, static_cast<int32_t>(1 + Upto(9))};
  std::vector<Row> rows = {row};
  if (IsMigration(record) && Upto(2) == 0) rows.push_back({AnyHost(), kDestinationClass, 0});
  log_->rows.insert(log_->rows.end(), rows.begin(), rows.end());
  const auto before = records_.find(record);
  if (kind != Kind::kUpdateMigration || before == records_.end()) return rows;
  rows[0].provider = before->second.rows[0].provider;
  if (rows.size() == 1 && before->second.rows.size() == 2) rows.push_back(before->second.rows[1]);
  return rows;
}

void HistoryMaker::Put(Kind kind, uint64_t record, Reason reason) {
  operation_.kind = kind;
  const auto found = records_.find(record);
  const bool exists = found != records_.end();
  int64_t actual = exists ? found->second.generation : kNew;
  if (kind == Kind::kUpdateMigration && exists) actual = found->second.rows[0].amount;
  const std::vector<Row> rows = RowsToPut(kind, record);
  const bool stale = Upto(4) == 0 && kind != Kind::kCreateMigration;
  Part part = {record, stale ? actual + 1 : actual, 0, operation_.first_row,
               static_cast<uint32_t>(log_->rows.size() - operation_.first_row)};
  if (reason == Reason::kNone && stale) reason = Reason::kRecordConflict;
  const bool is_over =
      kind == Kind::kUpdateMigration && exists && EndIn(static_cast<int32_t>(actual));
  if (reason == Reason::kNone && is_over) reason = Reason::kWrongMoveEnd;
  if (reason == Reason::kNone) {
    part.generation = exists ? found->second.generation + 1 : commands_ + 1;
    records_[record] = {part.generation, rows};
    Tell(record, records_[record], {});
  }
  log_->parts.push_back(part);
  if (reason == Reason::kNone) return Done();
  End(Outcome::kRefused, reason, reason == Reason::kRecordConflict ? actual : 0);
}

void HistoryMaker::DeleteInstance(uint64_t instance) {
  operation_.kind = Kind::kDeleteInstance;
  log_->parts.push_back({instance, kAny, 0, 0, 0});
  if (MoveHolds(instance)) return End(Outcome::kRefused, Reason::kMoveHolds);
  Step step = NewStep();
  for (uint64_t which = 0; which <= kMigrationsMax; ++which) {
    const uint64_t record = which < kMigrationsMax ? MigrationOf(instance, which) : instance;
    if (records_.erase(record) != 0) AddPart(record, {}, &step);
  }
  const auto held = held_.find(HolderOf(instance));
  if (held != held_.end()) {
    ++held->second.generation;
    AddPart(held->first, held->second, &step);
  }
  steps_.push_back(step);
  Done();
}

void HistoryMaker::ListRecords() {
  CloseRevision();
  operation_.kind = Upto(2) == 0 ? Kind::kListInstances : Kind::kListMigrations;
  operation_.provider = AnyHost();
  operation_.revision = revision_;
  operation_.limit = static_cast<uint16_t>(Upto(3));
  EndList();
}

void HistoryMaker::ListMore() {
  CloseRevision();
  const Operation& before = log_->operations.back();
  operation_.kind = before.kind;
  operation_.provider = before.provider;
  operation_.revision = before.revision;
  operation_.limit = before.limit;
  operation_.cursor = log_->parts[before.first_part + before.parts - 1].consumer;
  EndList();
}

void HistoryMaker::EndList() {
  for (const auto& [record, held] : records_) {
    const bool is_wanted = IsMigration(record) == (operation_.kind == Kind::kListMigrations);
    if (!is_wanted || record <= operation_.cursor || !IsOn(operation_.provider, held.rows))
      continue;
    operation_.more = operation_.limit != 0 && operation_.parts == operation_.limit;
    if (operation_.more) break;
    ++operation_.parts;
    log_->parts.push_back({record, kAny, held.generation, static_cast<uint32_t>(log_->rows.size()),
                           static_cast<uint32_t>(held.rows.size())});
    log_->rows.insert(log_->rows.end(), held.rows.begin(), held.rows.end());
  }
  End(Outcome::kDone);
}

History RandomHistory(uint64_t seed) { return HistoryMaker(seed).Run(); }

}  // namespace berth::history
