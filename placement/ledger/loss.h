// Loss: what a process knows and a database that went back in time does not, or otherwise. Pure.
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

// What is in one state and not in the other, or differently, rising. The use of a provider is told
// only where both have the provider.
std::vector<EntityKey> Differences(const State& a, const State& b);

struct Loss {
  StatePtr last_good;
  StatePtr database;
  std::vector<EntityKey> differences;  // of the two
};
using LossPtr = std::shared_ptr<const Loss>;

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_LOSS_H_
