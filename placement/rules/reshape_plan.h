// ReshapePlan: providers and consumers that one command changes together, on their way through the
// stages of P-229.
//
// Holds each provider as it is and as it shall be, and the claim plan of the consumers, whose rows
// meet the providers as they shall be. Stages are called in their order. A local value of one
// decision; it keeps references to the state and the command.
#ifndef BERTH_PLACEMENT_RULES_RESHAPE_PLAN_H_
#define BERTH_PLACEMENT_RULES_RESHAPE_PLAN_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "placement/claims/plan.h"
#include "placement/commands/command.h"
#include "placement/commands/outcome.h"
#include "placement/state/state.h"
#include "placement/values/refusal.h"

namespace berth::placement {

// Of one request, in each list. A command holds the ledger's lock while it is decided, and a tree
// is built anew for each provider that joins it.
inline constexpr size_t kReshapedProvidersMax = 1000;

// A provider of the request.
struct ReshapedConfig {
  ProviderId id;
  std::optional<ProviderPlace> before;          // none: it is new
  std::shared_ptr<const ProviderConfig> after;  // null: it shall be no more
  ProviderId root;                              // of its tree afterwards; none where it goes
  int order = 0;  // parents rise before their children; of those that go, children before parents
};

// The rows of `inventories` whose classes are known, by rising class; the others are added to
// `unknown`, with `field` as the list's name.
std::vector<InventoryRow> KnownRows(const State& state, const std::string& field,
                                    const std::vector<NamedInventory>& inventories,
                                    std::vector<FaultItem>* unknown);

// Both generations of a provider; each that is given must be its own (P-232). Adds what differs to
// `items`, `field` naming the provider's entry, and sets `message` for the first.
void CompareGenerations(const ProviderPlace& place, const std::string& field,
                        std::optional<Generation> expected,
                        std::optional<Generation> expected_allocation_generation,
                        std::vector<FaultItem>& items, std::string& message);

class ReshapePlan {
 public:
  // `configs` hold each provider once.
  ReshapePlan(const State& state, std::vector<ReshapedConfig> configs,
              const std::vector<ConsumerAllocations>& consumers);

  // PROVIDER_IN_USE where a provider that shall go keeps allocations of consumers that are not
  // listed (P-60).
  absl::Status CheckRemovals() const;
  // From the consumers' generations to room (P-229), INVENTORY_IN_USE among them (P-223).
  // `unknown_classes` are those that the inventories name.
  absl::Status CheckConsumers(std::vector<FaultItem> unknown_classes, bool keep_unchanged);

  // What the command does, and what it answers. REQUIRES: every stage passed.
  Outcome MakeOutcome(const RuleContext& context) const;

 private:
  Amount Remaining(const ReshapedConfig& config, int row) const;
  absl::Status CheckNoneInUseGoes() const;
  void Tell(const ReshapedConfig& config, Result& result) const;

  const State& state_;
  const std::vector<ReshapedConfig> configs_;
  FinalConfigs finals_;
  // What the listed consumers hold now.
  absl::flat_hash_map<std::pair<ProviderId, ClassId>, Amount> released_;
  std::optional<ClaimPlan> claims_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_RULES_RESHAPE_PLAN_H_
