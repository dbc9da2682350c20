// Loss: the entities that differ between the last good state of a process and a database that went
// back in time. Pure.
#ifndef BERTH_PLACEMENT_LEDGER_LOSS_H_
#define BERTH_PLACEMENT_LEDGER_LOSS_H_

#include <compare>
#include <memory>
#include <string>
#include <vector>

#include "placement/state/state.h"

namespace berth::placement {

struct EntityKey {
  EntityKind kind{};
  std::string key;  // a uuid in its canonical text, or a class's or trait's name
  friend auto operator<=>(const EntityKey&, const EntityKey&) = default;
};

// The keys of the entities that only one of the states has, or that differ between the states; each
// once, in ascending order. The usage of a provider is compared only if both states have the
// provider. Not compared: the leases of consumers, and the times at which providers and consumers
// were created and updated.
std::vector<EntityKey> Differences(const State& a, const State& b);

struct Loss {
  StatePtr last_good;
  StatePtr database;
  std::vector<EntityKey> differences;
};
using LossPtr = std::shared_ptr<const Loss>;

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_LOSS_H_
