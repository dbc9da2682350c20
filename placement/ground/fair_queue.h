// FairQueue: a bounded queue with priorities, in each of which owners take turns.
//
// Each entry has an owner and a priority. Each priority is a line of its own (FairLine), with room
// for `entries_max` entries: so no priority takes room from another one, and whoever floods the
// queue at one priority keeps nobody out at another one.
//
// Pop takes an entry of the best priority that has entries. After kInARow entries of a priority in
// a row, each taken while an entry of a worse priority waited, it takes one entry of the worse
// ones, chosen by the same rule among them. Within a priority it takes what FairLine says.
//
// A value without a lock. `Entry` must have a default constructor and be movable.
#ifndef BERTH_PLACEMENT_GROUND_FAIR_QUEUE_H_
#define BERTH_PLACEMENT_GROUND_FAIR_QUEUE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/string_view.h"
#include "placement/ground/fair_line.h"

namespace berth::placement {

// What comes first. kFirst: claims and other writes by calls, and what a process does for itself.
// kSessions: what trackers send in their sessions and are told there. Thousands of trackers may come
// at once, each an owner, so they take no turns with the callers of kFirst. kReads: searches, lists,
// watches. kBulk: audits, exports, imports, lists of lost changes.
enum class Priority { kFirst, kSessions, kReads, kBulk };

// For whom, and how urgently, something is queued. The text is not copied.
struct Flow {
  absl::string_view owner;  // "ROLE/NAME" of a caller; empty: the process itself
  Priority priority = Priority::kFirst;
};

template <typename Entry>
class FairQueue {
 public:
  using Pushed = typename FairLine<Entry>::Pushed;
  static constexpr int kInARow = 8;

  // `entries_max`: how many entries each priority has room for.
  explicit FairQueue(int64_t entries_max)
      : lines_{Line(entries_max), Line(entries_max), Line(entries_max), Line(entries_max)} {}
  FairQueue(const FairQueue&) = delete;
  FairQueue& operator=(const FairQueue&) = delete;

  // Adds `entry`. If its priority has no room, puts another entry of this priority out, or refuses
  // `entry` and leaves it as it is (FairLine).
  Pushed Push(const Flow& flow, Entry&& entry) {
    return lines_[static_cast<size_t>(flow.priority)].Push(flow.owner, std::move(entry));
  }

  // Removes the next entry and returns it; nothing if the queue is empty.
  std::optional<Entry> Pop() {
    for (size_t priority = 0; priority < kPriorities; ++priority) {
      if (IsNext(priority)) return lines_[priority].Pop();
    }
    return std::nullopt;
  }

  // Calls `leaves`, which takes a const Entry&, for each entry, and removes the entries for which
  // it returns true. `leaves` must not use the queue.
  template <typename Leaves>
  void RemoveIf(const Leaves& leaves) {
    for (Line& line : lines_) line.RemoveIf(leaves);
  }

  int64_t size() const {
    int64_t size = 0;
    for (const Line& line : lines_) size += line.size();
    return size;
  }
  bool empty() const { return size() == 0; }

 private:
  using Line = FairLine<Entry>;
  static constexpr size_t kPriorities = 4;

  // Whether Pop takes an entry of this priority, if it has not taken one of a better priority.
  bool IsNext(size_t priority) {
    int& in_a_row = in_a_row_[priority];
    bool worse_waits = false;
    for (size_t worse = priority + 1; worse < kPriorities; ++worse) {
      if (!lines_[worse].empty()) worse_waits = true;
    }
    const bool is_next = !lines_[priority].empty() && (!worse_waits || in_a_row < kInARow);
    in_a_row = is_next && worse_waits ? in_a_row + 1 : 0;
    return is_next;
  }

  std::array<Line, kPriorities> lines_;  // by priority
  std::array<int, kPriorities> in_a_row_ = {};
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_GROUND_FAIR_QUEUE_H_
