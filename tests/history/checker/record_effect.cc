#include "tests/history/checker/record_effect.h"

#include <utility>

#include "tests/history/checker/move.h"

namespace berth::history {
namespace {

// Finds out the effect of one write of records.
class RecordWriting {
 public:
  RecordWriting(const Timeline& timeline, uint32_t step, const ClientLog& log,
                const Operation& operation)
      : timeline_(timeline),
        step_(step),
        log_(log),
        operation_(operation),
        part_(Part(0)),
        before_(Find(part_.consumer)),
        rows_(RowsOf(part_)) {}

  Effect Run() {
    switch (operation_.kind) {
      case Kind::kSetInstance:
        if (!Expects(part_)) break;
        Put(part_.consumer, rows_);
        break;
      case Kind::kDeleteInstance:
        Delete();
        break;
      case Kind::kCreateMigration:
        Create();
        break;
      case Kind::kUpdateMigration:
        Update();
        break;
      default:
        EndMove();
    }
    if (effect_.reason != Reason::kNone) {
      effect_.consumers.clear();
      effect_.providers.clear();
    }
    return std::move(effect_);
  }

 private:
  const history::Part& Part(uint32_t p) const { return log_.parts[operation_.first_part + p]; }
  std::vector<Row> RowsOf(const history::Part& part) const {
    const auto first = log_.rows.begin() + part.first_row;
    return {first, first + part.rows};
  }
  // Null: the record does not exist, or the consumer holds nothing.
  const ConsumerPoint* Find(uint64_t number) const {
    const ConsumerPoint* point = timeline_.ConsumerAt(number, step_);
    return point == nullptr || point->generation == 0 ? nullptr : point;
  }
  bool Refuse(Reason reason) {
    effect_.reason = reason;
    return false;
  }
  bool Conflict(int64_t actual) {
    effect_.there.push_back(actual);
    return Refuse(Reason::kRecordConflict);
  }

  // Whether the record has the expected generation.
  bool Expects(const history::Part& part) {
    const ConsumerPoint* point = Find(part.consumer);
    const int64_t actual = point == nullptr ? 0 : point->generation;
    return part.expected == kAny || part.expected == actual || Conflict(actual);
  }

  void Put(uint64_t number, std::vector<Row> rows) {
    const ConsumerPoint* point = Find(number);
    effect_.consumers[number] = {point == nullptr ? kFresh : point->generation + 1,
                                 std::move(rows)};
  }

  void Delete() {
    if (before_ == nullptr) {
      Refuse(Reason::kInstanceNotFound);
      return;
    }
    if (!Expects(part_)) return;
    for (uint64_t which = 0; which < kMigrationsMax; ++which) {
      const uint64_t migration = MigrationOf(part_.consumer, which);
      if (Find(migration) == nullptr) continue;
      effect_.consumers[migration] = {};
      if (Find(HolderOf(migration)) != nullptr) Refuse(Reason::kMoveHolds);
    }
    effect_.consumers[part_.consumer] = {};
    // The consumer gets another type, which a history does not record.
    const uint64_t holder = HolderOf(part_.consumer);
    const ConsumerPoint* held = Find(holder);
    if (held == nullptr) return;
    effect_.consumers[holder] = {held->generation + 1, timeline_.RowsOf(*held), held->lease_end_us};
  }

  void Create() {
    if (Find(InstanceOf(part_.consumer)) == nullptr) {
      Refuse(Reason::kInstanceNotFound);
    } else if (before_ != nullptr) {
      Refuse(Reason::kDuplicateMigration);
    } else {
      Put(part_.consumer, rows_);
    }
  }

  // An update does not change the source host. Without a destination, the destination stays, too.
  void Update() {
    if (before_ == nullptr) {
      Refuse(Reason::kMigrationNotFound);
      return;
    }
    const std::vector<Row> stored = timeline_.RowsOf(*before_);
    const int32_t status = stored[0].amount;
    if (part_.expected != status) {
      Conflict(status);
      return;
    }
    std::vector<Row> after = rows_;
    after[0].provider = stored[0].provider;
    if (after.size() == 1) after.insert(after.end(), stored.begin() + 1, stored.end());
    if (after[0].amount != status && !MayBecome(after, status)) return;
    Put(part_.consumer, after);
  }

