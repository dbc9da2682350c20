// FairLine: a bounded queue in which owners take turns, so that no owner can fill it for the
// others. Each entry has a weight, which says how much work it is.
//
//   - The owners take turns. An owner that comes is last.
//   - In its turn an owner gets a quantum of work, and keeps the turn until its next entry weighs
//     more than what it has left. What it has left then counts in its next turn, so an entry that
//     weighs more than a quantum waits for as many turns as it takes. An owner without entries has
//     nothing left.
//   - Entries of one owner leave in the order in which they came.
//   - The owner whose name is empty is the process itself. Its entries take turns like those of
//     others, but they have room of their own for `entries_max` entries. So no other owner takes
//     their room, they take nobody's, and none of them is put out.
// If the line is full, Push compares owners by the weight of all their entries. The heaviest owner
// is the one with most weight; among equals, the one whose weight changed last. If the owner of the
// new entry would be as heavy as the heaviest owner or heavier, the new entry is refused. Else the
// newest entry of the heaviest owner is put out.
//
// So an owner that floods the line keeps another one waiting for a quantum of work in each turn, and
// a full line is shared equally by those who want most of it. Push takes time logarithmic in the
// number of owners. So does Pop, if no entry weighs more than a quantum, on the average of all
// entries. Pop allocates no memory.
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

  // An entry with its weight.
  struct Item {
    Entry entry;
    int64_t weight = 0;
  };

  // REQUIRES: `quantum` is above 0.
  FairLine(int64_t entries_max, int64_t quantum) : entries_max_(entries_max), quantum_(quantum) {}
  FairLine(const FairLine&) = delete;
  FairLine& operator=(const FairLine&) = delete;

  // Adds `entry` of the owner `name`, and puts another one out if the line is full. If the entry is
  // refused, leaves `entry` as it is. REQUIRES: `weight` is above 0.
  Pushed Push(absl::string_view name, int64_t weight, Entry&& entry) {
    Pushed pushed;
    const int64_t sharing = name.empty() ? own_size_ : size_ - own_size_;
    if (sharing >= entries_max_) {
      if (!MayDisplace(name, weight)) return pushed;
      Owner* const heaviest = std::get<Owner*>(*by_weight_.rbegin());
      pushed.put_out = Remove(heaviest, std::prev(heaviest->items.end())).entry;
    }
    pushed.taken = true;
    Append(name, weight, std::move(entry));
    return pushed;
  }

  // Removes the next entry and returns it; nothing if the line is empty.
  std::optional<Item> Pop() {
    if (ring_.empty()) return std::nullopt;
    while (!ServesFirst()) ring_.splice(ring_.end(), ring_, ring_.begin());
    Owner* const owner = ring_.front();
    owner->left -= owner->items.front().weight;
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
  // The weight of the heaviest owner's entries, without the process itself.
  int64_t heaviest() const { return by_weight_.empty() ? 0 : std::get<0>(*by_weight_.rbegin()); }
  bool empty() const { return size_ == 0; }

 private:
  static constexpr size_t kIdleMax = 64;
  static constexpr size_t kSpareMax = 4096;

  using Items = std::list<Item>;
  struct Owner;
  using Ring = std::list<Owner*>;
  // The weight of its entries, and when that changed.
  using Weight = std::tuple<int64_t, int64_t, Owner*>;
  using Owners = std::map<std::string, Owner, std::less<>>;
  struct Owner {
    typename Owners::iterator self;
    typename Ring::iterator place;  // in ring_ if the owner has entries, else in idle_
    Items items;                    // oldest first
    int64_t left = 0;               // of its quanta: how much work it may take
    int64_t weight = 0;             // of its entries
    int64_t changed = 0;            // the value of changes_ when `weight` changed last
    typename std::set<Weight>::node_type outside;  // while the owner is not in by_weight_

    bool is_own() const { return self->first.empty(); }
  };

  // Whether the first owner of the ring may take its next entry. Gives it a quantum if its turn
  // begins.
  bool ServesFirst() {
    Owner* const owner = ring_.front();
    if (in_turn_ != owner) owner->left += quantum_;
    const bool serves = owner->items.front().weight <= owner->left;
    in_turn_ = serves ? owner : nullptr;
    return serves;
  }

  bool MayDisplace(absl::string_view name, int64_t weight) const {
    if (name.empty() || by_weight_.empty()) return false;
    const auto found = owners_.find(name);
    const int64_t has = found == owners_.end() ? 0 : found->second.weight;
    return has + weight < std::get<0>(*by_weight_.rbegin());
  }

  void Append(absl::string_view name, int64_t weight, Entry&& entry) {
    Owner* const owner = FindOrAdd(name);
    if (owner->items.empty()) ring_.splice(ring_.end(), idle_, owner->place);
    if (spare_.empty()) spare_.emplace_back();
    spare_.back().entry = std::move(entry);
    spare_.back().weight = weight;
    owner->items.splice(owner->items.end(), spare_, std::prev(spare_.end()));
    Resize(owner, 1, weight);
  }

  template <typename Leaves>
  void RemoveOf(Owner* owner, const Leaves& leaves) {
    for (auto at = owner->items.begin(); at != owner->items.end();) {
      const auto item = at++;
      if (!leaves(std::as_const(item->entry))) continue;
      Remove(owner, item);
    }
  }

  // Removes one entry. If it was the owner's last one, the owner leaves the ring.
  Item Remove(Owner* owner, typename Items::iterator at) {
    Item item = std::exchange(*at, Item());
    spare_.splice(spare_.end(), owner->items, at);
    if (spare_.size() > kSpareMax) spare_.pop_back();
    Resize(owner, -1, -item.weight);
    if (owner->items.empty()) Forget(owner);
    return item;
  }

  Owner* FindOrAdd(absl::string_view name) {
    const auto found = owners_.find(name);
    if (found != owners_.end()) return &found->second;
    const auto added = owners_.try_emplace(std::string(name)).first;
    Owner* const owner = &added->second;
    owner->self = added;
    owner->place = idle_.insert(idle_.end(), owner);
    owner->outside = by_weight_.extract(by_weight_.emplace(0, 0, owner).first);
    return owner;
  }

  void Resize(Owner* owner, int64_t entries, int64_t weight) {
    size_ += entries;
    if (owner->is_own()) {
      own_size_ += entries;
      return;
    }
    if (owner->weight > 0) {
      owner->outside = by_weight_.extract(Weight(owner->weight, owner->changed, owner));
    }
    owner->weight += weight;
    owner->changed = ++changes_;
    if (owner->weight == 0) return;
    owner->outside.value() = Weight(owner->weight, owner->changed, owner);
    by_weight_.insert(std::move(owner->outside));
  }

  // Keeps an owner without entries for a while, because it may come again soon. Forgets the one
  // that has been kept for longest if there are too many.
  void Forget(Owner* owner) {
    owner->left = 0;
    if (in_turn_ == owner) in_turn_ = nullptr;
    idle_.splice(idle_.end(), ring_, owner->place);
    if (idle_.size() <= kIdleMax) return;
    Owner* const forgotten = idle_.front();
    idle_.pop_front();
    owners_.erase(forgotten->self);
  }

  const int64_t entries_max_;
  const int64_t quantum_;
  int64_t size_ = 0;
  int64_t own_size_ = 0;  // of the process itself
  int64_t changes_ = 0;
  Owners owners_;               // those that have entries, and at most kIdleMax others
  Ring ring_;                   // the owners that have entries, the next one first
  Owner* in_turn_ = nullptr;    // the first one of the ring, if its turn has begun
  Ring idle_;                   // the owners without entries, the first to be forgotten first
  std::set<Weight> by_weight_;  // not of the process itself; the heaviest owner is the last one
  Items spare_;                 // for entries that come later
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_GROUND_FAIR_LINE_H_
