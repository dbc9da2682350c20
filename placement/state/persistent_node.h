// NodeBlock: a node of a PersistentMap: a header, an array of keys and a parallel array of items,
// in one block of memory.
//
// The items of a leaf are the map's values; the items of an inner node are its children. Nodes
// count their references. If a node has only one holder, that holder may change the node in place.
// The file counted.h says why std::shared_ptr cannot count the references.
#ifndef BERTH_PLACEMENT_STATE_PERSISTENT_NODE_H_
#define BERTH_PLACEMENT_STATE_PERSISTENT_NODE_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "placement/ground/check.h"

namespace berth::placement {

struct NodeHeader {
  std::atomic<uint32_t> references{1};
  uint16_t count = 0;
  uint16_t capacity = 0;
  uint32_t level = 0;  // 0: a leaf
};

template <typename Key, typename Item>
class NodeBlock : public NodeHeader {
 public:
  // An empty node with one reference and capacity for `capacity` entries.
  static NodeBlock* Make(uint32_t level, int capacity) {
    void* memory = ::operator new(ItemsOffset(capacity) + kItemBytes * capacity);
    NodeBlock* block = new (memory) NodeBlock;
    block->level = level;
    block->capacity = static_cast<uint16_t>(capacity);
    return block;
  }
  static void Destroy(NodeBlock* block) {
    std::destroy_n(block->keys(), block->count);
    if constexpr (!kEmptyItems) std::destroy_n(block->items(), block->count);
    block->~NodeBlock();
    ::operator delete(block);
  }

  const Key& key(int at) const { return const_cast<NodeBlock*>(this)->keys()[at]; }
  const Item& item(int at) const { return const_cast<NodeBlock*>(this)->item(at); }
  Item& item(int at) {
    if constexpr (kEmptyItems) {
      static Item none;
      return none;
    } else {
      return items()[at];
    }
  }

  // Inserts an entry before the entry at `at`. REQUIRES: count < capacity.
  void Insert(int at, Key key, Item item) {
    BERTH_CHECK(count < capacity);
    InsertInto(keys(), at, std::move(key));
    if constexpr (!kEmptyItems) InsertInto(items(), at, std::move(item));
    ++count;
  }
  void Remove(int at) {
    RemoveFrom(keys(), at);
    if constexpr (!kEmptyItems) RemoveFrom(items(), at);
    --count;
  }
  // Appends the entries [first, last) of `from`. If `move`, the entries are moved, and `from` keeps
  // moved-from values; else they are copied. REQUIRES: the capacity suffices.
  void Append(NodeBlock& from, int first, int last, bool move) {
    BERTH_CHECK(count + last - first <= capacity);
    AppendTo(keys(), from.keys(), first, last, move);
    if constexpr (!kEmptyItems) AppendTo(items(), from.items(), first, last, move);
    count = static_cast<uint16_t>(count + last - first);
  }
  void ReplaceKey(int at, Key key) { keys()[at] = std::move(key); }

 private:
  static_assert(std::is_nothrow_move_constructible_v<Key> &&
                std::is_nothrow_move_constructible_v<Item>);
  static_assert(alignof(Key) <= alignof(std::max_align_t) &&
                alignof(Item) <= alignof(std::max_align_t));
  static constexpr bool kEmptyItems = std::is_empty_v<Item>;
  static constexpr size_t kItemBytes = kEmptyItems ? 0 : sizeof(Item);

  static constexpr size_t RoundUp(size_t offset, size_t alignment) {
    return (offset + alignment - 1) / alignment * alignment;
  }
  static constexpr size_t kKeysOffset = RoundUp(sizeof(NodeHeader), alignof(Key));
  static size_t ItemsOffset(int capacity) {
    return RoundUp(kKeysOffset + sizeof(Key) * capacity, alignof(Item));
  }
  Key* keys() { return reinterpret_cast<Key*>(reinterpret_cast<char*>(this) + kKeysOffset); }
  Item* items() {
    return reinterpret_cast<Item*>(reinterpret_cast<char*>(this) + ItemsOffset(capacity));
  }

  template <typename T>
  void InsertInto(T* array, int at, T value) {
    if (at == count) {
      std::construct_at(array + count, std::move(value));
      return;
    }
    std::construct_at(array + count, std::move(array[count - 1]));
    std::move_backward(array + at, array + count - 1, array + count);
    array[at] = std::move(value);
  }
  template <typename T>
  void RemoveFrom(T* array, int at) {
    std::move(array + at + 1, array + count, array + at);
    std::destroy_at(array + count - 1);
  }
  template <typename T>
  void AppendTo(T* to, T* from, int first, int last, bool move) {
    if (move) {
      std::uninitialized_move(from + first, from + last, to + count);
    } else {
      std::uninitialized_copy(from + first, from + last, to + count);
    }
  }
};

// A counted pointer to a node of a map from Key to Value.
template <typename Key, typename Value>
class NodePtr {
 public:
  using Leaf = NodeBlock<Key, Value>;
  using Inner = NodeBlock<Key, NodePtr>;

  NodePtr() = default;
  // Takes over the only reference of a new node.
  explicit NodePtr(NodeHeader* node) : node_(node) {}
  NodePtr(const NodePtr& other) : node_(other.node_) {
    if (node_ != nullptr) node_->references.fetch_add(1, std::memory_order_relaxed);
  }
  NodePtr(NodePtr&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  NodePtr& operator=(NodePtr other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~NodePtr() {
    if (node_ == nullptr || node_->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (node_->level == 0) {
      Leaf::Destroy(static_cast<Leaf*>(node_));
    } else {
      Inner::Destroy(static_cast<Inner*>(node_));
    }
  }

  explicit operator bool() const { return node_ != nullptr; }
  const NodeHeader* operator->() const { return node_; }
  bool is_leaf() const { return node_->level == 0; }
  Leaf& leaf() const { return *static_cast<Leaf*>(node_); }
  Inner& inner() const { return *static_cast<Inner*>(node_); }
  template <typename Block>
  Block& As() const {
    return *static_cast<Block*>(node_);
  }
  // Whether nobody else holds the node. If so, all reads by former holders have finished.
  bool IsSole() const { return node_->references.load(std::memory_order_acquire) == 1; }

 private:
  NodeHeader* node_ = nullptr;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STATE_PERSISTENT_NODE_H_
