// EntityMap: entities by key, as a map of which a copy costs nothing and stays as it is while the
// original changes.
//
// A tree of hashes: a leaf has about sixteen entities, and a branch has sixteen children. A change
// copies the leaf and the branches above it, pointers only, and the rest is shared with older
// copies. A part that was made in the present edition is changed in place, because no copy has it.
// Whoever changes maps counts editions: a new one begins with each copy that is given away.
//
// Constant functions are thread-safe.
#ifndef BERTH_SERVICES_CLIENT_CPP_ENTITY_MAP_H_
#define BERTH_SERVICES_CLIENT_CPP_ENTITY_MAP_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "berth/placement/v1/entity.pb.h"

namespace berth::client {

// The key of an entity, as EntityKind says: a uuid, or the name of a class or trait.
template <typename Entity>
const std::string& KeyOf(const Entity& entity) {
  if constexpr (std::is_same_v<Entity, placement::v1::ProviderUsage>) {
    return entity.provider_uuid();
  } else if constexpr (std::is_same_v<Entity, placement::v1::ResourceClass> ||
                       std::is_same_v<Entity, placement::v1::Trait>) {
    return entity.name();
  } else {
    return entity.uuid();
  }
}

template <typename Entity>
class EntityMap {
 public:
  using Pointer = std::shared_ptr<const Entity>;

  size_t size() const { return size_; }
  // Null: there is none.
  Pointer Find(absl::string_view key) const {
    const uint64_t hash = HashOf(key);
    const Node* node = root_.get();
    for (uint64_t rest = hash; node != nullptr && !node->children.empty(); rest >>= kBits) {
      node = node->children[rest % kWidth].get();
    }
    if (node == nullptr) return nullptr;
    for (const Entry& entry : node->entries) {
      if (entry.Is(hash, key)) return entry.entity;
    }
    return nullptr;
  }
  // Calls `use` with each entity, as a Pointer. The order is none that means anything.
  template <typename Use>
  void ForEach(const Use& use) const {
    Walk(root_.get(), use);
  }

  // Puts `entity` in the place of the one with the same key, if there is one.
  void Put(Pointer entity, uint64_t edition) {
    const std::string& key = KeyOf(*entity);
    const uint64_t hash = HashOf(key);
    int depth = 0;
    Node* leaf = OwnLeaf(hash, edition, &depth);
    for (Entry& entry : leaf->entries) {
      if (!entry.Is(hash, key)) continue;
      entry.entity = std::move(entity);
      return;
    }
    leaf->entries.push_back({hash, std::move(entity)});
    ++size_;
    if (leaf->entries.size() > kWidth && depth < kDepthMax) Split(leaf, depth, edition);
  }
  // Returns whether there was such an entity.
  bool Erase(absl::string_view key, uint64_t edition) {
    if (Find(key) == nullptr) return false;
    const uint64_t hash = HashOf(key);
    int depth = 0;
    Node* leaf = OwnLeaf(hash, edition, &depth);
    for (Entry& entry : leaf->entries) {
      if (!entry.Is(hash, key)) continue;
      std::swap(entry, leaf->entries.back());
      leaf->entries.pop_back();
      --size_;
      break;
    }
    return true;
  }

 private:
  static constexpr int kBits = 4;
  static constexpr size_t kWidth = 1 << kBits;
  static constexpr int kDepthMax = 64 / kBits - 1;

  // The hash stands beside the pointer, because the keys of a leaf are in a dozen places of memory.
  struct Entry {
    bool Is(uint64_t wanted, absl::string_view key) const {
      return hash == wanted && KeyOf(*entity) == key;
    }
    uint64_t hash;
    Pointer entity;
  };
  struct Node {
    uint64_t edition = 0;
    std::vector<std::shared_ptr<Node>> children;  // empty: a leaf
    std::vector<Entry> entries;                   // empty in a branch
  };

  static uint64_t HashOf(absl::string_view key) { return absl::Hash<absl::string_view>{}(key); }

  // The node in `slot`, made or copied unless it belongs to this edition already.
  static Node* Own(std::shared_ptr<Node>* slot, uint64_t edition) {
    if (*slot == nullptr) {
      *slot = std::make_shared<Node>();
    } else if ((*slot)->edition != edition) {
      *slot = std::make_shared<Node>(**slot);
    }
    (*slot)->edition = edition;
    return slot->get();
  }

  Node* OwnLeaf(uint64_t hash, uint64_t edition, int* depth) {
    Node* node = Own(&root_, edition);
    for (; !node->children.empty(); hash >>= kBits, ++*depth) {
      node = Own(&node->children[hash % kWidth], edition);
    }
    return node;
  }

  static void Split(Node* node, int depth, uint64_t edition) {
    node->children.resize(kWidth);
    for (Entry& entry : node->entries) {
      const uint64_t rest = entry.hash >> (kBits * depth);
      Own(&node->children[rest % kWidth], edition)->entries.push_back(std::move(entry));
    }
    node->entries = {};
  }

  template <typename Use>
  static void Walk(const Node* node, const Use& use) {
    if (node == nullptr) return;
    for (const Entry& entry : node->entries) use(entry.entity);
    for (const std::shared_ptr<Node>& child : node->children) Walk(child.get(), use);
  }

  std::shared_ptr<Node> root_;
  size_t size_ = 0;
};

}  // namespace berth::client

#endif  // BERTH_SERVICES_CLIENT_CPP_ENTITY_MAP_H_
