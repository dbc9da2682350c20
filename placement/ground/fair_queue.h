// FairQueue: a bounded queue in which owners take turns, so that no owner can fill it for the
// others.
//
// Each entry has an owner and a priority. Pop serves priorities first:
//   - It takes an entry of the best priority that has entries. After kInARow entries of a priority
//     in a row, each taken while an entry of a worse priority waited, it takes one entry of the
//     worse ones, chosen by the same rule among them.
//   - Within a priority the owners take turns, one entry each. An owner that comes is last.
//   - Entries of one owner and one priority leave in the order in which they came.
// If the queue is full, Push compares owners by the number of their entries, of all priorities. The
// heaviest owner is the one with most entries; among equals, the one whose number changed last. If
// the owner of the new entry would have as many entries as the heaviest owner or more, the new
// entry is refused. Else the newest entry of the heaviest owner is put out.
//
// So an owner that floods the queue keeps another one waiting for one entry in each turn, and a
// full queue is shared equally by those who want most of it. Push and Pop take time logarithmic in
// the number of owners, and Pop allocates no memory.
//
// A value without a lock. `Entry` must have a default constructor and be movable. The header has no
// BERTH_CHECK, because the services of a tracker include it beside the check.h of tracker/ground.
#ifndef BERTH_PLACEMENT_GROUND_FAIR_QUEUE_H_
#define BERTH_PLACEMENT_GROUND_FAIR_QUEUE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/string_view.h"

namespace berth::placement {

// What comes first. kFirst: claims, sessions of trackers, and what a process does for itself.
// kReads: searches, lists, watches. kBulk: audits, exports, imports, lists of lost changes.
enum class Priority { kFirst, kReads, kBulk };

// For whom, and how urgently, something is queued. The text is not copied.
struct Flow {
  absl::string_view owner;  // "ROLE/NAME" of a caller; empty: the process itself
  Priority priority = Priority::kFirst;
};

template <typename Entry>
class FairQueue {
 public:
  static constexpr int kInARow = 8;

  // What Push did.
  struct Pushed {
    bool taken = false;            // false: the new entry was refused
    std::optional<Entry> put_out;  // the entry that had to leave for the new one
  };

  explicit FairQueue(int64_t entries_max) : entries_max_(entries_max) {}
  FairQueue(const FairQueue&) = delete;
  FairQueue& operator=(const FairQueue&) = delete;

  // Adds `entry`, and puts another one out if the queue is full. If the entry is refused, leaves
  // `entry` as it is.
  Pushed Push(const Flow& flow, Entry&& entry) {
    Pushed pushed;
    if (size_ >= entries_max_) {
      if (!MayDisplace(flow.owner)) return pushed;
      pushed.put_out = TakeNewestOf(std::get<Owner*>(*by_count_.rbegin()));
    }
    pushed.taken = true;
    Append(flow, std::move(entry));
    return pushed;
  }

  // Removes the next entry and returns it; nothing if the queue is empty.
  std::optional<Entry> Pop() {
    for (size_t priority = 0; priority < kPriorities; ++priority) {
      if (!IsNext(priority)) continue;
      Ring& ring = rings_[priority];
      Owner* const owner = ring.front();
      ring.splice(ring.end(), ring, ring.begin());
      return Remove(owner, priority, owner->items[priority].begin());
    }
    return std::nullopt;
  }

  // Calls `leaves`, which takes a const Entry&, for each entry, and removes the entries for which
  // it returns true. `leaves` must not use the queue.
  template <typename Leaves>
  void RemoveIf(const Leaves& leaves) {
    for (size_t priority = 0; priority < kPriorities; ++priority) {
      for (auto at = rings_[priority].begin(); at != rings_[priority].end();) {
        Owner* const owner = *at++;  // if its last entry is removed, it leaves the ring
        RemoveOf(owner, priority, leaves);
      }
    }
  }

  int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  static constexpr size_t kPriorities = 3;
  static constexpr size_t kIdle = kPriorities;  // the ring of the owners without entries
  static constexpr size_t kRings = kPriorities + 1;
  static constexpr size_t kIdleMax = 64;

  struct Item {
    Entry entry;
    int64_t number = 0;  // of its arrival
  };
  struct Owner;
  using Items = std::list<Item>;
  using Ring = std::list<Owner*>;
  // The number of its entries, and when that changed.
  using Weight = std::tuple<int64_t, int64_t, Owner*>;

  using Owners = std::map<std::string, Owner, std::less<>>;
  struct Owner {
    typename Owners::iterator self;
    std::array<Items, kPriorities> items;  // by priority, oldest first
    // The owner's place in each ring. While the owner is not in a ring, `outside` has the place.
    std::array<typename Ring::iterator, kRings> places;
    std::array<Ring, kRings> outside;
    int64_t count = 0;
    int64_t changed = 0;  // when `count` changed last, as a number of changes_
    typename std::set<Weight>::node_type weight;  // while the owner has no entries
  };

