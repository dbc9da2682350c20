#include "services/watch/filter.h"

#include <algorithm>

namespace berth::services {

using placement::AggregateId;
using placement::ProviderId;

namespace {

template <typename Id>
void SortUnique(std::vector<Id>* ids) {
  std::sort(ids->begin(), ids->end());
  ids->erase(std::unique(ids->begin(), ids->end()), ids->end());
}

// The largest number of trees, and of aggregates, that one request may name.
constexpr int kNamesMax = 1000;

absl::Status CheckCount(absl::string_view field, int count) {
  if (count <= kNamesMax) return absl::OkStatus();
  return InvalidField(field, absl::StrCat("must not hold more than ", kNamesMax, " names"));
}

}  // namespace

absl::StatusOr<WatchFilter> WatchFilter::Of(const pb::WatchRequest& request,
                                            const placement::State& state) {
  WatchFilter filter;
  for (int i = 0; i < request.kinds_size(); ++i) {
    const auto kind = request.kinds(i);
    if (kind == pb::ENTITY_KIND_UNSPECIFIED || !pb::EntityKind_IsValid(kind)) {
      return InvalidField(absl::StrCat("kinds[", i, "]"),
                          "is not a kind of entity that this release knows");
    }
    filter.kinds_ |= 1U << kind;
  }
  BERTH_RETURN_IF_ERROR(CheckCount("in_trees", request.in_trees_size()));
  BERTH_ASSIGN_OR_RETURN(const auto members, ParseIds<ProviderId>("in_trees", request.in_trees()));
  BERTH_RETURN_IF_ERROR(CheckCount("aggregate_uuids", request.aggregate_uuids_size()));
  BERTH_ASSIGN_OR_RETURN(filter.aggregates_,
                         ParseIds<AggregateId>("aggregate_uuids", request.aggregate_uuids()));
  for (size_t i = 0; i < members.size(); ++i) {
    const auto place = state.FindProvider(members[i]);
    filter.roots_.push_back(place ? place->tree->root_id() : members[i]);
    if (request.has_after_revision() && filter.roots_.back() != members[i]) {
      return InvalidField(absl::StrCat("in_trees[", i, "]"),
                          "is not a root: to continue after a revision, name the root of the tree, "
                          "or begin with a snapshot");
    }
  }
  SortUnique(&filter.roots_);
  SortUnique(&filter.aggregates_);
  return filter;
}

bool WatchFilter::Passes(const TreePlace& place) const {
  if (!roots_.empty() && !std::binary_search(roots_.begin(), roots_.end(), place.root)) {
    return false;
  }
  if (aggregates_.empty()) return true;
  return std::any_of(place.aggregates.begin(), place.aggregates.end(), [this](AggregateId id) {
    return std::binary_search(aggregates_.begin(), aggregates_.end(), id);
  });
}

const std::string* WatchFilter::Told(const ToldChange& change) const {
  if (!Wants(change.kind)) return nullptr;
  const bool is_removed = change.present.empty();
  if (!by_tree() || !change.in_trees) {
    if (!change.own) return nullptr;
    return is_removed ? &change.removed : &change.present;
  }
  const auto passes = [this](const TreePlace& place) { return Passes(place); };
  const bool now = std::any_of(change.after.begin(), change.after.end(), passes);
  const bool then =
      change.moved ? std::any_of(change.before.begin(), change.before.end(), passes) : now;
  if (now) return change.own || !then ? &change.present : nullptr;
  return then ? &change.removed : nullptr;
}

}  // namespace berth::services
