// PersistentMap: an ordered map whose copy costs one pointer.
//
// A B+-tree of counted nodes. A copy of the map shares all nodes with the original. A change
// touches the nodes on the path to the changed entry. Of these nodes, those that another copy of
// the map also holds are copied first; the others are changed in place. So a batch of changes costs
// about as much as in an ordinary map, and no other copy changes. Different threads may use
// different copies. Many threads may read one copy, or one thread may change it.
//
// Invariants:
//   1. All leaves are at level 0; no node is empty. The root of an empty map is null.
//   2. In an inner node, key i (i > 0) is greater than every key of child i - 1, and not greater
//      than any key of child i; key 0 is never read.
//   3. A node is changed only if no other map holds the node or a node above it.
//
// Keys are compared with `<`. A probe may have any type that can be compared with keys, so that a
// map from std::string is searched by an absl::string_view without a copy.
#ifndef BERTH_PLACEMENT_STATE_PERSISTENT_MAP_H_
#define BERTH_PLACEMENT_STATE_PERSISTENT_MAP_H_

#include <cstdint>
#include <type_traits>
#include <utility>

#include "placement/state/persistent_node.h"

namespace berth::placement {

template <typename Key, typename Value>
class PersistentMap {
 public:
  PersistentMap() = default;
  PersistentMap(const PersistentMap&) = default;
  PersistentMap& operator=(const PersistentMap&) = default;
  PersistentMap(PersistentMap&& other) noexcept
      : root_(std::move(other.root_)), size_(std::exchange(other.size_, 0)) {}
  PersistentMap& operator=(PersistentMap&& other) noexcept {
    root_ = std::move(other.root_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // The value of the key that equals `probe`, or null. Valid until this map is changed or
  // destroyed.
  template <typename Probe = Key>
  const Value* Find(const Probe& probe) const {
    if (!root_) return nullptr;
    const Node* node = &root_;
    while (!node->is_leaf()) node = &node->inner().item(ChildOf(node->inner(), probe));
    const int at = LowerBound(node->leaf(), probe);
    return IsAt(node->leaf(), at, probe) ? &std::as_const(node->leaf()).item(at) : nullptr;
  }

  // The value of the key that equals `probe`, for changing it; null if there is none. Valid until
  // the next call of a method.
  template <typename Probe = Key>
  Value* Edit(const Probe& probe) {
    if (Find(probe) == nullptr) return nullptr;
    Node* slot = &root_;
    while (!slot->is_leaf()) {
      Inner& inner = Own<Inner>(*slot, 0);
      slot = &inner.item(ChildOf(inner, probe));
    }
    Leaf& leaf = Own<Leaf>(*slot, 0);
    return &leaf.item(LowerBound(leaf, probe));
  }

  // Inserts `key` with `value`, or replaces the value if an equal key is present.
  void Put(Key key, Value value) {
    if (!root_) root_ = Node(Leaf::Make(0, kLeafStep));
    if (MustSplit(root_, key)) AddLevel();
    Node* slot = &root_;
    while (!slot->is_leaf()) {
      Inner& inner = Own<Inner>(*slot, 1);
      int at = ChildOf(inner, key);
      if (MustSplit(inner.item(at), key)) {
        SplitChild(inner, at);
        if (!(key < inner.key(at + 1))) ++at;
      }
      slot = &inner.item(at);
    }
    const int at = LowerBound(slot->leaf(), key);
    if (IsAt(slot->leaf(), at, key)) {
      if constexpr (!std::is_empty_v<Value>) Own<Leaf>(*slot, 0).item(at) = std::move(value);
      return;
    }
    Own<Leaf>(*slot, 1).Insert(at, std::move(key), std::move(value));
    ++size_;
  }

  // Removes the key that equals `probe`. Returns whether it was present. REQUIRES: `probe` does not
  // refer to a key of this map.
  template <typename Probe = Key>
  bool Erase(const Probe& probe) {
    if (Find(probe) == nullptr) return false;
    EraseBelow(root_, probe);
    --size_;
    while (!root_.is_leaf() && root_->count == 1) root_ = Node(std::move(root_.inner().item(0)));
    if (size_ == 0) root_ = Node();
    return true;
  }

  // Calls visit(key, value) in order of keys, until a call returns false. If `visit` returns void,
  // it is called for all entries.
  template <typename Visit>
  void ForEach(Visit visit) const {
    if (root_) Walk(root_, visit);
  }
  // Like ForEach, but only for the keys greater than `after`, which need not be a key of the map.
  template <typename Probe = Key, typename Visit>
  void ForEachFrom(const Probe& after, Visit visit) const {
    if (root_) WalkAfter(root_, after, visit);
  }

 private:
  using Node = NodePtr<Key, Value>;
  using Leaf = typename Node::Leaf;
  using Inner = typename Node::Inner;

  // Nodes are wide, so that the tree has few levels. But copying a node, which counts up the
  // references of all its items, must take less than a microsecond. The capacity of a node grows in
  // small steps, since there are many small maps.
  static constexpr int kLeafMax = 16;
  static constexpr int kLeafStep = 4;
  static constexpr int kInnerMax = 32;
  static constexpr int kInnerStep = 8;

  template <typename Block>
  static constexpr int Max() {
    return std::is_same_v<Block, Leaf> ? kLeafMax : kInnerMax;
  }
  template <typename Block>
  static Block* MakeFor(uint32_t level, int entries) {
    constexpr int kStep = std::is_same_v<Block, Leaf> ? kLeafStep : kInnerStep;
    return Block::Make(level, (entries + kStep - 1) / kStep * kStep);
  }

  template <typename Block, typename Probe>
  static int LowerBound(const Block& block, const Probe& probe) {
    return FirstFrom(block, 0, [&probe](const Key& key) { return key < probe; });
  }
  template <typename Probe>
  static int ChildOf(const Inner& inner, const Probe& probe) {
    return FirstFrom(inner, 1, [&probe](const Key& key) { return !(probe < key); }) - 1;
  }
  // The first position, `low` or greater, for whose key `before` is false; block.count if none.
  template <typename Block, typename Before>
  static int FirstFrom(const Block& block, int low, Before before) {
    int length = block.count - low;
    while (length > 0) {
      const int half = length / 2;
      if (before(block.key(low + half))) {
        low += half + 1;
        length -= half + 1;
      } else {
        length = half;
      }
    }
    return low;
  }
  template <typename Probe>
  static bool IsAt(const Leaf& leaf, int at, const Probe& probe) {
    return at < leaf.count && !(probe < leaf.key(at));
  }

  // Whether `node` is full, so that it must be split before `key` is put below it.
  static bool MustSplit(const Node& node, const Key& key) {
    if (!node.is_leaf()) return node->count == kInnerMax;
    if (node->count < kLeafMax) return false;
    return !IsAt(node.leaf(), LowerBound(node.leaf(), key), key);
  }

  // The node in `slot`, made changeable: the node is copied if another map holds it, too. The
  // result has capacity for `room` more entries.
  template <typename Block>
  static Block& Own(Node& slot, int room) {
    const bool sole = slot.IsSole();
    if (sole && slot->count + room <= slot->capacity) return slot.template As<Block>();
    Block* block = MakeFor<Block>(slot->level, slot->count + room);
    block->Append(slot.template As<Block>(), 0, slot->count, sole);
    slot = Node(block);
    return *block;
  }

  void AddLevel() {
    Inner* inner = MakeFor<Inner>(root_->level + 1, 2);
    Key key = root_.is_leaf() ? root_.leaf().key(0) : std::as_const(root_.inner()).key(0);
    inner->Insert(0, std::move(key), std::move(root_));
    root_ = Node(inner);
    SplitChild(*inner, 0);
  }
  static void SplitChild(Inner& parent, int at) {
    if (parent.item(at).is_leaf()) {
      Split<Leaf>(parent, at);
    } else {
      Split<Inner>(parent, at);
    }
  }
  // Splits the child at `at` into two. REQUIRES: `parent` has capacity for one more child.
  template <typename Block>
  static void Split(Inner& parent, int at) {
    Node old = std::move(parent.item(at));
    const bool sole = old.IsSole();
    const int half = old->count / 2;
    Block* left = MakeFor<Block>(old->level, half);
    Block* right = MakeFor<Block>(old->level, old->count - half);
    left->Append(old.template As<Block>(), 0, half, sole);
    right->Append(old.template As<Block>(), half, old->count, sole);
    parent.item(at) = Node(left);
    parent.Insert(at + 1, right->key(0), Node(right));
  }

  template <typename Probe>
  static void EraseBelow(Node& slot, const Probe& probe) {
    if (slot.is_leaf()) {
      Leaf& leaf = Own<Leaf>(slot, 0);
      leaf.Remove(LowerBound(leaf, probe));
      return;
    }
    Inner& inner = Own<Inner>(slot, 0);
    const int at = ChildOf(inner, probe);
    EraseBelow(inner.item(at), probe);
    if (inner.item(at)->count == 0) {
      inner.Remove(at);
    } else if (inner.item(at).is_leaf()) {
      MergeAround<Leaf>(inner, at);
    } else {
      MergeAround<Inner>(inner, at);
    }
  }
  // If the child at `at` has become small, joins it with a neighbour, provided that both fit into
  // one node.
  template <typename Block>
  static void MergeAround(Inner& parent, int at) {
    if (parent.item(at)->count >= Max<Block>() / 4 || parent.count < 2) return;
    const int first = at > 0 ? at - 1 : at;
    const int together = parent.item(first)->count + parent.item(first + 1)->count;
    if (together > Max<Block>() * 3 / 4) return;
    Node right = std::move(parent.item(first + 1));
    Block& left = Own<Block>(parent.item(first), right->count);
    const int joint = left.count;
    left.Append(right.template As<Block>(), 0, right->count, right.IsSole());
    // Key 0 of the right node was never read, so it may be wrong: the parent's key replaces it.
    if (!right.is_leaf()) left.ReplaceKey(joint, parent.key(first + 1));
    parent.Remove(first + 1);
  }

  template <typename Visit>
  static bool Call(Visit& visit, const Key& key, const Value& value) {
    if constexpr (std::is_same_v<std::invoke_result_t<Visit&, const Key&, const Value&>, bool>) {
      return visit(key, value);
    } else {
      visit(key, value);
      return true;
    }
  }
  template <typename Visit>
  static bool WalkLeaf(const Leaf& leaf, int first, Visit& visit) {
    for (int i = first; i < leaf.count; ++i) {
      if (!Call(visit, leaf.key(i), leaf.item(i))) return false;
    }
    return true;
  }
  // The walks return false as soon as a visit returns false.
  template <typename Visit>
  static bool Walk(const Node& node, Visit& visit) {
    if (node.is_leaf()) return WalkLeaf(node.leaf(), 0, visit);
    for (int i = 0; i < node->count; ++i) {
      if (!Walk(node.inner().item(i), visit)) return false;
    }
    return true;
  }
  template <typename Probe, typename Visit>
  static bool WalkAfter(const Node& node, const Probe& after, Visit& visit) {
    if (node.is_leaf()) {
      const Leaf& leaf = node.leaf();
      const int at = LowerBound(leaf, after);
      return WalkLeaf(leaf, IsAt(leaf, at, after) ? at + 1 : at, visit);
    }
    const int first = ChildOf(node.inner(), after);
    if (!WalkAfter(node.inner().item(first), after, visit)) return false;
    for (int i = first + 1; i < node->count; ++i) {
      if (!Walk(node.inner().item(i), visit)) return false;
    }
    return true;
  }

  Node root_;
  int64_t size_ = 0;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STATE_PERSISTENT_MAP_H_
