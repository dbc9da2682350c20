// ReportPlan: one node's report on its way through the stages of ApplyReport.
//
// Holds what the report means for the tree that stands: which provider each entry is, which of ours
// it no longer names, which custom classes and traits it brings. Stages are called in their order;
// each needs what the ones before it found. A local value of one decision; it keeps references to
// the state and the command.
#ifndef BERTH_PLACEMENT_RULES_REPORT_PLAN_H_
#define BERTH_PLACEMENT_RULES_REPORT_PLAN_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "placement/commands/command.h"
#include "placement/commands/fleet_node.h"
#include "placement/commands/outcome.h"
#include "placement/state/state.h"

namespace berth::placement {

// The form of a report: INVALID_ARGUMENT.
absl::Status CheckForm(const ApplyReport& report);

class ReportPlan {
 public:
  // REQUIRES: the form of `report` is sound.
  ReportPlan(const State& state, const ApplyReport& report);

  // The service is known, else FAILED_PRECONDITION with SERVICE_NOT_REGISTERED; and this process is
  // its newest, else ABORTED with TRACKER_FENCED.
  absl::Status CheckService() const;
  // Nobody else who is alive owns the node (T-22, T-387): PERMISSION_DENIED with POLICY_DENIED.
  absl::Status CheckOwner() const;
  // Whether this very report, or one with a larger number of the same process, was applied (T-398).
  bool IsStale() const;
  // FAILED_PRECONDITION with REPORT_GAP for a number that the same process used for the last applied
  // report, with other content: nobody knows which of the two is newer. And for a delta that does not
  // follow the last applied report of the same process (T-229).
  absl::Status CheckSequence() const;
  // Everything named that stands is the node's own: PERMISSION_DENIED with POLICY_DENIED.
  absl::Status CheckSubtree() const;
  // No name is that of another provider or node afterwards (T-12, T-189): ALREADY_EXISTS with
  // DUPLICATE_PROVIDER.
  absl::Status CheckNames();
  // ABORTED with PROVIDER_GENERATION_CONFLICT naming all providers that differ.
  absl::Status CheckGenerations() const;
  // No provider stands below itself afterwards: INVALID_ARGUMENT with PROVIDER_LOOP.
  absl::Status CheckLoops() const;
  // INVALID_INVENTORY, RESOURCE_CLASS_NOT_FOUND, INVENTORY_IN_USE, provider by provider; custom
  // classes and traits that are new get their ids (T-194), but INVALID_FIELD where they are too many
  // for one report.
  absl::Status ResolveContent();

  // What the report does. REQUIRES: every stage passed.
  Outcome MakeOutcome(const RuleContext& context) const;
  // The answer to a report that was overtaken: what stands.
  Outcome KeepAll() const;

 private:
  absl::StatusOr<std::vector<InventoryRow>> ResolveRows(size_t at);
  std::vector<TraitId> ResolveTraits(size_t at);
  // Whether the process that reports is the process whose report was applied last.
  bool IsFromRecordedProcess() const;
  bool IsOwn(const ProviderPlace& place) const;
  bool IsMade(const ProviderConfig& config) const;
  bool IsGoing(ProviderId id) const;
  std::vector<char> Unwanted() const;
  void DecideRemovals();
  // The provider as the report wants it; what stands, where that is the same.
  std::shared_ptr<const ProviderConfig> Wanted(size_t at, const RuleContext& context) const;
  NodeRecord MakeNode(const std::vector<ProviderAnswer>& answers, const RuleContext& context) const;

  const State& state_;
  const ApplyReport& report_;
  ServicePtr service_;
  NodeRecordPtr node_;  // null: the first report of it
  std::optional<ProviderPlace> root_;
  std::vector<std::optional<ProviderPlace>> places_;  // parallel to the report's providers
  absl::flat_hash_map<ProviderId, size_t> entry_of_;  // index among the report's providers
  std::vector<int> going_;  // positions of what goes, children before parents
  std::vector<int> kept_;   // positions of what is not wanted any more, but cannot go

  // What ResolveContent found, parallel to the report's providers.
  std::vector<std::vector<InventoryRow>> rows_;
  std::vector<std::vector<TraitId>> traits_;
  std::vector<std::string> unknown_traits_;                    // each once
  absl::flat_hash_set<absl::string_view> unknown_;             // the same; keys are the report's
  absl::flat_hash_map<absl::string_view, ClassId> classes_;    // of new_classes_
  absl::flat_hash_map<absl::string_view, TraitId> trait_ids_;  // of new_traits_
  std::vector<ClassPut> new_classes_;
  std::vector<TraitPut> new_traits_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_RULES_REPORT_PLAN_H_
