// WatchFilter: what a watcher wants to hear of, and what it is told of a change. Values.
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

// A tree that a change is about, with the aggregates of its members.
struct TreePlace {
  placement::ProviderId root;
  std::vector<placement::AggregateId> aggregates;  // rising
};

// One change, as it is told.
struct ToldChange {
  pb::EntityKind kind = pb::ENTITY_KIND_UNSPECIFIED;
  bool own = true;                // false: it is as it was, only its tree is not
  bool in_trees = false;          // filters by tree apply
  bool moved = false;             // it stood elsewhere before
  std::vector<TreePlace> before;  // where it stood; empty unless it moved
  std::vector<TreePlace> after;   // where it stands
  std::string present;  // encoded as an element of WatchResponse.changes; empty: it is no more
  std::string removed;  // the same for a watcher from whose sight it goes
};

class WatchFilter {
 public:
  // Lets everything through.
  WatchFilter() = default;
  // The filters of `request`; trees are followed by the roots that `state` knows. Fails with
  // INVALID_FIELD: first for what is malformed, whatever the state; then for a tree that is named by
  // a member which is no root, where the request goes on after a revision: nobody knows under which
  // root the tree was followed.
  static absl::StatusOr<WatchFilter> Of(const pb::WatchRequest& request,
                                        const placement::State& state);

  bool everything() const { return kinds_ == 0 && !by_tree(); }
  bool by_tree() const { return !roots_.empty() || !aggregates_.empty(); }
  bool Wants(pb::EntityKind kind) const { return kinds_ == 0 || (kinds_ >> kind & 1) != 0; }
  bool Passes(const TreePlace& place) const;
  // What a watcher is told of `change`; null: nothing.
  const std::string* Told(const ToldChange& change) const;

  const std::vector<placement::ProviderId>& roots() const { return roots_; }
  const std::vector<placement::AggregateId>& aggregates() const { return aggregates_; }

 private:
  uint32_t kinds_ = 0;                              // a bit for each; 0: all
  std::vector<placement::ProviderId> roots_;        // rising; empty: all
  std::vector<placement::AggregateId> aggregates_;  // rising; empty: all
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_WATCH_FILTER_H_
