#include "services/watch/name_book.h"

#include <optional>
#include <utility>
#include <variant>

namespace berth::services {

using placement::Catalog;
using placement::Changes;

namespace {

// Adds a name with its id. A name that was deleted and created again has several ids: `newest`
// keeps the largest of them, and `older` the others. An id always has the same name.
template <typename IdType>
void LearnName(IdType id, const std::string& name, placement::NameTable<IdType>* newest,
               absl::flat_hash_map<IdType, std::string>* older) {
  if (newest->Contains(id) || older->contains(id)) return;
  const std::optional<IdType> known = newest->Find(name);
  if (known && id < *known) {
    older->emplace(id, name);
    return;
  }
  if (known) {
    newest->Erase(*known);
    older->emplace(*known, name);
  }
  newest->Insert(id, name);
}

}  // namespace

std::shared_ptr<Names> NameBook::Copy() const { return std::make_shared<Names>(*names_); }

void NameBook::Learn(const Catalog& catalog) {
  // A new name gets a new id, which raises NextId. So if NextId is not higher, there is nothing to
  // learn.
  const Catalog& newest = names_->newest;
  if (catalog.classes.NextId() <= newest.classes.NextId() &&
      catalog.traits.NextId() <= newest.traits.NextId()) {
    return;
  }
  auto names = Copy();
  for (const auto& [name, id] : catalog.classes.by_name()) {
    LearnName(id, name, &names->newest.classes, &names->older_classes);
  }
  for (const auto& [name, id] : catalog.traits.by_name()) {
    LearnName(id, name, &names->newest.traits, &names->older_traits);
  }
  names->newest.classes.ReserveIds(static_cast<uint32_t>(catalog.classes.NextId()));
  names->newest.traits.ReserveIds(static_cast<uint32_t>(catalog.traits.NextId()));
  names_ = std::move(names);
}

void NameBook::Learn(const Changes& changes) {
  std::shared_ptr<Names> names;
  for (const auto& change : changes) {
    const auto* new_class = std::get_if<placement::ClassPut>(&change);
    const auto* new_trait = std::get_if<placement::TraitPut>(&change);
    if (new_class == nullptr && new_trait == nullptr) continue;
    if (names == nullptr) names = Copy();
    if (new_class != nullptr) {
      LearnName(new_class->id, new_class->name, &names->newest.classes, &names->older_classes);
    }
    if (new_trait != nullptr) {
      LearnName(new_trait->id, new_trait->name, &names->newest.traits, &names->older_traits);
    }
  }
  if (names != nullptr) names_ = std::move(names);
}

}  // namespace berth::services
