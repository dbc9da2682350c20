// ClaimPlan: one write of allocations, checked stage by stage (P-130).
//
// The plan holds the new rows (allocations) of all consumers in the order of the request. For each
// touched provider it also holds how much is released of each inventory and how much is asked of
// it. If the command also changes providers, the rows are checked against the providers as they
// will be after the command (P-226). The stages must be called in their order, since each stage
// uses the results of the stages before it. A plan is a local value of one decision, and keeps
// references to the state and the command.
#ifndef BERTH_PLACEMENT_CLAIMS_PLAN_H_
#define BERTH_PLACEMENT_CLAIMS_PLAN_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "placement/commands/command.h"
#include "placement/commands/outcome.h"
#include "placement/state/state.h"
#include "placement/values/refusal.h"

namespace berth::placement {

// A consumer of the request.
struct Holder {
  ConsumerId id;
  ConsumerPtr before;                           // what it holds; null: nothing
  const ConsumerAllocations* wanted = nullptr;  // what it shall hold; null: nothing
  bool keeps_lease = false;                     // the lease in `wanted` is ignored
  int rows_begin = 0;  // the range of its new rows among all rows; the plan fills it in
  int rows_end = 0;
};

// A new row: one class of one provider for one consumer.
struct WantedRow {
  int holder = 0;      // index among the holders
  int group = 0;       // index in the `allocations` that the holder wants
  int touched = -1;    // index among the touched providers
  int inventory = -1;  // index among that provider's inventories
  ClassId resource_class{};
  const NamedAmount* asked = nullptr;
};

// The configurations that providers have after the command. Null: the command removes the provider.
// A provider without an entry keeps its configuration.
using FinalConfigs = absl::flat_hash_map<ProviderId, std::shared_ptr<const ProviderConfig>>;

// A provider of which the write adds or removes a row. The amounts are parallel to the inventories
// of the provider's final configuration.
struct TouchedProvider {
  ProviderId id;
  const ProviderConfig* config = nullptr;           // the final one; null: the command removes it
  TreePtr tree;                                     // the present tree; null: it is new
  std::optional<Generation> allocation_generation;  // none: the provider is new
  absl::InlinedVector<Amount, 4> before;
  absl::InlinedVector<Amount, 4> released;
  absl::InlinedVector<Amount, 4> asked;
};

// Adds the consumer `id` to `items` if its record `before` does not have the generation `expected`.
// If `items` was empty, also sets `message`. `expected`: nothing for a new consumer. `before`: null
// for a consumer that holds nothing. `field`: the path of the expected generation in the request.
void CompareConsumer(ConsumerId id, const ConsumerPtr& before, std::optional<Generation> expected,
                     absl::FunctionRef<std::string()> field, std::vector<FaultItem>& items,
                     std::string& message);

// Allocations as a caller would name them. REQUIRES: those of one provider follow each other.
std::vector<ProviderAmounts> AmountsOf(const Catalog& catalog,
                                       const std::vector<Allocation>& allocations);

class ClaimPlan {
 public:
  // `finals`: the configurations that the command gives to providers; null if it changes none.
  ClaimPlan(const State& state, std::vector<Holder> holders, const FinalConfigs* finals = nullptr);

  // Stage 3: CONSUMER_GENERATION_CONFLICT, which names every consumer whose generation is not the
  // expected one (P-120).
  absl::Status CheckConsumers() const;
  // Stage 4: PROVIDER_NOT_FOUND unless every provider exists.
  absl::Status FindProviders();
  // Stage 5: RESOURCE_CLASS_NOT_FOUND unless every class exists. `unknown`: the unknown classes
  // that the command names outside of its allocations.
  absl::Status FindClasses(std::vector<FaultItem> unknown = {});
  // Stage 6: NO_INVENTORY unless every provider has an inventory of each class that is asked of it.
  absl::Status FindInventories();
  // Stage 7: UNIT_CONSTRAINT_VIOLATED unless min_unit, max_unit and step_size allow each row. If
  // `keep_unchanged`, a row is not checked if a consumer of the request holds an equal row now
  // (P-134).
  absl::Status CheckUnits(bool keep_unchanged) const;
  // Stage 8: CAPACITY_EXCEEDED unless the capacity suffices for the rows of all consumers together
  // (P-132, P-136).
  absl::Status CheckRoom() const;

  // The changes of the write, and the removal of each retired node that has no allocations after
  // the write. If `only_changed`, a provider whose rows stay the same keeps its allocation
  // generation. REQUIRES: every stage passed.
  Outcome MakeOutcome(const RuleContext& context, bool only_changed = false) const;
  // Appends the changes of the write to `outcome`, but not the removal of retired nodes.
  void AppendTo(Outcome& outcome, const RuleContext& context, bool only_changed) const;
  // How much of inventory `row` of the provider's final configuration is used after the write. None
  // if the write touches no allocation on the provider. REQUIRES: every stage passed.
  std::optional<Amount> UsedAfter(ProviderId id, int row) const;

 private:
  void CollectTouched();
  void CollectReleased();
  void Settle(TouchedProvider& touched) const;
  ConsumerPtr MakeConsumer(const Holder& holder, const RuleContext& context) const;
  std::string FieldOf(const WantedRow& row) const;
  FaultItem ItemOf(const WantedRow& row) const;
  std::string NameOf(const WantedRow& row) const;
  std::vector<char> UnchangedRows() const;

  const State& state_;
  const FinalConfigs* const finals_;
  std::vector<Holder> holders_;
  absl::InlinedVector<WantedRow, 8> rows_;           // in request order
  absl::InlinedVector<TouchedProvider, 2> touched_;  // sorted by id, each once
};

// Runs the stages from 4 on for the holders of a command that compares no generations. Rows that a
// holder has already are not checked, and providers whose rows stay the same keep their allocation
// generation.
absl::StatusOr<Outcome> DecidePlan(const State& state, std::vector<Holder> holders,
                                   const RuleContext& context);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_CLAIMS_PLAN_H_
