// Aggregates: the aggregates that have a name, by uuid and by name.
//
// A part of State, and a value like it: a copy costs two pointers. Any thread may call const
// members; only the owner of an unpublished state calls the others.
//
// Invariant: no two aggregates have the same name, except those without a name, which could not be
// read (placement/store/record_rows.h). FindByName finds none of these.
#ifndef BERTH_PLACEMENT_STATE_AGGREGATES_H_
#define BERTH_PLACEMENT_STATE_AGGREGATES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "placement/state/persistent_map.h"
#include "placement/values/aggregate.h"

namespace berth::placement {

class Aggregates {
 public:
  // All aggregates, in order of id.
  const PersistentMap<AggregateId, AggregatePtr>& by_id() const { return by_id_; }
  // The aggregate; null if there is none.
  AggregatePtr Find(AggregateId id) const;
  AggregatePtr FindByName(absl::string_view name) const;

  // Inserts the aggregate, or replaces the one with the same id. REQUIRES: the generation rises; no
  // other aggregate has the name.
  void Put(const AggregatePtr& aggregate);
  // Removes the aggregate. REQUIRES: it is present.
  void Remove(AggregateId id);

 private:
  PersistentMap<AggregateId, AggregatePtr> by_id_;
  PersistentMap<std::string, AggregateId> by_name_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STATE_AGGREGATES_H_
