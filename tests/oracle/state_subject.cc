#include "tests/oracle/state_subject.h"

#include <utility>

#include "placement/ground/check.h"
#include "placement/rules/rules.h"
#include "placement/search/search.h"
#include "placement/values/standard_data.h"

namespace berth::oracle {
namespace {

using placement::Allocation;
using placement::InventoryRow;
using placement::ProviderConfig;
using placement::ProviderPlace;
using placement::State;

std::set<std::string> TraitNames(const State& state, const ProviderConfig& config) {
  std::set<std::string> names;
  for (placement::TraitId trait : config.traits) {
    names.insert(state.catalog().traits.NameOf(trait));
  }
  return names;
}

const std::string& ClassName(const State& state, placement::ClassId id) {
  return state.catalog().classes.NameOf(id);
}

Summary SummaryOf(const State& state, const placement::Tree& tree, int position) {
  const ProviderConfig& config = tree.config(position);
  Summary summary{config.parent, tree.root_id(), TraitNames(state, config), {}, {}};
  for (size_t row = 0; row < config.inventories.size(); ++row) {
    const InventoryRow& offered = config.inventories[row];
    const std::string& name = ClassName(state, offered.resource_class);
    summary.capacity[name] = offered.capacity;
    summary.used[name] = tree.used_of(position, static_cast<int>(row));
  }
  return summary;
}

FoundCandidate CandidateOf(const State& state, const placement::Candidate& candidate) {
  FoundCandidate found;
  for (const Allocation& allocation : candidate.allocations) {
    found.allocations[allocation.provider][ClassName(state, allocation.resource_class)] =
        allocation.amount;
  }
  for (const auto& [suffix, providers] : candidate.mappings) {
    found.mappings[suffix] = {providers.begin(), providers.end()};
  }
  return found;
}

}  // namespace

StateSubject::StateSubject() {
  placement::EnsureStandardNames names;
  for (absl::string_view name : placement::StandardClasses()) names.classes.emplace_back(name);
  for (absl::string_view name : placement::StandardTraits()) names.traits.emplace_back(name);
  BERTH_CHECK(Write(names).ok());
}

absl::Status StateSubject::Write(const CommandBody& command) {
  ++commands_;
  const placement::RuleContext context{absl::UnixEpoch(), Generation{commands_}};
  const absl::StatusOr<placement::Outcome> outcome =
      Decide(state_, placement::Command{"", "", "", {}, command}, context);
  if (outcome.ok()) state_.Apply(outcome->changes);
  return outcome.status();
}

absl::StatusOr<Found> StateSubject::Find(const CandidateRequest& request) {
  const absl::StatusOr<placement::SearchResult> result =
      FindCandidates(state_, request, placement::SearchBudget{});
  if (!result.ok()) return result.status();
  Found found;
  for (const placement::Candidate& candidate : result->candidates) {
    if (!found.candidates.insert(CandidateOf(state_, candidate)).second) {
      return absl::InternalError("a candidate came twice");
    }
  }
  for (const placement::Tree* const tree : result->trees) {
    for (int position = 0; position < tree->size(); ++position) {
      found.summaries[tree->config(position).id] = SummaryOf(state_, *tree, position);
    }
  }
  return found;
}

std::optional<ProviderView> StateSubject::Provider(ProviderId id) {
  const std::optional<ProviderPlace> place = state_.FindProvider(id);
  if (!place) return std::nullopt;
  const ProviderConfig& config = place->config();
  ProviderView view;
  view.name = config.name;
  view.parent = config.parent;
  view.root = place->tree->root_id();
  view.generation = config.generation;
  view.traits = TraitNames(state_, config);
  view.aggregates = {config.aggregates.begin(), config.aggregates.end()};
  for (size_t row = 0; row < config.inventories.size(); ++row) {
    const std::string& name = ClassName(state_, config.inventories[row].resource_class);
    view.inventories[name] = config.inventories[row].inventory;
    view.used[name] = place->used(static_cast<int>(row));
  }
  return view;
}

std::optional<ConsumerView> StateSubject::Consumer(ConsumerId id) {
  const placement::ConsumerPtr consumer = state_.FindConsumer(id);
  if (!consumer) return std::nullopt;
  ConsumerView view;
  view.generation = consumer->generation;
  view.project = consumer->owner->project;
  view.user = consumer->owner->user;
  view.type = consumer->owner->type;
  for (const Allocation& allocation : consumer->allocations) {
    view.allocations[allocation.provider][ClassName(state_, allocation.resource_class)] =
        allocation.amount;
  }
  return view;
}

}  // namespace berth::oracle
