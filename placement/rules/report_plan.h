// ReportPlan: decides one node's report (ApplyReport), check by check.
//
// Decide is the only way through the checks. If a later check needs the result of an earlier check,
// the earlier check returns a value: Removals says which providers are removed, Content says what
// the names in the report mean. Everything else is fixed when the plan is made: the records of the
// service and the node, and which of the reported providers exist. A plan is a local value of one
// decision; it keeps references to the state and the command.
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
#include "placement/commands/report_limits.h"
#include "placement/state/state.h"

namespace berth::placement {

// INVALID_ARGUMENT for a malformed report.
absl::Status CheckForm(const ApplyReport& report);

class ReportPlan {
 public:
  // REQUIRES: CheckForm(report) is OK.
  ReportPlan(const State& state, const ApplyReport& report);

  // Runs all checks in the order that the comment on the function Decide(ApplyReport) gives.
  // Returns the changes of the report. If this report, or a later report, was applied before,
  // returns an outcome without changes.
  absl::StatusOr<Outcome> Decide(const RuleContext& context) const;

 private:
  // The providers in the node's tree that the report no longer wants, by position.
  struct Removals {
    std::vector<int> going;               // to be removed, children before parents
    std::vector<int> kept;                // not wanted, but cannot be removed
    absl::flat_hash_set<ProviderId> ids;  // of those to be removed
  };
  // The meaning of the inventories and traits that the report names. `rows` and `traits` are
  // parallel to the report's providers.
  struct Content {
    std::vector<std::vector<InventoryRow>> rows;
    std::vector<std::vector<TraitId>> traits;
    std::vector<std::string> unknown_traits;              // each once
    absl::flat_hash_set<absl::string_view> unknown;       // the same names, for look-ups
    absl::flat_hash_map<std::string, ClassId> class_ids;  // of new_classes
    absl::flat_hash_map<std::string, TraitId> trait_ids;  // of new_traits
    std::vector<ClassPut> new_classes;
    std::vector<TraitPut> new_traits;
    std::vector<LimitedPart> limited;
  };

  // PERMISSION_DENIED / POLICY_DENIED if the tracker may not take the node over (T-22, T-387). The
  // node belongs to another host if its record says so, or, if it has no record, if its root is
  // below a node of another host.
  // - An identified tracker takes over no node of another host. If the node has no record, it takes
  //   over no provider with the node's uuid either: operators made it, and CreateNode gives it away.
  // - Another tracker takes over a node of another host whose tracker is down, and a provider that
  //   belongs to no node.
  absl::Status CheckOwner() const;
  absl::Status CheckOwnerOfIdentified() const;
  // Whether this report, or a report of the same process with a greater number, was applied before
  // (T-398).
  bool IsStale() const;
  // FAILED_PRECONDITION / REPORT_GAP in two cases. First: the last applied report came from the
  // same process and has the same number but other content, so nobody knows which of the two
  // reports is newer. Second: a delta does not follow the last applied report of the same process
  // (T-229).
  absl::Status CheckSequence() const;
  // NOT_FOUND / PARENT_NOT_FOUND if a parent does not exist; then PERMISSION_DENIED / POLICY_DENIED
  // if the report names an existing provider that does not belong to the node. An identified tracker
  // gets POLICY_DENIED for both, so it does not learn which providers exist.
  absl::Status CheckSubtree() const;
  // ALREADY_EXISTS / DUPLICATE_PROVIDER if, after the report, a reported provider would have the
  // same name as another provider or as another node of the host (T-12, T-189). The refusal names
  // the provider that has the name, but to an identified tracker only one of its node.
  absl::Status CheckNames(const Removals& removals) const;
  // ABORTED / PROVIDER_GENERATION_CONFLICT, which names every provider whose generation is not the
  // expected one.
  absl::Status CheckGenerations() const;
  // INVALID_ARGUMENT / PROVIDER_LOOP if a provider would be below itself.
  absl::Status CheckLoops() const;
  // Looks up the names of the report, and applies its limits. Refuses, provider by provider,
  // INVALID_INVENTORY, RESOURCE_CLASS_NOT_FOUND, INVENTORY_IN_USE. New custom classes and traits get
  // ids (T-194); INVALID_FIELD if one report has too many of them. Then RESOURCE_EXHAUSTED /
  // DAILY_LIMIT_REACHED if the report brings more that is new than the tracker may still bring today.
  absl::StatusOr<Content> ResolveContent(const Removals& removals) const;

  // PERMISSION_DENIED / POLICY_DENIED if a reported holding is of a consumer that holds nothing on
  // the node, or names a provider of others. For an identified tracker a consumer that holds nothing
  // on the node does not exist, so its generation is ABORTED / CONSUMER_GENERATION_CONFLICT.
  absl::Status CheckHoldings() const;
  absl::Status CheckHolder(const ReportedHolding& holding) const;
  // The reported holdings, with what their consumers hold elsewhere.
  std::vector<ConsumerAllocations> WantedAllocations() const;
  // The outcome of a report with holdings. Refuses as a Reshape does, from
  // CONSUMER_GENERATION_CONFLICT on.
  absl::StatusOr<Outcome> DecideReshape(const Removals& removals, const Content& content,
                                        const RuleContext& context) const;
  Outcome MakeOutcome(const Removals& removals, const Content& content,
                      const RuleContext& context) const;
  // The answer to a stale report: the reported providers of the node as they are now.
  Outcome KeepAll() const;

  absl::StatusOr<std::vector<InventoryRow>> ResolveRows(size_t at, ReportLimits& limits,
                                                        Content& content) const;
  std::vector<TraitId> ResolveTraits(size_t at, ReportLimits& limits, Content& content) const;
  // INVALID_FIELD if the report would leave the provider with more traits than one may have.
  absl::Status CheckTraitsLeft(size_t at, const std::vector<TraitId>& traits) const;
  // Whether this report and the last applied report come from the same process.
  bool IsFromRecordedProcess() const;
  // Sets own_, in one pass, since a peer decides how deep its tree is.
  void FindOwn();
  // Whether `place` is the node's root, or below the root without another node in between.
  bool IsOwn(const ProviderPlace& place) const;
  bool IsOnNode(ProviderId id) const;  // like IsOwn; false if the provider does not exist
  // Whether a tracker made the provider.
  bool IsMade(const ProviderConfig& config) const;
  std::vector<char> Unwanted() const;
  Removals DecideRemovals() const;
  // The configuration that the reported provider at index `at` shall have: the present
  // configuration if nothing differs.
  std::shared_ptr<const ProviderConfig> Wanted(size_t at, const Content& content,
                                               const RuleContext& context) const;
  NodeRecord MakeNode(const Removals& removals, const std::vector<ProviderAnswer>& answers,
                      const RuleContext& context) const;

  const State& state_;
  const ApplyReport& report_;
  const ServicePtr service_;  // null: unknown
  const NodeRecordPtr node_;  // null: this is its first report
  const std::optional<ProviderPlace> root_;
  std::vector<char> own_;  // by position in the root's tree: IsOwn; ends with the root's subtree
  std::vector<std::optional<ProviderPlace>> places_;  // parallel to the report's providers
  absl::flat_hash_map<ProviderId, size_t> entry_of_;  // index among the report's providers
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_RULES_REPORT_PLAN_H_
