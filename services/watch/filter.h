// WatchFilter: which changes a watcher wants, and in which of two forms it gets a change. Values.
#ifndef BERTH_SERVICES_WATCH_FILTER_H_
#define BERTH_SERVICES_WATCH_FILTER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "berth/placement/v1/watch.pb.h"
#include "placement/log/scope.h"
#include "placement/state/state.h"
#include "services/wire/form.h"

namespace berth::services {

// A tree that contains what changed, and the aggregates of the providers of that tree.
struct TreePlace {
  placement::ProviderId root;
  std::vector<placement::AggregateId> aggregates;  // rising
};

// One change, with all that a filter needs to decide, encoded once for all watchers.
//
// A filter by tree sees an entity only while it is in one of the trees that the filter names. So an
// entity that moves into such a tree appears, and one that moves out is removed for that watcher.
// Two examples: a provider moves with its parent to another tree: `moved`, `before` the old tree,
// `after` the new one. A tree joins an aggregate: its consumers did not change (not `own`), but a
// watcher of that aggregate must be sent them, and no other watcher.
//
// Invariants: `before` is empty unless `moved`; `after` is empty if the entity was removed; without
// `in_trees` both are empty; `present` is empty exactly if the entity was removed; `removed` is
// encoded if the entity moved or was removed.
struct ToldChange {
  pb::EntityKind kind = pb::ENTITY_KIND_UNSPECIFIED;
  bool own = true;                // false: only the entity's tree or aggregates changed
  bool in_trees = false;          // filters by tree apply to the entity
  bool moved = false;             // the entity was, or may have been, in other trees before
  std::vector<TreePlace> before;  // the entity's trees before the command
  std::vector<TreePlace> after;   // and after it
  std::string present;            // the entity as an element of WatchResponse.changes
  std::string removed;            // its removal as such an element
};

class WatchFilter {
 public:
  // Passes everything.
  WatchFilter() = default;
  // The filters of `request`. A tree may be named by any provider of it; the filter keeps the
  // tree's root in `state`. Fails with INVALID_FIELD for a malformed request, whatever the state.
  // Then with INVALID_FIELD for a request that resumes after a revision and names a provider that
  // is no root: the provider may have been in another tree at that revision.
  static absl::StatusOr<WatchFilter> Of(const pb::WatchRequest& request,
                                        const placement::State& state);

  bool everything() const { return kinds_ == 0 && !by_tree(); }
  bool by_tree() const { return !roots_.empty() || !aggregates_.empty(); }
  bool Wants(pb::EntityKind kind) const { return kinds_ == 0 || (kinds_ >> kind & 1) != 0; }
  bool Passes(const TreePlace& place) const;
  // The element of WatchResponse.changes that the watcher gets for `change`; null: none.
  const std::string* Told(const ToldChange& change) const;

  const std::vector<placement::ProviderId>& roots() const { return roots_; }
  const std::vector<placement::AggregateId>& aggregates() const { return aggregates_; }

 private:
  uint32_t kinds_ = 0;                              // one bit for each wanted; 0: all
  std::vector<placement::ProviderId> roots_;        // rising; empty: all
  std::vector<placement::AggregateId> aggregates_;  // rising; empty: all
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_WATCH_FILTER_H_
