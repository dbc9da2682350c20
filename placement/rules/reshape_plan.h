// ReshapePlan: the providers and consumers that one command changes together, checked stage by
// stage (P-229).
//
// The plan holds each provider as it is now and as it will be. It also holds the ClaimPlan of the
// consumers, whose allocations are checked against the providers as they will be. The stages must
// be called in their order. A plan is a local value of one decision; it keeps references to the
// state and the command.
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

// The maximum number of providers in each list of a request. The ledger's lock is held while the
// command is decided, and adding a provider to a tree builds the whole tree again.
inline constexpr size_t kReshapedProvidersMax = 1000;

// A provider that the request names.
struct ReshapedConfig {
  ProviderId id;
  std::optional<ProviderPlace> before;          // none: it is new
  std::shared_ptr<const ProviderConfig> after;  // null: it is removed
  ProviderId root;                              // of its tree after the command; unset if removed
  int order = 0;  // less for parents than for their children; the reverse for removed providers
};

// The rows of those `inventories` whose class is known, sorted by class. Unknown classes are added
// to `unknown`. `field` is the path of the list.
std::vector<InventoryRow> KnownRows(const State& state, const std::string& field,
                                    const std::vector<NamedInventory>& inventories,
                                    std::vector<FaultItem>* unknown);

// Compares the expected generations that are given with the provider's own generations (P-232).
// Adds each difference to `items`, with `field` as the path of the provider's entry. If `items` was
// empty, sets `message` to a text about the first difference.
void CompareGenerations(const ProviderPlace& place, const std::string& field,
                        std::optional<Generation> expected,
                        std::optional<Generation> expected_allocation_generation,
                        std::vector<FaultItem>& items, std::string& message);

class ReshapePlan {
 public:
  // `keeps_leases`: a consumer keeps the lease that it has, and the one in `consumers` is ignored.
  //
  // REQUIRES: each provider occurs once in `configs`.
  ReshapePlan(const State& state, std::vector<ReshapedConfig> configs,
              const std::vector<ConsumerAllocations>& consumers, bool keeps_leases = false);

  // PROVIDER_IN_USE if a consumer that the request does not list holds something on a removed
  // provider (P-60).
  absl::Status CheckRemovals() const;
  // All checks of the consumers, from their generations to the capacity (P-229). INVENTORY_IN_USE
  // is among them (P-223). `unknown_classes`: the unknown classes that the inventories name.
  absl::Status CheckConsumers(std::vector<FaultItem> unknown_classes, bool keep_unchanged);

  // The changes and the answer of the command. `names`: the classes and traits that the command
  // creates, with which the changes begin. REQUIRES: every stage passed.
  Outcome MakeOutcome(const RuleContext& context, Changes names = {}) const;
  // Names the inventories of which nothing can be allocated after the command (P-18). REQUIRES: the
  // state knows all classes of the inventories. A report may create classes, so it must not call
  // this.
  std::vector<std::string> Warnings() const;

 private:
  Amount Remaining(const ReshapedConfig& config, int row) const;
  absl::Status CheckNoneInUseGoes() const;
  void Tell(const ReshapedConfig& config, Result& result) const;

  const State& state_;
  const std::vector<ReshapedConfig> configs_;
  FinalConfigs finals_;
  // What the listed consumers hold now, summed by provider and class.
  absl::flat_hash_map<std::pair<ProviderId, ClassId>, Amount> released_;
  std::optional<ClaimPlan> claims_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_RULES_RESHAPE_PLAN_H_
