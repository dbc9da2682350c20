// Catalog: the resource classes and traits that exist, by name and by id.
//
// A value; a State shares one until a class or trait comes or goes. Standard names are those that
// do not start with CUSTOM_ (P-33). Ids are handed out in rising order and never reused, so an id
// in an old row cannot come to mean something else.
#ifndef BERTH_PLACEMENT_VALUES_CATALOG_H_
#define BERTH_PLACEMENT_VALUES_CATALOG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "placement/values/types.h"

namespace berth::placement {

// Whether `name` may be the name of a custom class or trait: ^CUSTOM_[A-Z0-9_]+$, at most 255
// characters (P-20, P-21).
bool IsCustomName(absl::string_view name);
// Whether `name` has the form of any class, trait or consumer type: ^[A-Z0-9_]+$, 1..255
// characters.
bool IsUpperName(absl::string_view name);
bool IsStandardName(absl::string_view name);

// Names with ids of one kind.
template <typename IdType>
class NameTable {
 public:
  std::optional<IdType> Find(absl::string_view name) const;
  // The name of `id`. REQUIRES: `id` is present.
  const std::string& NameOf(IdType id) const;
  // The same; null when `id` is absent.
  const std::string* FindName(IdType id) const;
  bool Contains(IdType id) const { return by_id_.contains(id); }
  // REQUIRES: neither `id` nor `name` is present.
  void Insert(IdType id, std::string name);
  // REQUIRES: `id` is present.
  void Erase(IdType id);
  // The id that the next new name gets: one more than the largest that ever was.
  IdType NextId() const { return static_cast<IdType>(next_id_); }
  // Raises NextId to at least `next`; for loading.
  void ReserveIds(uint32_t next) { next_id_ = next > next_id_ ? next : next_id_; }
  // All names in rising order with their ids.
  const absl::btree_map<std::string, IdType>& by_name() const { return by_name_; }

 private:
  absl::btree_map<std::string, IdType> by_name_;
  absl::flat_hash_map<std::string, IdType> index_;
  absl::flat_hash_map<IdType, std::string> by_id_;
  uint32_t next_id_ = 1;
};

struct Catalog {
  NameTable<ClassId> classes;
  NameTable<TraitId> traits;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_VALUES_CATALOG_H_
