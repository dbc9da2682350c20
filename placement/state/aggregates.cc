#include "placement/state/aggregates.h"

#include "placement/ground/check.h"

namespace berth::placement {

AggregatePtr Aggregates::Find(AggregateId id) const {
  const AggregatePtr* found = by_id_.Find(id);
  return found == nullptr ? nullptr : *found;
}

AggregatePtr Aggregates::FindByName(absl::string_view name) const {
  const AggregateId* found = by_name_.Find(name);
  return found == nullptr ? nullptr : Find(*found);
}

void Aggregates::Put(const AggregatePtr& aggregate) {
  const AggregatePtr before = Find(aggregate->id);
  if (before != nullptr) BERTH_CHECK(before->generation < aggregate->generation);
  if (before == nullptr || before->name != aggregate->name) {
    if (before != nullptr) by_name_.Erase(before->name);
    if (!aggregate->name.empty()) {
      BERTH_CHECK(by_name_.Find(aggregate->name) == nullptr);  // each rule checks it
      by_name_.Put(aggregate->name, aggregate->id);
    }
  }
  by_id_.Put(aggregate->id, aggregate);
}

void Aggregates::Remove(AggregateId id) {
  const AggregatePtr before = Find(id);
  BERTH_CHECK(before != nullptr);
  by_name_.Erase(before->name);
  by_id_.Erase(id);
}

}  // namespace berth::placement
