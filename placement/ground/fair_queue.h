// FairQueue: a bounded queue with priorities, in each of which owners take turns.
//
// Each entry has an owner and a priority. Each priority is a line of its own (FairLine), with room
// for `entries_max` entries: so no priority takes room from another one, and whoever floods the
// queue at one priority keeps nobody out at another one.
//
// Pop takes an entry of the best priority that has entries, with one exception: while worse ones
// wait, a priority gets kShare times the work that they get. It may be ahead of this by one entry.
// Example: after kShare entries of one priority Pop takes one of a worse one, if all weigh the same.
// The same holds among the worse ones. Within a priority Pop takes what FairLine says.
//
// A value without a lock. `Entry` must have a default constructor and be movable.
#ifndef BERTH_PLACEMENT_GROUND_FAIR_QUEUE_H_
#define BERTH_PLACEMENT_GROUND_FAIR_QUEUE_H_

#include <algorithm>
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
  int64_t weight = 1;  // how much work it is; above 0
};

template <typename Entry>
class FairQueue {
 public:
  using Pushed = typename FairLine<Entry>::Pushed;
  static constexpr int64_t kShare = 8;

  // `entries_max`: how many entries each priority has room for. `quantum`: how much work of an owner
  // is done in one of its turns.
  FairQueue(int64_t entries_max, int64_t quantum)
      : lines_{Line(entries_max, quantum), Line(entries_max, quantum), Line(entries_max, quantum),
               Line(entries_max, quantum)} {}
  FairQueue(const FairQueue&) = delete;
  FairQueue& operator=(const FairQueue&) = delete;

  // Adds `entry`. If its priority has no room, puts another entry of this priority out, or refuses
  // `entry` and leaves it as it is (FairLine).
  Pushed Push(const Flow& flow, Entry&& entry) {
    return lines_[static_cast<size_t>(flow.priority)].Push(flow.owner, flow.weight,
                                                           std::move(entry));
  }

  // Removes the next entry and returns it; nothing if the queue is empty.
  std::optional<Entry> Pop() {
    for (size_t priority = 0; priority < kPriorities; ++priority) {
      if (!IsNext(priority)) continue;
      std::optional<typename Line::Item> next = lines_[priority].Pop();
      Note(priority, next->weight);
      return std::move(next->entry);
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
  // The weight of the heaviest owner's entries of this priority (FairLine).
  int64_t heaviest(Priority priority) const {
    return lines_[static_cast<size_t>(priority)].heaviest();
  }

 private:
  using Line = FairLine<Entry>;
  static constexpr size_t kPriorities = 4;

  // Whether an entry of a priority worse than this one waits.
  bool WorseWaits(size_t priority) const {
    for (size_t worse = priority + 1; worse < kPriorities; ++worse) {
      if (!lines_[worse].empty()) return true;
    }
    return false;
  }
  // Whether Pop takes an entry of this priority, if it has not taken one of a better priority.
  bool IsNext(size_t priority) const {
    if (lines_[priority].empty()) return false;
    return ahead_[priority] < kShare || !WorseWaits(priority);
  }
  // Notes that an entry of this weight was taken.
  void Note(size_t priority, int64_t weight) {
    ahead_[priority] = WorseWaits(priority) ? ahead_[priority] + weight : 0;
    for (size_t better = 0; better < priority; ++better) {
      ahead_[better] = std::max<int64_t>(ahead_[better] - kShare * weight, 0);
    }
  }

  std::array<Line, kPriorities> lines_;  // by priority
  // For each priority, by how much work it is ahead of the worse ones. From kShare on, they are next.
  std::array<int64_t, kPriorities> ahead_ = {};
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_GROUND_FAIR_QUEUE_H_
