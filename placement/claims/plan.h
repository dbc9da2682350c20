// ClaimPlan: one write of allocations on its way through the stages of P-130.
//
// Holds the new rows of all consumers in request order and, per provider that is touched, what is
// released and what is asked of each inventory. Where the same command changes providers too, rows
// meet the providers as they shall be (P-226). Stages are called in their order; each needs what
// the ones before it found. A local value of one decision; it keeps references to the state and
// the command.
#ifndef BERTH_PLACEMENT_CLAIMS_PLAN_H_
#define BERTH_PLACEMENT_CLAIMS_PLAN_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "placement/commands/command.h"
#include "placement/commands/outcome.h"
#include "placement/state/state.h"
#include "placement/values/refusal.h"

namespace berth::placement {

// A consumer of the request: what it holds, and what it shall hold (null: nothing).
struct Holder {
  ConsumerId id;
  ConsumerPtr before;  // null: holds nothing
  const ConsumerAllocations* wanted = nullptr;
  bool keeps_lease = false;  // whatever `wanted` says of it
  int rows_begin = 0;        // of its new rows among all; the plan finds them out
  int rows_end = 0;
};

// A new row.
struct WantedRow {
  int holder = 0;      // index among the holders
  int group = 0;       // index among its `allocations`
  int touched = -1;    // index among the touched providers
  int inventory = -1;  // index among that provider's inventories
  ClassId resource_class{};
  const NamedAmount* asked = nullptr;
};

// Providers as a command leaves them; null: it removes the provider. What is not among them stays
// as it is.
using FinalConfigs = absl::flat_hash_map<ProviderId, std::shared_ptr<const ProviderConfig>>;

// A provider that loses or gets rows. The amounts are parallel to the inventories of its final
// configuration.
struct TouchedProvider {
  ProviderId id;
  const ProviderConfig* config = nullptr;           // null: in the end there is no such provider
  TreePtr tree;                                     // that it stands in now; null: it is new
  std::optional<Generation> allocation_generation;  // none: it is new
  absl::InlinedVector<Amount, 4> before;
  absl::InlinedVector<Amount, 4> released;
  absl::InlinedVector<Amount, 4> asked;
};

class ClaimPlan {
 public:
  // `finals` (null: none) are what the command makes of providers.
  ClaimPlan(const State& state, std::vector<Holder> holders, const FinalConfigs* finals = nullptr);

  // Stage 3: the consumers' generations, all that differ (P-120).
  absl::Status CheckConsumers() const;
  // Stage 4: every provider exists.
  absl::Status FindProviders();
  // Stage 5: every class exists. `unknown` are those that the command names elsewhere and that do
  // not.
  absl::Status FindClasses(std::vector<FaultItem> unknown = {});
  // Stage 6: every provider has an inventory of each class asked of it.
  absl::Status FindInventories();
  // Stage 7: min_unit, max_unit and step_size of each row; `keep_unchanged` exempts rows that a
  // consumer of the request holds already (P-134).
  absl::Status CheckUnits(bool keep_unchanged) const;
  // Stage 8: room, the amounts of all consumers summed (P-132, P-136).
  absl::Status CheckRoom() const;

  // What the write does, the end of retired nodes that it leaves empty included. Providers whose
  // rows stay as they are keep their allocation generation where `only_changed`. REQUIRES: every
  // stage passed.
  Outcome MakeOutcome(const RuleContext& context, bool only_changed = false) const;
  // The write alone, behind what `outcome` has already.
  void AppendTo(Outcome& outcome, const RuleContext& context, bool only_changed) const;
  // How much of inventory `row` of `id`'s final configuration is used in the end. None: no row of
  // that provider comes or goes. REQUIRES: every stage passed.
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
  absl::InlinedVector<TouchedProvider, 2> touched_;  // by rising id, each once
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_CLAIMS_PLAN_H_
