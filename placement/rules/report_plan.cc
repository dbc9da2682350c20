#include "placement/rules/report_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/commands/inventory_write.h"
#include "placement/ground/check.h"
#include "placement/state/lookup.h"

namespace berth::placement {
namespace {

constexpr size_t kNewNamesMax = 256;  // of one report: the catalog forgets none

absl::Status Denied(const std::string& message, ProviderId provider) {
  return Refuse(absl::StatusCode::kPermissionDenied, "POLICY_DENIED", message,
                {{{"provider", provider.ToString()}}});
}

// The id of a custom name that the catalog does not have: what the report brought it under before,
// else the next. `next` is the catalog's.
template <typename Id, typename Put>
Id Added(absl::string_view name, uint32_t next, absl::flat_hash_map<absl::string_view, Id>& ids,
         std::vector<Put>& puts) {
  const auto fresh = static_cast<Id>(next + static_cast<uint32_t>(puts.size()));
  const auto [at, is_new] = ids.try_emplace(name, fresh);
  if (is_new) puts.push_back({at->second, std::string(name)});
  return at->second;
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
  places_.reserve(report.providers.size());
  for (const ReportedProvider& provider : report.providers) {
    entry_of_[provider.id] = places_.size();
    places_.push_back(state.FindProvider(provider.id));
  }
}

absl::Status ReportPlan::CheckService() const {
  if (service_ == nullptr) {
    return Refuse(absl::StatusCode::kFailedPrecondition, "SERVICE_NOT_REGISTERED",
                  absl::StrCat("the tracker of host ", report_.host,
                               " is not registered: the tracker has to send Hello first"),
                  {{{"field", "host"}}});
  }
  if (service_->incarnation == report_.incarnation) return absl::OkStatus();
  return Refuse(
      absl::StatusCode::kAborted, "TRACKER_FENCED",
      absl::StrCat("the tracker of host ", report_.host,
                   " has been replaced by a newer process: this process must stop writing"),
      {{{"field", "incarnation"}}});
}

absl::Status ReportPlan::CheckOwner() const {
  const std::string* owner = node_ ? &node_->host : nullptr;
  if (node_ == nullptr && root_) {
    // No node yet: the provider may still stand below a node of somebody else.
    const int position = OwningNode(state_, *root_->tree, root_->position);
    if (position >= 0) {
      owner = &FindNode(state_, root_->tree->config(position).id)->host;
    }
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

// Whether `place` is the node's root or below it, with no other node in between.
bool ReportPlan::IsOwn(const ProviderPlace& place) const {
  const Tree& tree = *place.tree;
  int position = place.position;
  while (position >= 0 && tree.config(position).id != report_.node &&
         FindNode(state_, tree.config(position).id) == nullptr) {
    position = tree.shape->parent_of[position];
  }
  return position >= 0 && tree.config(position).id == report_.node;
}

absl::Status ReportPlan::CheckSubtree() const {
  std::vector<ProviderId> named;
  for (const ReportedProvider& provider : report_.providers) {
    named.push_back(provider.id);
    if (provider.parent && !entry_of_.contains(*provider.parent)) {
      if (!state_.FindProvider(*provider.parent)) {
        return Refuse(absl::StatusCode::kNotFound, "PARENT_NOT_FOUND",
                      absl::StrCat("there is no provider ", provider.parent->ToString(),
                                   ", which is named as the parent of ", provider.name),
                      {{{"provider", provider.parent->ToString()}}});
      }
      named.push_back(*provider.parent);
    }
  }
  named.insert(named.end(), report_.removed.begin(), report_.removed.end());
  for (const ProviderId id : named) {
    const std::optional<ProviderPlace> place = state_.FindProvider(id);
    if (!place || id == report_.node || IsOwn(*place)) continue;
    return Denied(
        absl::StrCat(Describe(place->config()), " is not part of node ", report_.node_name), id);
  }
  return absl::OkStatus();
}

absl::Status ReportPlan::CheckNames() {
  DecideRemovals();
  std::vector<FaultItem> items;
  std::string message;
  const auto fault = [&](ProviderId holder, ProviderId claimant, std::string field,
                         absl::string_view name) {
    if (items.empty()) {
      message = absl::StrCat("the name ", name, " belongs already to ", holder.ToString(), ", so ",
                             claimant.ToString(), " cannot have it");
    }
    items.push_back({{"provider", holder.ToString()}, {"field", std::move(field)}});
  };
  for (size_t i = 0; i < report_.providers.size(); ++i) {
    const ReportedProvider& provider = report_.providers[i];
    const std::optional<ProviderId> holder = NameHolder(state_, provider.name, provider.id);
    // Only the end counts: a holder that goes, or that has another name afterwards, is no clash.
    if (holder && !IsGoing(*holder) && !entry_of_.contains(*holder)) {
      fault(*holder, provider.id, absl::StrCat("providers[", i, "].name"), provider.name);
    }
  }
  for (const NodeRecordPtr& other : state_.NodesOf(report_.host)) {
    if (other->id != report_.node && other->name == report_.node_name) {
      fault(other->id, report_.node, "node_name", report_.node_name);
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

absl::StatusOr<std::vector<InventoryRow>> ReportPlan::ResolveRows(size_t at) {
  const ReportedProvider& provider = report_.providers[at];
  const FaultItem metadata = {{"provider", provider.id.ToString()}};
  if (absl::Status status = CheckInventories(provider.inventories, metadata); !status.ok()) {
    return status;
  }
  std::vector<InventoryRow> rows;
  for (const NamedInventory& named : provider.inventories) {
    std::optional<ClassId> id = state_.catalog().classes.Find(named.resource_class);
    if (!id && IsCustomName(named.resource_class)) {
      const auto next = static_cast<uint32_t>(state_.catalog().classes.NextId());
      id = Added(named.resource_class, next, classes_, new_classes_);
    }
    if (!id) return RequireClass(state_, named.resource_class).status();
    rows.push_back(MakeRow(*id, named.inventory));
  }
  std::sort(rows.begin(), rows.end(), ByClass);
  if (places_[at]) {
    if (absl::Status status = CheckNoneInUseGoes(state_, *places_[at], rows); !status.ok()) {
      return status;
    }
  }
  return rows;
}

// (current - absent) + present (T-211); names that nobody knows are left out (T-213).
std::vector<TraitId> ReportPlan::ResolveTraits(size_t at) {
  const ReportedProvider& provider = report_.providers[at];
  std::vector<TraitId> traits;
  if (places_[at]) traits = places_[at]->config().traits;
  for (const std::string& name : provider.traits_absent) {
    if (const std::optional<TraitId> id = state_.catalog().traits.Find(name)) {
      traits.erase(std::remove(traits.begin(), traits.end(), *id), traits.end());
    }
  }
  for (const std::string& name : provider.traits_present) {
    std::optional<TraitId> id = state_.catalog().traits.Find(name);
    if (!id && IsCustomName(name)) {
      const auto next = static_cast<uint32_t>(state_.catalog().traits.NextId());
      id = Added(name, next, trait_ids_, new_traits_);
    }
    if (id) {
      traits.push_back(*id);
    } else if (unknown_.insert(name).second) {
      unknown_traits_.push_back(name);
    }
  }
  std::sort(traits.begin(), traits.end());
  traits.erase(std::unique(traits.begin(), traits.end()), traits.end());
  if (provider.id == report_.node) FollowService(state_, service_->disabled, traits);
  return traits;
}

absl::Status ReportPlan::ResolveContent() {
  for (size_t i = 0; i < report_.providers.size(); ++i) {
    absl::StatusOr<std::vector<InventoryRow>> rows = ResolveRows(i);
    if (!rows.ok()) return rows.status();
    rows_.push_back(*std::move(rows));
    traits_.push_back(ResolveTraits(i));
    if (new_classes_.size() + new_traits_.size() <= kNewNamesMax) continue;
    return Refuse(absl::StatusCode::kInvalidArgument, "INVALID_FIELD",
                  absl::StrCat("providers must not name more than ", kNewNamesMax,
                               " new classes and traits at once"),
                  {{{"field", "providers"}}});
  }
  return absl::OkStatus();
}

// By position in the node's tree: what the report does not want any more.
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

// Whether a tracker made it.
bool ReportPlan::IsMade(const ProviderConfig& config) const {
  const std::optional<TraitId> owned = state_.catalog().traits.Find(kOwnedTrait);
  return owned && config.HasTrait(*owned);
}

// A provider goes if it is not wanted, a tracker made it, nobody holds anything of it, and all its
// children go or move away; so others' providers stay with what is above them (T-202).
void ReportPlan::DecideRemovals() {
  if (!root_) return;
  const Tree& tree = *root_->tree;
  std::vector<char> goes = Unwanted();
  std::vector<char> gets_child(tree.size());
  for (const ReportedProvider& provider : report_.providers) {
    if (!provider.parent) continue;
    if (const int p = tree.Find(*provider.parent); p >= 0) gets_child[p] = 1;
  }
  for (int p = tree.size() - 1; p >= 0; --p) {
    if (!goes[p]) continue;
    goes[p] = IsMade(tree.config(p)) && tree.consumers[p].empty() && !gets_child[p];
    for (int child = p + 1; child < tree.shape->end_of[p]; child = tree.shape->end_of[child]) {
      // A child that is reported has found another parent, else `p` gets it.
      if (!goes[child] && !entry_of_.contains(tree.config(child).id)) goes[p] = 0;
    }
    (goes[p] ? going_ : kept_).push_back(p);
  }
}

bool ReportPlan::IsGoing(ProviderId id) const {
  const int position = root_ ? root_->tree->Find(id) : -1;
  return position >= 0 && std::find(going_.begin(), going_.end(), position) != going_.end();
}

absl::Status ReportPlan::CheckLoops() const {
  // A snapshot cannot make one: its entries stand below entries before them, up to the root.
  if (report_.complete) return absl::OkStatus();
  const size_t steps_max = static_cast<size_t>(root_->tree->size()) + report_.providers.size();
  absl::flat_hash_set<ProviderId> passed;  // on a way that ended at the node's root
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
