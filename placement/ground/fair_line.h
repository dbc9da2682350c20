// FairLine: a bounded queue in which owners take turns, so that no owner can fill it for the
// others.
//
//   - The owners take turns, one entry each. An owner that comes is last.
//   - Entries of one owner leave in the order in which they came.
//   - The owner whose name is empty is the process itself. Its entries take turns like those of
//     others, but they have room of their own for `entries_max` entries. So no other owner takes
//     their room, they take nobody's, and none of them is put out.
// If the line is full, Push compares owners by the number of their entries. The heaviest owner is
// the one with most entries; among equals, the one whose number changed last. If the owner of the
// new entry would have as many entries as the heaviest owner or more, the new entry is refused.
// Else the newest entry of the heaviest owner is put out.
//
// So an owner that floods the line keeps another one waiting for one entry in each turn, and a full
// line is shared equally by those who want most of it. Push and Pop take time logarithmic in the
// number of owners, and Pop allocates no memory.
//
// A value without a lock. `Entry` must have a default constructor and be movable. The header has no
// BERTH_CHECK, because the services of a tracker include it beside the check.h of tracker/ground.
#ifndef BERTH_PLACEMENT_GROUND_FAIR_LINE_H_
#define BERTH_PLACEMENT_GROUND_FAIR_LINE_H_

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

template <typename Entry>
class FairLine {
 public:
  // What Push did.
  struct Pushed {
    bool taken = false;            // false: the new entry was refused
    std::optional<Entry> put_out;  // the entry that had to leave for the new one
  };

  explicit FairLine(int64_t entries_max) : entries_max_(entries_max) {}
  FairLine(const FairLine&) = delete;
  FairLine& operator=(const FairLine&) = delete;

  // Adds `entry` of the owner `name`, and puts another one out if the line is full. If the entry is
  // refused, leaves `entry` as it is.
  Pushed Push(absl::string_view name, Entry&& entry) {
    Pushed pushed;
    const int64_t sharing = name.empty() ? own_size_ : size_ - own_size_;
    if (sharing >= entries_max_) {
      if (!MayDisplace(name)) return pushed;
      Owner* const heaviest = std::get<Owner*>(*by_count_.rbegin());
      pushed.put_out = Remove(heaviest, std::prev(heaviest->items.end()));
    }
    pushed.taken = true;
    Append(name, std::move(entry));
    return pushed;
  }

  // Removes the next entry and returns it; nothing if the line is empty.
  std::optional<Entry> Pop() {
    if (ring_.empty()) return std::nullopt;
    Owner* const owner = ring_.front();
    ring_.splice(ring_.end(), ring_, ring_.begin());
    return Remove(owner, owner->items.begin());
  }

  // Calls `leaves`, which takes a const Entry&, for each entry, and removes the entries for which
  // it returns true. `leaves` must not use the line.
  template <typename Leaves>
  void RemoveIf(const Leaves& leaves) {
    for (auto at = ring_.begin(); at != ring_.end();) {
      Owner* const owner = *at++;  // if its last entry is removed, it leaves the ring
      RemoveOf(owner, leaves);
    }
  }

  int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  static constexpr size_t kIdleMax = 64;

  using Items = std::list<Entry>;
  struct Owner;
  using Ring = std::list<Owner*>;
  // The number of its entries, and when that changed.
  using Count = std::tuple<int64_t, int64_t, Owner*>;
  using Owners = std::map<std::string, Owner, std::less<>>;
  struct Owner {
    typename Owners::iterator self;
    typename Ring::iterator place;  // in ring_ if the owner has entries, else in idle_
    Items items;                    // oldest first
    int64_t count = 0;
    int64_t changed = 0;                          // the value of changes_ then
    typename std::set<Count>::node_type outside;  // while the owner is not in by_count_

    bool is_own() const { return self->first.empty(); }
  };

  bool MayDisplace(absl::string_view name) const {
    if (name.empty() || by_count_.empty()) return false;
    const auto found = owners_.find(name);
    const int64_t count = found == owners_.end() ? 0 : found->second.count;
    return count + 1 < std::get<0>(*by_count_.rbegin());
  }

  void Append(absl::string_view name, Entry&& entry) {
    Owner* const owner = FindOrAdd(name);
    if (owner->items.empty()) ring_.splice(ring_.end(), idle_, owner->place);
    if (spare_.empty()) spare_.emplace_back();
    spare_.back() = std::move(entry);
    owner->items.splice(owner->items.end(), spare_, std::prev(spare_.end()));
    Resize(owner, 1);
  }

  template <typename Leaves>
  void RemoveOf(Owner* owner, const Leaves& leaves) {
    for (auto at = owner->items.begin(); at != owner->items.end();) {
      const auto item = at++;
      if (!leaves(std::as_const(*item))) continue;
      Remove(owner, item);
    }
  }

  // Removes one entry. If it was the owner's last one, the owner leaves the ring.
  Entry Remove(Owner* owner, typename Items::iterator item) {
    Entry entry = std::exchange(*item, Entry());
    spare_.splice(spare_.end(), owner->items, item);
    Resize(owner, -1);
    if (owner->items.empty()) Forget(owner);
    return entry;
  }

  Owner* FindOrAdd(absl::string_view name) {
    const auto found = owners_.find(name);
    if (found != owners_.end()) return &found->second;
    const auto added = owners_.try_emplace(std::string(name)).first;
    Owner* const owner = &added->second;
    owner->self = added;
    owner->place = idle_.insert(idle_.end(), owner);
    owner->outside = by_count_.extract(by_count_.emplace(0, 0, owner).first);
    return owner;
  }

  void Resize(Owner* owner, int64_t more) {
    size_ += more;
    if (owner->is_own()) {
      own_size_ += more;
      return;
    }
    if (owner->count > 0) {
      owner->outside = by_count_.extract(Count(owner->count, owner->changed, owner));
    }
    owner->count += more;
    owner->changed = ++changes_;
    if (owner->count == 0) return;
    owner->outside.value() = Count(owner->count, owner->changed, owner);
    by_count_.insert(std::move(owner->outside));
  }

  // Keeps an owner without entries for a while, because it may come again soon. Forgets the one
  // that has been kept for longest if there are too many.
  void Forget(Owner* owner) {
    idle_.splice(idle_.end(), ring_, owner->place);
    if (idle_.size() <= kIdleMax) return;
    Owner* const forgotten = idle_.front();
    idle_.pop_front();
    owners_.erase(forgotten->self);
  }

  const int64_t entries_max_;
  int64_t size_ = 0;
  int64_t own_size_ = 0;  // of the process itself
  int64_t changes_ = 0;
  Owners owners_;             // those that have entries, and at most kIdleMax others
  Ring ring_;                 // the owners that have entries, the next one first
  Ring idle_;                 // the owners without entries, the first to be forgotten first
  std::set<Count> by_count_;  // not of the process itself; the heaviest owner is the last one
  Items spare_;               // for entries that come later
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_GROUND_FAIR_LINE_H_
