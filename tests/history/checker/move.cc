#include "tests/history/checker/move.h"

#include <algorithm>

#include "tests/history/checker/effect.h"

namespace berth::history {
namespace {

// Where a row is, as seen from a move. A node that nobody else names counts as the destination as
// long as the migration has none.
enum class Side { kNoNode, kOther, kSource, kDestination, kBoth };

class Ending {
 public:
  Ending(const Timeline& timeline, uint32_t step, const Move& move, End end)
      : timeline_(timeline),
        step_(step),
        move_(move),
        end_(end),
        source_(move.rows[0].provider),
        own_(Find(HolderOf(InstanceOf(move.migration)))),
        moved_(Find(HolderOf(move.migration))) {
    if (move.rows.size() > 1) destination_ = move.rows[1].provider;
    if (own_ != nullptr) own_rows_ = timeline.RowsOf(*own_);
    if (moved_ != nullptr) moved_rows_ = timeline.RowsOf(*moved_);
  }

  MoveAfter Run() const {
    MoveAfter after;
    const std::vector<End> ends = EndsOf(TypeOf(move_.migration));
    if (std::find(ends.begin(), ends.end(), end_) == ends.end() || !MayEndNow()) {
      after.reason = Reason::kWrongMoveEnd;
    } else if (!FitsHost()) {
      after.reason = Reason::kInstanceElsewhere;
    } else {
      after.held = Held();
      after.changes = moved_ != nullptr ||
                      (own_ != nullptr && (own_->lease_end_us != 0 || after.held != own_rows_));
      if (HoldsNothing(after.held)) after.reason = Reason::kNothingHeld;
    }
    return after;
  }

 private:
  // Null: the consumer or record does not exist.
  const ConsumerPoint* Find(uint64_t number) const {
    const ConsumerPoint* point = timeline_.ConsumerAt(number, step_);
    return point == nullptr || point->generation == 0 ? nullptr : point;
  }
  bool on_source() const { return move_.host == source_; }
  bool on_destination() const { return destination_ == move_.host; }

  // The source host of an evacuation that is done ends it again when the host is back.
  bool MayEndNow() const {
    if (Arrives(end_) && !destination_) return false;
    const std::optional<End> ended = EndIn(move_.rows[0].amount);
    return !ended || (ended == End::kDone && end_ != End::kDone);
  }

  bool FitsHost() const {
    if (Arrives(end_)) return on_destination() || !on_source();
    return on_source() || (end_ == End::kFailed && !on_destination());
  }

  // Whether the instance is on `node` then, or another move of it may hold something there.
  bool IsNamedOtherwise(uint16_t node) const {
    if (node == move_.host) return true;
    for (uint64_t which = 0; which < kMigrationsMax; ++which) {
      const uint64_t other = MigrationOf(InstanceOf(move_.migration), which);
      const ConsumerPoint* point = other == move_.migration ? nullptr : Find(other);
      if (point == nullptr) continue;
      const std::vector<Row> rows = timeline_.RowsOf(*point);
      const std::optional<End> ended = EndIn(rows[0].amount);
      if ((!ended || ended == End::kDone) && IsOn(node, rows)) return true;
    }
    return false;
  }

  Side SideOf(const Row& row) const {
    const std::optional<uint16_t> node = NodeAbove(row.provider);
    if (!node) return Side::kNoNode;
    if (*node == source_) return destination_ == node ? Side::kBoth : Side::kSource;
    if (destination_ == node) return Side::kDestination;
    return destination_ || IsNamedOtherwise(*node) ? Side::kOther : Side::kDestination;
  }

  // Whether the migration's consumer holds something that replaces this row of the instance, which
  // is on both sides or on no node.
  bool IsReplaced(const Row& row, Side side) const {
    return std::any_of(moved_rows_.begin(), moved_rows_.end(), [&](const Row& other) {
      return side == Side::kBoth ? SideOf(other) == Side::kBoth : other.provider == row.provider;
    });
  }

  bool Keeps(const Row& row) const {
    const Side side = SideOf(row);
    if (end_ == End::kDone) return true;
    if (Arrives(end_)) return side != Side::kSource;
    if (!on_source()) return side == Side::kOther || side == Side::kNoNode;
    if (side == Side::kBoth || side == Side::kNoNode) return !IsReplaced(row, side);
    return side != Side::kDestination;
  }

  bool Gets(const Row& row) const {
    const bool arrived = SideOf(row) == Side::kDestination;
    if (end_ == End::kDone) return true;
    return Arrives(end_) ? arrived : on_source() && !arrived;
  }

  std::vector<Row> Held() const {
    std::vector<Row> held;
    for (const Row& row : own_rows_) {
      if (Keeps(row)) held.push_back(row);
    }
    const std::vector<Row> kept = held;
    for (const Row& row : moved_rows_) {
      const bool is_there = std::any_of(kept.begin(), kept.end(), [&row](const Row& other) {
        return other.provider == row.provider && other.resource_class == row.resource_class;
      });
      if (Gets(row) && !is_there) held.push_back(row);
    }
    SortRows(&held);
    return held;
  }

  // Whether something was held on nodes, and the instance would hold nothing where it is.
  bool HoldsNothing(const std::vector<Row>& held) const {
    if (Arrives(end_) ? !on_destination() : !on_source()) return false;
    const Side wanted = Arrives(end_) ? Side::kDestination : Side::kSource;
    const auto is_on_node = [this](const Row& row) { return SideOf(row) != Side::kNoNode; };
    const auto is_there = [&](const Row& row) {
      return SideOf(row) == wanted || SideOf(row) == Side::kBoth;
    };
    const bool had = std::any_of(own_rows_.begin(), own_rows_.end(), is_on_node) ||
                     std::any_of(moved_rows_.begin(), moved_rows_.end(), is_on_node);
    return had && std::none_of(held.begin(), held.end(), is_there);
  }

  const Timeline& timeline_;
  const uint32_t step_;
  const Move& move_;
  const End end_;
  const uint16_t source_;
  std::optional<uint16_t> destination_;
  const ConsumerPoint* const own_;    // the instance's consumer; null: it holds nothing
  const ConsumerPoint* const moved_;  // the migration's consumer; null: it holds nothing
  std::vector<Row> own_rows_, moved_rows_;
};

}  // namespace

std::optional<End> EndIn(int32_t status) {
  if (status <= kEndStatus) return std::nullopt;
  return static_cast<End>(status - kEndStatus);
}

MoveType TypeOf(uint64_t migration) {
  const uint64_t which = migration >> 48 & 0xFF;
  return static_cast<MoveType>(1 + (OwnerOf(migration) + (migration & 0xFF) + which) % 4);
}

std::vector<End> EndsOf(MoveType type) {
  switch (type) {
    case MoveType::kLive:
      return {End::kCompleted, End::kFailed, End::kCancelled};
    case MoveType::kEvacuation:
      return {End::kDone, End::kCompleted, End::kFailed};
    default:
      return {End::kConfirmed, End::kReverted, End::kFailed};
  }
}

bool Arrives(End end) {
  return end == End::kConfirmed || end == End::kCompleted || end == End::kDone;
}

MoveAfter AfterEnd(const Timeline& timeline, uint32_t step, const Move& move, End end) {
  return Ending(timeline, step, move, end).Run();
}

}  // namespace berth::history
