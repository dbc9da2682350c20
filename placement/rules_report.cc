#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "placement/check.h"
#include "placement/fleet_node.h"
#include "placement/guard.h"
#include "placement/report_plan.h"
#include "placement/rules.h"

namespace berth::placement {
namespace {

absl::Status NodeNotFound(ProviderId node) {
  return Refuse(absl::StatusCode::kNotFound, "NODE_NOT_FOUND",
                absl::StrCat("there is no node ", node.ToString()),
                {{{"provider", node.ToString()}}});
}

// The node's subtree may go as a whole: no other node stands in it; and, without `cascade`, nobody
// holds anything of it and nobody else put providers into it (T-202).
absl::Status CheckRemovable(const State& state, const ProviderPlace& root, bool cascade) {
  const Tree& tree = *root.tree;
  const int foreign = FirstForeign(state, tree, root.position, cascade);
  if (foreign >= 0) {
    const ProviderConfig& config = tree.config(foreign);
    return Refuse(absl::StatusCode::kFailedPrecondition, "PROVIDER_HAS_CHILDREN",
                  absl::StrCat(Describe(root.config()), " has below it ", Describe(config),
                               ", which is not its own"),
                  {{{"provider", config.id.ToString()}}});
  }
  for (int p = root.position; p < tree.shape->end_of[root.position] && !cascade; ++p) {
    if (tree.consumers[p].empty()) continue;
    return Refuse(absl::StatusCode::kFailedPrecondition, "PROVIDER_IN_USE",
                  absl::StrCat(Describe(tree.config(p)), " has allocations"),
                  {{{"provider", tree.config(p).id.ToString()}}});
  }
  return absl::OkStatus();
}

// Everybody who holds something of the subtree loses that part and keeps the rest (T-223, T-225).
void ReleaseSubtree(const State& state, const ProviderPlace& root, const RuleContext& context,
                    Outcome& outcome) {
  const Tree& tree = *root.tree;
  const int end = tree.shape->end_of[root.position];
  absl::btree_set<ConsumerId> holders;
  for (int p = root.position; p < end; ++p) {
    tree.consumers[p].ForEach(
        [&holders](const ConsumerId& id, const auto&) { holders.insert(id); });
  }
  Changes puts;
  for (const ConsumerId id : holders) {
    const ConsumerPtr before = state.FindConsumer(id);
    BERTH_CHECK(before != nullptr);
    auto after = std::make_shared<Consumer>(*before);
    std::erase_if(after->allocations, [&](const Allocation& allocation) {
      const int p = tree.Find(allocation.provider);
      return p >= root.position && p < end;
    });
    if (after->allocations.empty()) {
      outcome.changes.push_back(ConsumerRemoved{id});
      continue;
    }
    after->generation = before->generation.Next();
    after->updated_at = context.now;
    outcome.result.consumers.emplace_back(id, after->generation);
    puts.push_back(ConsumerPut{std::move(after)});
  }
  outcome.changes.insert(outcome.changes.end(), puts.begin(), puts.end());
  for (int p = root.position; p < end; ++p) {
    if (tree.consumers[p].empty()) continue;
    ProviderUsed used{tree.config(p).id, tree.allocation_generations[p].Next(), {}};
    for (const InventoryRow& row : tree.config(p).inventories) {
      used.used.push_back({row.resource_class, 0});
    }
    outcome.changes.push_back(std::move(used));
  }
}

}  // namespace

// Form; SERVICE_NOT_REGISTERED; TRACKER_FENCED; POLICY_DENIED for a node of another host that is alive; a report
// that was overtaken succeeds without effect (T-398); REPORT_GAP; PARENT_NOT_FOUND; POLICY_DENIED
// for providers of others; DUPLICATE_PROVIDER; PROVIDER_GENERATION_CONFLICT with all that differ;
// PROVIDER_LOOP; then provider by provider INVALID_INVENTORY, RESOURCE_CLASS_NOT_FOUND,
// INVENTORY_IN_USE. All of the report or nothing.
absl::StatusOr<Outcome> Decide(const State& state, const ApplyReport& command,
                               const RuleContext& context) {
  if (absl::Status status = CheckForm(command); !status.ok()) return status;
  ReportPlan plan(state, command);
  if (absl::Status status = plan.CheckService(); !status.ok()) return status;
  if (absl::Status status = plan.CheckOwner(); !status.ok()) return status;
  if (plan.IsStale()) return plan.KeepAll();
  if (absl::Status status = plan.CheckSequence(); !status.ok()) return status;
  if (absl::Status status = plan.CheckSubtree(); !status.ok()) return status;
  if (absl::Status status = plan.CheckNames(); !status.ok()) return status;
  if (absl::Status status = plan.CheckGenerations(); !status.ok()) return status;
  if (absl::Status status = plan.CheckLoops(); !status.ok()) return status;
  if (absl::Status status = plan.ResolveContent(); !status.ok()) return status;
  return plan.MakeOutcome(context);
}

// NODE_NOT_FOUND (T-40).
absl::StatusOr<Outcome> Decide(const State& state, const RetireNode& command, const RuleContext&) {
  const NodeRecordPtr before = FindNode(state, command.node);
  if (!before) return NodeNotFound(command.node);
  Outcome outcome;
  if (before->retired == command.retired) return outcome;
  NodeRecord node = *before;
  node.retired = command.retired;
  outcome.changes.push_back(NodePut{std::make_shared<const NodeRecord>(std::move(node))});
  return outcome;
}

// NODE_NOT_FOUND; PROVIDER_HAS_CHILDREN, which `cascade` overrides for all but other nodes;
// PROVIDER_IN_USE unless `cascade` (T-225).
absl::StatusOr<Outcome> Decide(const State& state, const DeleteNode& command,
                               const RuleContext& context) {
  if (!FindNode(state, command.node)) return NodeNotFound(command.node);
  Outcome outcome;
  if (const std::optional<ProviderPlace> root = state.FindProvider(command.node)) {
    if (absl::Status status = CheckRemovable(state, *root, command.cascade); !status.ok()) {
      return status;
    }
    ReleaseSubtree(state, *root, context, outcome);
    const Tree& tree = *root->tree;
    for (int p = tree.shape->end_of[root->position] - 1; p >= root->position; --p) {
      outcome.changes.push_back(ProviderRemoved{tree.config(p).id});
    }
  }
  outcome.changes.push_back(NodeRemoved{command.node});
  return outcome;
}

}  // namespace berth::placement
