// Catalog: the resource classes and traits that exist, by name and by id.
//
// A value. The versions of a State share one Catalog until a class or a trait is added or removed.
// A name that does not start with CUSTOM_ is a standard name (P-33). Ids rise and are never reused,
// so an id in an old log row still means the same name.
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
// Whether `name` may be the name of a class, a trait or a consumer type: ^[A-Z0-9_]+$, 1..255
// characters.
bool IsUpperName(absl::string_view name);
bool IsStandardName(absl::string_view name);

// The names of all classes, or of all traits, with their ids.
template <typename IdType>
class NameTable {
 public:
  std::optional<IdType> Find(absl::string_view name) const;
  // The name of `id`. REQUIRES: `id` is present.
  const std::string& NameOf(IdType id) const;
  // The name of `id`, or null if `id` is absent.
  const std::string* FindName(IdType id) const;
  bool Contains(IdType id) const { return by_id_.contains(id); }
  // Adds `name` with the id `id`. REQUIRES: neither `id` nor `name` is present.
  void Insert(IdType id, std::string name);
  // Removes `id` and its name. REQUIRES: `id` is present.
  void Erase(IdType id);
  // The id that the next new name gets. It is one more than the largest id that any name ever had.
  IdType NextId() const { return static_cast<IdType>(next_id_); }
  // Raises NextId to at least `next`. The loaded names do not show the ids of removed names, and
  // the id of a removed name must never be given to another name.
  void ReserveIds(uint32_t next) { next_id_ = next > next_id_ ? next : next_id_; }
  // All names in ascending order with their ids.
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
