// WatchFilter: decides which changes a watcher gets, and in which of two forms (present or removed)
// the watcher gets each change. Values.
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

// A tree that contains the changed entity, and the aggregates of all providers of that tree.
struct TreePlace {
  placement::ProviderId root;
  std::vector<placement::AggregateId> aggregates;  // sorted
};

// One change, encoded once for all watchers, with everything that a filter needs to decide who gets
// it.
//
// A filter that names trees passes an entity only while the entity is in one of these trees. So an
// entity that moves into such a tree appears for the watcher, and an entity that moves out is
// removed for this watcher. Example 1: a provider moves with its parent to another tree. Then
// `moved` is true, `before` has the old tree, and `after` has the new tree. Example 2: a tree joins
// an aggregate. The tree's consumers did not change, so `own` is false for them; only watchers of
// that aggregate are sent these consumers.
//
// Invariants of the fields: `before` is empty if `moved` or `in_trees` is false. `after` is empty
// if `in_trees` is false or the entity was removed. `present` is empty if the entity was removed,
// and only then. `removed` is not empty if the entity moved or was removed.
struct ToldChange {
  pb::EntityKind kind = pb::ENTITY_KIND_UNSPECIFIED;
  bool own = true;                // false: only its tree or aggregates changed
  bool in_trees = false;          // the entity is in trees, so filters by tree apply to it
  bool moved = false;             // the entity was, or may have been, in other trees before
  std::vector<TreePlace> before;  // the entity's trees before the command
  std::vector<TreePlace> after;   // the entity's trees after the command
  std::string present;            // the entity as an element of WatchResponse.changes
  std::string removed;            // the entity's removal as an element of WatchResponse.changes
};

class WatchFilter {
 public:
  // A filter that passes everything.
  WatchFilter() = default;
  // Makes the filter that `request` asks for. The request may name a tree by any provider of the
  // tree; the filter keeps the root that this tree has in `state`. Fails with INVALID_FIELD for a
  // malformed request, whatever `state` contains. Then fails with INVALID_FIELD if the request
  // resumes after a revision and names a provider that is not a root: at that revision the provider
  // may have been in another tree.
  static absl::StatusOr<WatchFilter> Of(const pb::WatchRequest& request,
                                        const placement::State& state);

  bool everything() const { return kinds_ == 0 && !by_tree(); }
  bool by_tree() const { return !roots_.empty() || !aggregates_.empty(); }
  bool Wants(pb::EntityKind kind) const { return kinds_ == 0 || (kinds_ >> kind & 1) != 0; }
  bool Passes(const TreePlace& place) const;
  // Returns the element of WatchResponse.changes that the watcher gets for `change`. Null: the
  // watcher does not get this change.
  const std::string* Told(const ToldChange& change) const;

  const std::vector<placement::ProviderId>& roots() const { return roots_; }
  const std::vector<placement::AggregateId>& aggregates() const { return aggregates_; }

 private:
  uint32_t kinds_ = 0;                              // one bit for each wanted kind; 0: all kinds
  std::vector<placement::ProviderId> roots_;        // sorted; empty: all
  std::vector<placement::AggregateId> aggregates_;  // sorted; empty: all
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_WATCH_FILTER_H_
