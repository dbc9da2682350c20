#include "placement/values/catalog.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "placement/ground/check.h"

namespace berth::placement {
namespace {

constexpr absl::string_view kCustomPrefix = "CUSTOM_";
constexpr size_t kNameLengthMax = 255;

}  // namespace

bool IsUpperName(absl::string_view name) {
  if (name.empty() || name.size() > kNameLengthMax) return false;
  return std::all_of(name.begin(), name.end(), [](char character) {
    return (character >= 'A' && character <= 'Z') || (character >= '0' && character <= '9') ||
           character == '_';
  });
}

bool IsStandardName(absl::string_view name) { return !absl::StartsWith(name, kCustomPrefix); }

bool IsCustomName(absl::string_view name) {
  return IsUpperName(name) && !IsStandardName(name) && name.size() > kCustomPrefix.size();
}

template <typename IdType>
std::optional<IdType> NameTable<IdType>::Find(absl::string_view name) const {
  const auto found = index_.find(name);
  if (found == index_.end()) return std::nullopt;
  return found->second;
}

template <typename IdType>
const std::string* NameTable<IdType>::FindName(IdType id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &found->second;
}

template <typename IdType>
const std::string& NameTable<IdType>::NameOf(IdType id) const {
  const std::string* name = FindName(id);
  // The callers pass the catalog of the state from which the id comes. A class stays as long as an
  // inventory has it (P-38), and a trait as long as a provider has it (P-44).
  BERTH_CHECK(name != nullptr);
  return *name;
}

template <typename IdType>
void NameTable<IdType>::Insert(IdType id, std::string name) {
  // The rules give a new name NextId, and only after they have not found the name.
  BERTH_CHECK(by_id_.emplace(id, name).second);
  BERTH_CHECK(index_.emplace(name, id).second);
  by_name_.emplace(std::move(name), id);
  ReserveIds(static_cast<uint32_t>(id) + 1);
}

template <typename IdType>
void NameTable<IdType>::Erase(IdType id) {
  const auto found = by_id_.find(id);
  BERTH_CHECK(found != by_id_.end());
  by_name_.erase(found->second);
  index_.erase(found->second);
  by_id_.erase(found);
}

template class NameTable<ClassId>;
template class NameTable<TraitId>;

}  // namespace berth::placement
