// NameBook: the names of classes and traits by their ids, those of deleted ones included.
#ifndef BERTH_SERVICES_WATCH_NAME_BOOK_H_
#define BERTH_SERVICES_WATCH_NAME_BOOK_H_

#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "placement/values/catalog.h"
#include "placement/values/change.h"

namespace berth::services {

// Names of classes and traits. Names that were deleted are included, because a watcher may be sent
// batches of the past.
struct Names {
  placement::Catalog newest;  // each name with the newest id that it has had
  // The older ids of names that were deleted and then created again.
  absl::flat_hash_map<placement::ClassId, std::string> older_classes;
  absl::flat_hash_map<placement::TraitId, std::string> older_traits;
};

// NameBook: collects the names of classes and traits, present and past ones. Not thread-safe.
class NameBook {
 public:
  // Adds the names of `catalog`.
  void Learn(const placement::Catalog& catalog);
  // Adds the names of the classes and traits that `changes` create.
  void Learn(const placement::Changes& changes);
  std::shared_ptr<const Names> names() const { return names_; }

 private:
  // Returns a copy of names_, which the caller changes and then assigns to names_.
  std::shared_ptr<Names> Copy() const;

  std::shared_ptr<const Names> names_ = std::make_shared<Names>();
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_WATCH_NAME_BOOK_H_