  // Whether a migration in `status` may get the rows `after`, which have another status.
  bool MayBecome(const std::vector<Row>& after, int32_t status) {
    const std::optional<End> end = EndIn(after[0].amount);
    if (!end) return !EndIn(status) || Refuse(Reason::kWrongMoveEnd);
    const ConsumerPoint* instance = Find(InstanceOf(part_.consumer));
    if (instance == nullptr) return Refuse(Reason::kInstanceNotFound);
    Move move = {part_.consumer, after, timeline_.RowsOf(*instance)[0].provider};
    move.rows[0].amount = status;
    const MoveAfter ended = AfterEnd(timeline_, step_, move, *end);
    if (ended.reason != Reason::kNone) return Refuse(ended.reason);
    return !ended.changes || Refuse(Reason::kMoveHolds);
  }

  void EndMove() {
    if (before_ == nullptr) {
      Refuse(Reason::kMigrationNotFound);
      return;
    }
    if (!Expects(part_) || !Expects(Part(1)) || !HoldersMatch()) return;
    const ConsumerPoint* instance = Find(Part(1).consumer);
    if (instance == nullptr) {
      Refuse(Reason::kInstanceNotFound);
      return;
    }
    std::vector<Row> record = RowsOf(Part(1));
    if (!record.empty()) Put(Part(1).consumer, record);
    if (record.empty()) record = timeline_.RowsOf(*instance);
    const Move move = {part_.consumer, timeline_.RowsOf(*before_), record[0].provider};
    const MoveAfter ended = AfterEnd(timeline_, step_, move, *EndIn(rows_[0].amount));
    if (ended.reason != Reason::kNone) {
      Refuse(ended.reason);
      return;
    }
    std::vector<Row> after = move.rows;
    after[0].amount = rows_[0].amount;
    Put(part_.consumer, after);
    if (ended.changes) Divide(ended.held);
  }

  // Whether both consumers have the generations that the request expects.
  bool HoldersMatch() {
    for (uint32_t p = 2; p < 4; ++p) {
      const ConsumerPoint* point = Find(Part(p).consumer);
      const int64_t actual = point == nullptr ? 0 : point->generation;
      if (Part(p).expected == kAny || Part(p).expected == actual) continue;
      effect_.there.push_back(actual);
      Refuse(Reason::kConsumerConflict);
    }
    return effect_.reason == Reason::kNone;
  }

  // The consumer of the instance holds `held` afterwards, and that of the migration holds nothing.
  void Divide(const std::vector<Row>& held) {
    const ConsumerPoint* own = Find(Part(2).consumer);
    const ConsumerPoint* moved = Find(Part(3).consumer);
    for (const ConsumerPoint* point : {own, moved}) {
      if (point == nullptr) continue;
      for (const Row& row : timeline_.RowsOf(*point)) Count(row, -1);
    }
    for (const Row& row : held) Count(row, 1);
    for (auto& [provider, state] : effect_.providers) ++state.allocation_generation;
    if (!held.empty()) Put(Part(2).consumer, held);
    if (held.empty() && own != nullptr) effect_.consumers[Part(2).consumer] = {};
    if (moved != nullptr) effect_.consumers[Part(3).consumer] = {};
  }

  void Count(const Row& row, int sign) {
    const auto [place, is_new] = effect_.providers.try_emplace(row.provider);
    if (is_new) place->second = timeline_.ProviderAt(row.provider, step_);
    place->second.used[row.resource_class] += sign * row.amount;
  }

  const Timeline& timeline_;
  const uint32_t step_;
  const ClientLog& log_;
  const Operation& operation_;
  const history::Part& part_;
  const ConsumerPoint* const before_;
  const std::vector<Row> rows_;
  Effect effect_;
};

}  // namespace

Effect RecordEffect(const Timeline& timeline, uint32_t step, const ClientLog& log,
                    const Operation& operation) {
  return RecordWriting(timeline, step, log, operation).Run();
}

}  // namespace berth::history
