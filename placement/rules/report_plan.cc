#include "placement/rules/report_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/ground/check.h"
#include "placement/rules/fence.h"
#include "placement/state/lookup.h"

namespace berth::placement {
namespace {

absl::Status Denied(const std::string& message, ProviderId provider) {
  return Refuse(absl::StatusCode::kPermissionDenied, "POLICY_DENIED", message,
                {{{"provider", provider.ToString()}}});
}

// The provider is not part of the node. A tracker with a certificate is told neither what the
// provider is called nor whether it exists.
absl::Status DeniedProvider(const State& state, const ApplyReport& report, ProviderId id) {
  const auto place = report.identified ? std::nullopt : state.FindProvider(id);
  const std::string what =
      place ? Describe(place->config()) : absl::StrCat("provider ", id.ToString());
  return Denied(absl::StrCat(what, " is not part of node ", report.node_name), id);
}

std::string GenerationText(std::optional<Generation> generation) {
  return generation ? absl::StrCat(generation->value) : "none";
}

}  // namespace

ReportPlan::ReportPlan(const State& state, const ApplyReport& report)
    : state_(state),
      report_(report),
      service_(FindService(state, report.host, kTrackerBinary)),
      node_(FindNode(state, report.node)),
      root_(state.FindProvider(report.node)) {
  if (root_) FindOwn();
  places_.reserve(report.providers.size());
  for (const ReportedProvider& provider : report.providers) {
    entry_of_[provider.id] = places_.size();
    places_.push_back(state.FindProvider(provider.id));
  }
}

absl::StatusOr<Outcome> ReportPlan::Decide(const RuleContext& context) const {
  BERTH_RETURN_IF_ERROR(CheckProcess(state_, {report_.host, report_.incarnation}, ""));
  BERTH_RETURN_IF_ERROR(CheckOwner());
  if (IsStale()) return KeepAll();
  BERTH_RETURN_IF_ERROR(CheckSequence());
  BERTH_RETURN_IF_ERROR(CheckSubtree());
  BERTH_RETURN_IF_ERROR(CheckHoldings());
  const Removals removals = DecideRemovals();
  BERTH_RETURN_IF_ERROR(CheckNames(removals));
  BERTH_RETURN_IF_ERROR(CheckGenerations());
  BERTH_RETURN_IF_ERROR(CheckLoops());
  BERTH_ASSIGN_OR_RETURN(const Content content, ResolveContent(removals));
  if (report_.holdings.empty()) return MakeOutcome(removals, content, context);
  return DecideReshape(removals, content, context);
}

absl::Status ReportPlan::CheckOwnerOfIdentified() const {
  if (node_ != nullptr ? node_->host == report_.host : !root_) return absl::OkStatus();
  return Denied(absl::StrCat("node ", report_.node_name, " (", report_.node.ToString(),
                             ") is not recorded for host ", report_.host,
                             ": an operator has to give it to this host, by UpdateNode if it has a "
                             "record, or else by CreateNode"),
                report_.node);
}

absl::Status ReportPlan::CheckOwner() const {
  if (report_.identified) return CheckOwnerOfIdentified();
  const std::string* owner = node_ ? &node_->host : nullptr;
  NodeRecordPtr above;
  if (node_ == nullptr && root_) {
    // The node has no record, but its root may be below a node of another host.
    above = FindOwner(state_, report_.node);
    if (above != nullptr) owner = &above->host;
  }
  if (owner == nullptr || *owner == report_.host) return absl::OkStatus();
  const ServicePtr other = FindService(state_, *owner, kTrackerBinary);
  if (other == nullptr || !HoldsLease(*other)) return absl::OkStatus();
  return Denied(absl::StrCat("node ", report_.node_name, " (", report_.node.ToString(),
                             ") belongs to host ", *owner, ", whose tracker is up"),
                report_.node);
}

bool ReportPlan::IsStale() const {
  if (!IsFromRecordedProcess()) return false;
  if (report_.sequence != node_->report_sequence) return report_.sequence < node_->report_sequence;
  return report_.digest == node_->digest;
}

bool ReportPlan::IsFromRecordedProcess() const {
  return node_ && node_->incarnation == report_.incarnation;
}

absl::Status ReportPlan::CheckSequence() const {
  const bool known = IsFromRecordedProcess();
  const bool is_used = known && report_.sequence == node_->report_sequence;
  const bool follows = known && root_ && report_.sequence == node_->report_sequence + 1;
  if (follows || (report_.complete && !is_used)) return absl::OkStatus();
  return Refuse(
      absl::StatusCode::kFailedPrecondition, "REPORT_GAP",
      is_used ? absl::StrCat("report ", report_.sequence, " of node ", report_.node_name,
                             " was applied with other content: send a snapshot under a new number")
              : absl::StrCat("report ", report_.sequence, " of node ", report_.node_name,
                             " is a difference to a report that was not applied: send a snapshot"),
      {{{"provider", report_.node.ToString()}, {"field", "sequence"}}});
}

void ReportPlan::FindOwn() {
  const Tree& tree = *root_->tree;
  const int end = tree.shape->end_of[root_->position];
  own_.resize(end);
  own_[root_->position] = 1;
  for (int p = root_->position + 1; p < end; ++p) {
    own_[p] = own_[tree.shape->parent_of[p]] && FindNode(state_, tree.config(p).id) == nullptr;
  }
}

bool ReportPlan::IsOwn(const ProviderPlace& place) const {
  return root_ && place.tree == root_->tree && static_cast<size_t>(place.position) < own_.size() &&
         own_[place.position];
}

absl::Status ReportPlan::CheckSubtree() const {
  std::vector<ProviderId> named;
  for (const ReportedProvider& provider : report_.providers) {
    named.push_back(provider.id);
    if (provider.parent && !entry_of_.contains(*provider.parent)) {
      if (!state_.FindProvider(*provider.parent)) {
        if (report_.identified) return DeniedProvider(state_, report_, *provider.parent);
        return Refuse(absl::StatusCode::kNotFound, "PARENT_NOT_FOUND",
                      absl::StrCat("the parent of provider ", provider.name,
                                   " does not exist: provider ", provider.parent->ToString()),
                      {{{"provider", provider.parent->ToString()}}});
      }
      named.push_back(*provider.parent);
    }
  }
  named.insert(named.end(), report_.removed.begin(), report_.removed.end());
  for (const ProviderId id : named) {
    const std::optional<ProviderPlace> place = state_.FindProvider(id);
    if (!place || id == report_.node || IsOwn(*place)) continue;
    return DeniedProvider(state_, report_, id);
  }
  return absl::OkStatus();
}

absl::Status ReportPlan::CheckNames(const Removals& removals) const {
  std::vector<FaultItem> items;
  std::string message;
  const auto fault = [&](ProviderId holder, bool holder_is_own, ProviderId claimant,
                         std::string field, absl::string_view name) {
    const bool is_told = !report_.identified || holder_is_own;
    if (items.empty()) {
      message = absl::StrCat("the name ", name, " belongs already to ",
                             is_told ? holder.ToString() : "another provider", ", so ",
                             claimant.ToString(), " cannot have it");
    }
    items.push_back(
        {{"provider", (is_told ? holder : claimant).ToString()}, {"field", std::move(field)}});
  };
  for (size_t i = 0; i < report_.providers.size(); ++i) {
    const ReportedProvider& provider = report_.providers[i];
    const std::optional<ProviderId> holder = NameHolder(state_, provider.name, provider.id);
    // The provider that has the name now does not matter if the report removes or lists that
    // provider: CheckForm has compared the reported names with each other.
    if (holder && !removals.ids.contains(*holder) && !entry_of_.contains(*holder)) {
      fault(*holder, IsOnNode(*holder), provider.id, absl::StrCat("providers[", i, "].name"),
            provider.name);
    }
  }
  for (const NodeRecordPtr& other : state_.NodesOf(report_.host)) {
    if (other->id != report_.node && other->name == report_.node_name) {
      fault(other->id, true, report_.node, "node_name", report_.node_name);
    }
  }
  if (items.empty()) return absl::OkStatus();
  return Refuse(absl::StatusCode::kAlreadyExists, "DUPLICATE_PROVIDER", message, items);
}

absl::Status ReportPlan::CheckGenerations() const {
  std::vector<FaultItem> items;
  std::string message;
  for (size_t i = 0; i < places_.size(); ++i) {
    std::optional<Generation> actual;
    if (places_[i]) actual = places_[i]->config().generation;
    const std::optional<Generation> expected = report_.providers[i].base_generation;
    if (expected == actual) continue;
    if (items.empty()) {
      message = absl::StrCat("provider ", report_.providers[i].name, " is at generation ",
                             GenerationText(actual), ", but the report expected ",
                             GenerationText(expected),
                             ": merge the report with the current providers and send it again");
    }
    items.push_back({{"provider", report_.providers[i].id.ToString()},
                     {"expected_generation", GenerationText(expected)},
                     {"actual_generation", GenerationText(actual)}});
  }
  if (items.empty()) return absl::OkStatus();
  return Refuse(absl::StatusCode::kAborted, "PROVIDER_GENERATION_CONFLICT", message, items);
}

// For each position in the node's tree: whether the report no longer wants the provider there.
std::vector<char> ReportPlan::Unwanted() const {
  const Tree& tree = *root_->tree;
  std::vector<char> unwanted(tree.size());
  for (const ProviderId id : report_.removed) {
    if (const int p = tree.Find(id); p >= 0) unwanted[p] = 1;
  }
  if (!report_.complete) return unwanted;
  for (int p = root_->position + 1; p < tree.shape->end_of[root_->position]; ++p) {
    const ProviderConfig& config = tree.config(p);
    unwanted[p] =
        !entry_of_.contains(config.id) && IsMade(config) && IsOwn(ProviderPlace{root_->tree, p});
  }
  return unwanted;
}

bool ReportPlan::IsMade(const ProviderConfig& config) const {
  const std::optional<TraitId> owned = state_.catalog().traits.Find(kOwnedTrait);
  return owned && config.HasTrait(*owned);
}

// Decides which unwanted providers are removed: a provider is removed if a tracker made it, nobody
// holds anything on it, it has nothing that the limits withhold, and each of its children is removed
// or gets another parent. So a provider that an operator made stays, and so do all providers above
// it (T-202).
ReportPlan::Removals ReportPlan::DecideRemovals() const {
  Removals removals;
  if (!root_) return removals;
  const Tree& tree = *root_->tree;
  std::vector<char> goes = Unwanted();
  std::vector<char> gets_child(tree.size());
  for (const ReportedProvider& provider : report_.providers) {
    if (!provider.parent) continue;
    if (const int p = tree.Find(*provider.parent); p >= 0) gets_child[p] = 1;
  }
  for (int p = tree.size() - 1; p >= 0; --p) {
    if (!goes[p]) continue;
    goes[p] = IsMade(tree.config(p)) && tree.consumers[p].empty() && !gets_child[p] &&
              !HasWithheld(state_, report_.limits.get(), tree.config(p));
    for (int child = p + 1; child < tree.shape->end_of[p]; child = tree.shape->end_of[child]) {
      // A reported child counts only if the report gives it the parent `p`, which gets_child says.
      // So only the other children are looked at here.
      if (!goes[child] && !entry_of_.contains(tree.config(child).id)) goes[p] = 0;
    }
    (goes[p] ? removals.going : removals.kept).push_back(p);
    if (goes[p]) removals.ids.insert(tree.config(p).id);
  }
  return removals;
}

absl::Status ReportPlan::CheckLoops() const {
  // A snapshot cannot have loops, because in it each provider comes after its parent.
  if (report_.complete) return absl::OkStatus();
  const size_t steps_max = static_cast<size_t>(root_->tree->size()) + report_.providers.size();
  absl::flat_hash_set<ProviderId> passed;  // providers that are known to be below the node's root
  for (const ReportedProvider& provider : report_.providers) {
    std::optional<ProviderId> above = provider.parent;
    std::vector<ProviderId> way;
    while (above && way.size() <= steps_max) {
      way.push_back(*above);
      const auto entry = entry_of_.find(*above);
      if (*above == report_.node || passed.contains(*above)) {
        above = std::nullopt;
      } else if (entry != entry_of_.end()) {
        above = report_.providers[entry->second].parent;
      } else {
        above = state_.FindProvider(*above)->config().parent;
      }
    }
    passed.insert(way.begin(), way.end());
    if (!above) continue;
    return Refuse(absl::StatusCode::kInvalidArgument, "PROVIDER_LOOP",
                  absl::StrCat("provider ", provider.name, " would become its own ancestor"),
                  {{{"provider", provider.id.ToString()}}});
  }
  return absl::OkStatus();
}

}  // namespace berth::placement
