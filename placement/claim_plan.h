// ClaimPlan: one write of allocations on its way through the stages of P-130.
//
// Holds the new rows of all consumers in request order and, per provider that is touched, what is
// released and what is asked of each inventory. Stages are called in their order; each needs what
// the ones before it found. A local value of one decision; it keeps references to the state and
// the command.
#ifndef BERTH_PLACEMENT_CLAIM_PLAN_H_
#define BERTH_PLACEMENT_CLAIM_PLAN_H_

#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "placement/command.h"
#include "placement/refusal.h"
#include "placement/rules.h"
#include "placement/state.h"

namespace berth::placement {

// A consumer of the request: what it holds, and what it shall hold (null: nothing).
struct Holder {
  ConsumerId id;
  ConsumerPtr before;  // null: holds nothing
  const ConsumerAllocations* wanted = nullptr;
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

// A provider that loses or gets rows. The amounts are parallel to its inventories.
struct TouchedProvider {
  ProviderId id;
  ProviderPlace place;  // tree is null: there is no such provider
  absl::InlinedVector<Amount, 4> released;
  absl::InlinedVector<Amount, 4> asked;
};

class ClaimPlan {
 public:
  ClaimPlan(const State& state, std::vector<Holder> holders);

  // Stage 3: the consumers' generations, all that differ (P-120).
  absl::Status CheckConsumers() const;
  // Stage 4: every provider exists.
  absl::Status FindProviders();
  // Stage 5: every class exists.
  absl::Status FindClasses();
  // Stage 6: every provider has an inventory of each class asked of it.
  absl::Status FindInventories();
  // Stage 7: min_unit, max_unit and step_size of each row; `keep_unchanged` exempts rows that a
  // consumer of the request holds already (P-134).
  absl::Status CheckUnits(bool keep_unchanged) const;
  // Stage 8: room, the amounts of all consumers summed (P-132, P-136).
  absl::Status CheckRoom() const;

  // What the write does. REQUIRES: every stage passed.
  Outcome MakeOutcome(const RuleContext& context) const;

 private:
  void CollectTouched();
  void CollectReleased();
  ConsumerPtr MakeConsumer(int holder, const RuleContext& context) const;
  std::string FieldOf(const WantedRow& row) const;
  FaultItem ItemOf(const WantedRow& row) const;
  std::string NameOf(const WantedRow& row) const;
  std::vector<char> UnchangedRows() const;

  const State& state_;
  std::vector<Holder> holders_;
  absl::InlinedVector<WantedRow, 8> rows_;           // in request order
  absl::InlinedVector<TouchedProvider, 2> touched_;  // by rising id, each once
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_CLAIM_PLAN_H_
