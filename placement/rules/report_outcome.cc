// The methods of ReportPlan that make the outcome of a report that no check has refused.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/commands/inventory_write.h"
#include "placement/rules/report_plan.h"
#include "placement/state/lookup.h"

namespace berth::placement {

std::shared_ptr<const ProviderConfig> ReportPlan::Wanted(size_t at, const Content& content,
                                                         const RuleContext& context) const {
  const ReportedProvider& wanted = report_.providers[at];
  std::vector<AggregateId> aggregates;
  if (wanted.aggregates) {
    aggregates = *wanted.aggregates;
    std::sort(aggregates.begin(), aggregates.end());
  } else if (places_[at]) {
    aggregates = places_[at]->config().aggregates;
  }
  if (!places_[at]) {
    return std::make_shared<const ProviderConfig>(
        ProviderConfig{wanted.id, wanted.name, wanted.parent, context.fresh, content.rows[at],
                       content.traits[at], std::move(aggregates), context.now, context.now});
  }
  const ProviderConfig& before = places_[at]->config();
  // A report does not change the parent of the node's root. Only operators may do so.
  const bool is_root = wanted.id == report_.node;
  const std::optional<ProviderId> parent = is_root ? before.parent : wanted.parent;
  const bool same = parent == before.parent && content.rows[at] == before.inventories &&
                    content.traits[at] == before.traits && aggregates == before.aggregates;
  if (same && wanted.name == before.name) {
    return places_[at]->tree->shape->configs[places_[at]->position];
  }
  auto config = std::make_shared<ProviderConfig>(before);
  config->name = wanted.name;
  config->parent = parent;
  config->inventories = content.rows[at];
  config->traits = content.traits[at];
  config->aggregates = std::move(aggregates);
  if (!same) config->generation = before.generation.Next();  // not for a new name (P-53)
  config->updated_at = context.now;
  return config;
}

NodeRecord ReportPlan::MakeNode(const Removals& removals,
                                const std::vector<ProviderAnswer>& answers,
                                const RuleContext& context) const {
  NodeRecord node = node_ ? *node_ : NodeRecord{};
  if (node_ == nullptr) node.created_at = context.now;
  node.id = report_.node;
  node.name = report_.node_name;
  node.host = report_.host;
  node.retired = false;
  node.incarnation = report_.incarnation;
  node.report_sequence = report_.sequence;
  node.digest = report_.digest;
  node.facts = report_.facts;
  node.account = report_.account;
  node.sums = report_.sums;
  node.updated_at = context.now;
  // A snapshot replaces the whole list of reported providers. A delta replaces only the entries of
  // the providers that it names.
  std::erase_if(node.reported, [&](const auto& reported) {
    return report_.complete || entry_of_.contains(reported.first) ||
           removals.ids.contains(reported.first);
  });
  for (const ProviderAnswer& answer : answers) {
    node.reported.emplace_back(answer.config->id, answer.config->generation);
  }
  return node;
}

Outcome ReportPlan::MakeOutcome(const Removals& removals, const Content& content,
                                const RuleContext& context) const {
  Outcome outcome;
  outcome.result.created = node_ == nullptr;
  outcome.result.unknown_traits = content.unknown_traits;
  outcome.result.limited = content.limited;
  Changes& changes = outcome.changes;
  changes.insert(changes.end(), content.new_classes.begin(), content.new_classes.end());
  changes.insert(changes.end(), content.new_traits.begin(), content.new_traits.end());
  const ProviderId root = root_ ? root_->tree->root_id() : report_.node;
  for (size_t i = 0; i < report_.providers.size(); ++i) {
    std::shared_ptr<const ProviderConfig> config = Wanted(i, content, context);
    outcome.result.providers.push_back({config, root});
    if (!places_[i]) {
      changes.push_back(ProviderPut{std::move(config)});
      continue;
    }
    for (OverCapacity& over : OverCapacityOf(state_, *places_[i], content.rows[i])) {
      outcome.result.over_capacity.push_back(std::move(over));
    }
    if (config.get() != &places_[i]->config()) changes.push_back(ProviderPut{std::move(config)});
  }
  for (const int p : removals.going) changes.push_back(ProviderRemoved{root_->tree->config(p).id});
  for (const int p : removals.kept) {
    outcome.result.warnings.push_back(
        absl::StrCat(Describe(root_->tree->config(p)),
                     " is not deleted: it or a provider below it has "
                     "allocations, does not belong to the node, or has "
                     "what only operators take away"));
  }
  changes.push_back(NodePut{
      std::make_shared<const NodeRecord>(MakeNode(removals, outcome.result.providers, context))});
  return outcome;
}

Outcome ReportPlan::KeepAll() const {
  Outcome outcome;
  for (const std::optional<ProviderPlace>& place : places_) {
    if (!place || !IsOwn(*place)) continue;  // a stale report may name whatever it likes
    outcome.result.providers.push_back(
        {place->tree->shape->configs[place->position], place->tree->root_id()});
  }
  return outcome;
}

}  // namespace berth::placement
