// RandomCommands: an endless row of lawful commands, as the changes that they would make.
//
// Keeps the model that they lead to, and draws each next command from what is there: trees that
// grow, split and move, inventories that come and go, claims, swaps of names within one command.
#ifndef BERTH_TESTS_WORLDS_RANDOM_COMMANDS_H_
#define BERTH_TESTS_WORLDS_RANDOM_COMMANDS_H_

#include <cstdint>
#include <iterator>
#include <random>
#include <vector>

#include "placement/values/change.h"
#include "tests/worlds/model_state.h"

namespace berth::placement {

class RandomCommands {
 public:
  // At most about so many providers and consumers are there at a time.
  RandomCommands(uint64_t seed, int providers_max, int consumers_max);

  // The next command, already applied to the model.
  Changes Next();
  const ModelState& model() const { return model_; }

 private:
  int Below(int bound) { return static_cast<int>(random_() % bound); }
  // One of the keys of a map that is not empty.
  template <typename Map>
  typename Map::key_type Pick(const Map& map) {
    return std::next(map.begin(), Below(static_cast<int>(map.size())))->first;
  }
  Generation Fresh() { return Generation{++commands_}; }

  Changes AddClass();
  Changes RemoveClass();
  Changes AddTrait();
  Changes RemoveTrait();
  Changes AddProvider();
  Changes ChangeProvider();
  Changes MoveProvider();
  Changes SwapNames();
  Changes RemoveTree();
  Changes Claim();
  Changes Release();
  Changes ChangeFleet();
  // Defined in random_records.cc:
  void AddRandomParts(InstanceRecord* instance);
  Changes ChangeAggregate();
  Changes RemoveAggregate();
  Changes ChangeGroup();
  Changes RemoveGroup();
  Changes ChangeInstance();
  Changes RemoveInstance();
  Changes ChangeMigration();

  std::vector<InventoryRow> DrawInventories(const ProviderConfig& config);
  std::vector<TraitId> DrawTraits();
  std::vector<Allocation> DrawAllocations();
  // A ProviderUsed for each provider whose rows these consumers change.
  void AppendUsed(Changes& changes);
  std::vector<ProviderId> SubtreeOf(ProviderId root) const;

  std::mt19937_64 random_;
  const int providers_max_;
  const int consumers_max_;
  int64_t commands_ = 0;
  uint32_t next_id_ = 1;
  ModelState model_;
};

}  // namespace berth::placement

#endif  // BERTH_TESTS_WORLDS_RANDOM_COMMANDS_H_
