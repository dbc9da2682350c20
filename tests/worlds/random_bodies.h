// RandomBodies: an endless row of commands over a small world, most of them lawful, many just not.
//
// Draws from what the model holds, so that generations are mostly the present ones and names mostly
// exist; every kind of fault comes up within some thousand commands. Not thread-safe.
#ifndef BERTH_TESTS_WORLDS_RANDOM_BODIES_H_
#define BERTH_TESTS_WORLDS_RANDOM_BODIES_H_

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "placement/commands/command.h"
#include "tests/worlds/model_ledger.h"

namespace berth::placement {

class RandomBodies {
 public:
  explicit RandomBodies(uint64_t seed) : random_(seed) {}

  CommandBody Next(const ModelLedger& model);

 private:
  int Below(int bound) { return static_cast<int>(random_() % static_cast<uint64_t>(bound)); }
  bool OneIn(int bound) { return Below(bound) == 0; }
  const std::string& Pick(const std::vector<std::string>& from) {
    return from[static_cast<size_t>(Below(static_cast<int>(from.size())))];
  }
  ProviderId Provider();
  ConsumerId Consumer() { return ConsumerId{Uuid{2, static_cast<uint64_t>(Below(10))}}; }
  std::optional<Generation> Expected(const ModelLedger& model, ProviderId id);
  std::optional<Generation> Expected(const ModelLedger& model, ConsumerId id);
  Amount SomeAmount();
  NamedInventory SomeInventory();
  std::vector<NamedInventory> SomeInventories();
  ConsumerAllocations SomeClaim(const ModelLedger& model);
  CommandBody ProviderCommand(const ModelLedger& model);
  CommandBody InventoryCommand(const ModelLedger& model);
  CommandBody AssociationCommand(const ModelLedger& model);
  CommandBody CatalogCommand();
  CommandBody AllocationCommand(const ModelLedger& model);
  CommandBody PlaceCommand(const ModelLedger& model);
  CommandBody AdjustCommand(const ModelLedger& model);
  CommandBody ReleaseCommand(const ModelLedger& model);
  CommandBody LeaseCommand(const ModelLedger& model);
  std::optional<absl::Duration> SomeLease();
  // Those who hold something of `provider`, often, with all that they hold, often of it.
  void AddHolders(const ModelLedger& model, ProviderId provider,
                  std::vector<ConsumerAllocations>& consumers);
  ProviderTopology SomeTopology(const ModelLedger& model, ProviderId id);
  CommandBody TopologyCommand(const ModelLedger& model);
  ReshapedProvider SomeReshaped(const ModelLedger& model, ProviderId id);
  CommandBody ReshapeCommand(const ModelLedger& model);

  std::mt19937_64 random_;
};

}  // namespace berth::placement

#endif  // BERTH_TESTS_WORLDS_RANDOM_BODIES_H_