  // Whether Pop takes an entry of this priority, if it has not taken one of a better priority.
  bool IsNext(size_t priority) {
    int& in_a_row = in_a_row_[priority];
    bool worse_waits = false;
    for (size_t worse = priority + 1; worse < kPriorities; ++worse) {
      if (!rings_[worse].empty()) worse_waits = true;
    }
    const bool is_next = !rings_[priority].empty() && (!worse_waits || in_a_row < kInARow);
    in_a_row = is_next && worse_waits ? in_a_row + 1 : 0;
    return is_next;
  }

  bool MayDisplace(absl::string_view owner) const {
    const auto found = owners_.find(owner);
    const int64_t count = found == owners_.end() ? 0 : found->second.count;
    return !by_count_.empty() && count + 1 < std::get<0>(*by_count_.rbegin());
  }

  void Append(const Flow& flow, Entry&& entry) {
    const auto priority = static_cast<size_t>(flow.priority);
    Owner* const owner = FindOrAdd(flow.owner);
    if (spare_.empty()) spare_.emplace_back();
    spare_.back().entry = std::move(entry);
    spare_.back().number = ++arrivals_;
    Items& items = owner->items[priority];
    if (items.empty()) Enter(priority, owner);
    items.splice(items.end(), spare_, std::prev(spare_.end()));
    ++size_;
    SetCount(owner, owner->count + 1);
  }

  Entry TakeNewestOf(Owner* owner) {
    size_t newest = kPriorities;
    for (size_t priority = 0; priority < kPriorities; ++priority) {
      const Items& items = owner->items[priority];
      if (items.empty()) continue;
      const bool is_newer =
          newest == kPriorities || owner->items[newest].back().number < items.back().number;
      if (is_newer) newest = priority;
    }
    return Remove(owner, newest, std::prev(owner->items[newest].end()));
  }

  template <typename Leaves>
  void RemoveOf(Owner* owner, size_t priority, const Leaves& leaves) {
    Items& items = owner->items[priority];
    for (auto at = items.begin(); at != items.end();) {
      const auto item = at++;
      if (!leaves(std::as_const(item->entry))) continue;
      const bool is_last = owner->count == 1;
      Remove(owner, priority, item);
      if (is_last) return;  // `owner` may be gone
    }
  }

  // Removes one entry. If it was the owner's last one, the owner may be gone afterwards.
  Entry Remove(Owner* owner, size_t priority, typename Items::iterator item) {
    Items& items = owner->items[priority];
    Entry entry = std::exchange(item->entry, Entry());
    spare_.splice(spare_.end(), items, item);
    if (items.empty()) Leave(priority, owner);
    --size_;
    SetCount(owner, owner->count - 1);
    return entry;
  }

  Owner* FindOrAdd(absl::string_view name) {
    const auto found = owners_.find(name);
    if (found != owners_.end()) {
      if (found->second.count == 0) Leave(kIdle, &found->second);
      return &found->second;
    }
    const auto added = owners_.try_emplace(std::string(name)).first;
    Owner* const owner = &added->second;
    owner->self = added;
    for (size_t ring = 0; ring < kRings; ++ring) {
      owner->outside[ring].push_back(owner);
      owner->places[ring] = owner->outside[ring].begin();
    }
    owner->weight = by_count_.extract(by_count_.emplace(0, 0, owner).first);
    return owner;
  }

  void SetCount(Owner* owner, int64_t count) {
    if (owner->count > 0) {
      owner->weight = by_count_.extract(Weight(owner->count, owner->changed, owner));
    }
    owner->count = count;
    owner->changed = ++changes_;
    if (count == 0) return Forget(owner);
    owner->weight.value() = Weight(owner->count, owner->changed, owner);
    by_count_.insert(std::move(owner->weight));
  }

  // Keeps an owner without entries for a while, because it may come again soon.
  void Forget(Owner* owner) {
    Enter(kIdle, owner);
    if (rings_[kIdle].size() <= kIdleMax) return;
    Owner* const forgotten = rings_[kIdle].front();
    Leave(kIdle, forgotten);
    owners_.erase(forgotten->self);
  }

  void Enter(size_t ring, Owner* owner) {
    rings_[ring].splice(rings_[ring].end(), owner->outside[ring], owner->places[ring]);
  }
  void Leave(size_t ring, Owner* owner) {
    owner->outside[ring].splice(owner->outside[ring].end(), rings_[ring], owner->places[ring]);
  }

  const int64_t entries_max_;
  int64_t size_ = 0;
  int64_t arrivals_ = 0;
  int64_t changes_ = 0;
  std::array<int, kPriorities> in_a_row_ = {};
  Owners owners_;  // those that have entries, and at most kIdleMax others
  // For each priority the owners that have entries of it, the next one first; then those without
  // entries, the first to be forgotten first.
  std::array<Ring, kRings> rings_;
  std::set<Weight> by_count_;  // the heaviest owner is the last one
  Items spare_;                // for entries that come later
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_GROUND_FAIR_QUEUE_H_
