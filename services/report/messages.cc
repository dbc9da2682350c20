#include "services/report/messages.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "placement/commands/node_providers.h"
#include "placement/commands/report_limits.h"
#include "placement/values/fleet.h"
#include "services/process/error.h"
#include "services/wire/allocation.h"
#include "services/wire/fleet.h"
#include "services/wire/inventory.h"
#include "services/wire/provider.h"

namespace berth::services {

using placement::ApplyReport;
using placement::ConsumerId;
using placement::NodeProviders;
using placement::ProviderId;
using placement::ReportedProvider;
using placement::State;

namespace {

constexpr int kHelloNodesMax = 256;     // nodes of one tracker
constexpr size_t kHelloTextMax = 1024;  // bytes: 255 characters, and a digest

absl::StatusOr<placement::Uuid> ParseUuid(absl::string_view field, absl::string_view text) {
  const auto uuid = placement::Uuid::Parse(text);
  if (!uuid) return InvalidField(field, text.empty() ? "is required" : "is not a uuid");
  return *uuid;
}

absl::StatusOr<ReportedProvider> ReportedProviderOf(const std::string& field,
                                                    const pb::WantedProvider& from) {
  ReportedProvider provider;
  BERTH_ASSIGN_OR_RETURN(provider.id, ParseId<ProviderId>(field + ".uuid", from.uuid()));
  provider.name = from.name();
  if (!from.parent_uuid().empty()) {
    BERTH_ASSIGN_OR_RETURN(provider.parent,
                           ParseId<ProviderId>(field + ".parent_uuid", from.parent_uuid()));
  }
  if (from.has_base_generation()) {
    provider.base_generation = placement::Generation{from.base_generation()};
  }
  provider.inventories = NamedInventoriesOf(from.inventories());
  provider.traits_present = TextsOf(from.traits_present());
  provider.traits_absent = TextsOf(from.traits_absent());
  if (from.has_aggregates()) {
    BERTH_ASSIGN_OR_RETURN(provider.aggregates,
                           ParseIds<placement::AggregateId>(field + ".aggregates",
                                                            from.aggregates().aggregate_uuids()));
  }
  return provider;
}

absl::StatusOr<std::vector<placement::ReportedHolding>> HoldingsOf(const pb::Report& report) {
  std::vector<placement::ReportedHolding> holdings;
  for (const pb::HeldAllocations& from : report.allocations()) {
    const std::string field = absl::StrCat("report.allocations[", holdings.size(), "]");
    placement::ReportedHolding& holding = holdings.emplace_back();
    BERTH_ASSIGN_OR_RETURN(holding.consumer,
                           ParseId<ConsumerId>(field + ".consumer_uuid", from.consumer_uuid()));
    holding.expected_generation = placement::Generation{from.generation()};
    BERTH_ASSIGN_OR_RETURN(holding.allocations,
                           ProviderAmountsOf(field + ".allocations", from.allocations()));
  }
  return holdings;
}

// Fails if a node is named twice, or if a node is both named and retired.
absl::Status CheckNamedOnce(const HelloFacts& facts) {
  std::vector<ProviderId> named = facts.retired;
  for (const HelloNode& node : facts.nodes) named.push_back(node.id);
  std::sort(named.begin(), named.end());
  const auto twice = std::adjacent_find(named.begin(), named.end());
  if (twice == named.end()) return absl::OkStatus();
  return placement::Refuse(absl::StatusCode::kInvalidArgument, "DUPLICATE_PARAMETER",
                           absl::StrCat("hello.nodes and hello.retired_node_uuids name node ",
                                        twice->ToString(), " twice"),
                           {{{"field", "hello.nodes"}, {"provider", twice->ToString()}}});
}

// Returns the account of the node after `report`: a Node with the fields whose bytes the ledger
// stores as the account. `node`: the record of the node; null: it has none.
pb::Node AccountAfter(const NodePtr* node, const pb::Report& report) {
  pb::Node account;
  const bool delta = report.kind() == pb::REPORT_KIND_DELTA;
  if (delta && node != nullptr) account.ParseFromString((*node)->account);
  if (report.has_account()) *account.mutable_account() = report.account();
  if (report.has_observation()) *account.mutable_observation() = report.observation();
  if (report.has_orphans()) *account.mutable_orphans() = report.orphans().orphans();
  if (report.has_findings()) *account.mutable_findings() = report.findings().findings();
  if (report.has_audit()) *account.mutable_audit() = report.audit();
  return account;
}

void FillGenerations(const State& state, const placement::ProviderConfig& config,
                     pb::ProviderGenerations* to) {
  to->set_provider_uuid(config.id.ToString());
  to->set_generation(config.generation.value);
  const auto place = state.FindProvider(config.id);
  if (place) to->set_allocation_generation(place->allocation_generation().value);
}

void FillLimited(const std::vector<placement::LimitedPart>& limited, pb::Ack* to) {
  const placement::LimitedPart* before = nullptr;
  for (const placement::LimitedPart& part : limited) {
    if (before == nullptr || before->provider != part.provider) {
      to->add_limited()->set_provider_uuid(part.provider.ToString());
    }
    before = &part;
    pb::ProviderLimits* const provider = to->mutable_limited(to->limited_size() - 1);
    if (!part.trait.empty()) {
      provider->add_traits(part.trait);
      continue;
    }
    pb::LimitedClass* const of_class = provider->add_classes();
    of_class->set_resource_class(part.resource_class);
    of_class->set_withheld(part.withheld);
    of_class->set_asked_total(part.asked);
    of_class->set_stored_total(part.stored);
  }
}

// Sets no standing if placement needs a snapshot of the node. A tracker with a certificate is told
// nothing of the record of a node of another host.
void FillNodeWelcome(const State& state, const HelloFacts& hello, const HelloNode& node,
                     pb::NodeWelcome* to) {
  to->set_node_uuid(node.id.ToString());
  const bool may_report = MayReport(state, hello, node.id);
  if (!may_report) to->set_standing(pb::NODE_STANDING_STANDBY);
  const NodePtr* found = state.nodes().Find(node.id);
  if (found == nullptr || (hello.identified && !may_report)) return;
  const placement::NodeRecord& record = **found;
  FillRecordedNode(record, to->mutable_recorded());
  const placement::RegisterService& service = hello.service;
  if (record.incarnation == service.incarnation) to->set_last_sequence(record.report_sequence);
  if (!record.retired && record.host == service.host && IsKnown(state, record, node.digest)) {
    to->set_standing(pb::NODE_STANDING_KNOWN);
  }
}

}  // namespace

Beat BeatOf(const pb::Heartbeat& heartbeat) {
  Beat beat;
  beat.count = heartbeat.count();
  beat.stale_audit = std::any_of(heartbeat.nodes().begin(), heartbeat.nodes().end(),
                                 [](const pb::NodeBeat& node) { return node.audit_overdue(); });
  return beat;
}

absl::StatusOr<HelloFacts> HelloOf(const pb::Hello& hello) {
  HelloFacts facts;
  facts.service.host = hello.host();
  facts.service.binary = hello.binary();
  facts.service.machine_id = hello.machine_id();
  facts.service.version = hello.version();
  facts.service.zone = hello.zone();
  if (hello.host().empty()) return InvalidField("hello.host", "is required");
  if (hello.binary().empty()) return InvalidField("hello.binary", "is required");
  BERTH_ASSIGN_OR_RETURN(facts.service.incarnation,
                         ParseUuid("hello.incarnation", hello.incarnation()));
  facts.service.id = placement::Uuid::Random();
  if (hello.has_registered()) {
    BERTH_ASSIGN_OR_RETURN(
        facts.service.registered_id,
        ParseUuid("hello.registered.service_uuid", hello.registered().service_uuid()));
    facts.service.registered_at = RevisionOf(hello.registered().revision());
  }
  if (hello.nodes_size() + hello.retired_node_uuids_size() > kHelloNodesMax) {
    return InvalidField("hello.nodes",
                        absl::StrCat("and hello.retired_node_uuids together must name ",
                                     kHelloNodesMax, " nodes at most"));
  }
  for (const pb::NodeDigest& from : hello.nodes()) {
    const std::string field = absl::StrCat("hello.nodes[", facts.nodes.size(), "].node_uuid");
    BERTH_ASSIGN_OR_RETURN(const auto id, ParseId<ProviderId>(field, from.node_uuid()));
    if (from.node_name().size() > kHelloTextMax || from.digest().size() > kHelloTextMax) {
      return InvalidField(
          field.substr(0, field.rfind('.')),
          absl::StrCat("must have a name and a digest of at most ", kHelloTextMax, " bytes each"));
    }
    HelloNode& node = facts.nodes.emplace_back(HelloNode{id, from.node_name(), from.digest(), {}});
    if (from.has_pushed_revision()) node.pushed = RevisionOf(from.pushed_revision());
  }
  BERTH_ASSIGN_OR_RETURN(
      facts.retired, ParseIds<ProviderId>("hello.retired_node_uuids", hello.retired_node_uuids()));
  BERTH_RETURN_IF_ERROR(CheckNamedOnce(facts));
  return facts;
}

bool Announces(const HelloFacts& hello, ProviderId node) {
  return std::any_of(hello.nodes.begin(), hello.nodes.end(),
                     [node](const HelloNode& named) { return named.id == node; });
}

std::vector<ProviderId> OwnNodes(const State& state, const HelloFacts& hello) {
  std::vector<ProviderId> own;
  for (const HelloNode& node : hello.nodes) {
    if (MayReport(state, hello, node.id)) own.push_back(node.id);
  }
  return own;
}

std::vector<ProviderId> NodesToRetire(const State& state, const HelloFacts& hello) {
  std::vector<ProviderId> nodes;
  for (const ProviderId id : hello.retired) {
    const NodePtr* node = state.nodes().Find(id);
    if (node == nullptr || (*node)->host != hello.service.host || (*node)->retired) continue;
    nodes.push_back(id);
  }
  return nodes;
}

absl::Status CheckRetired(const State& state, const placement::TrackerLimits* limits,
                          ProviderId node) {
  if (!placement::HasWithheld(state, limits, node)) return absl::OkStatus();
  return placement::Refuse(absl::StatusCode::kPermissionDenied, "POLICY_DENIED",
                           absl::StrCat("the tracker cannot retire node ", node.ToString(),
                                        ", which has what the access file withholds: an operator "
                                        "has to retire it"),
                           {{{"provider", node.ToString()}}});
}

absl::StatusOr<ApplyReport> ApplyReportOf(const State& state, const HelloFacts& hello,
                                          const pb::Report& report) {
  ApplyReport command;
  BERTH_ASSIGN_OR_RETURN(const auto node,
                         ParseId<ProviderId>("report.node_uuid", report.node_uuid()));
  if (report.kind() != pb::REPORT_KIND_SNAPSHOT && report.kind() != pb::REPORT_KIND_DELTA) {
    return InvalidField("report.kind", "must be a snapshot or a delta");
  }
  command.host = hello.service.host;
  command.incarnation = hello.service.incarnation;
  command.identified = hello.identified;
  command.node = node;
  command.node_name = report.node_name();
  // A tracker with a certificate is not told, by a refusal, what a node of others is called.
  const bool is_hidden = hello.identified && !MayReport(state, hello, node);
  const auto* recorded = is_hidden ? nullptr : state.nodes().Find(node);
  if (command.node_name.empty() && recorded != nullptr) command.node_name = (*recorded)->name;
  command.sequence = report.sequence();
  command.digest = report.digest();
  command.complete = report.kind() == pb::REPORT_KIND_SNAPSHOT;
  if (recorded != nullptr) command.sums = (*recorded)->sums;
  if (command.complete || report.has_facts()) {
    command.facts = FactsBytes(report.facts());
    SetTotals(report.facts(), &command.sums);
  }
  const pb::Node account = AccountAfter(recorded, report);
  command.account = account.SerializeAsString();
  SetUses(account.account(), &command.sums);
  for (const pb::WantedProvider& from : report.providers()) {
    BERTH_ASSIGN_OR_RETURN(
        auto provider,
        ReportedProviderOf(absl::StrCat("report.providers[", command.providers.size(), "]"), from));
    command.providers.push_back(std::move(provider));
  }
  BERTH_ASSIGN_OR_RETURN(command.removed, ParseIds<ProviderId>("report.removed_provider_uuids",
                                                               report.removed_provider_uuids()));
  BERTH_ASSIGN_OR_RETURN(command.holdings, HoldingsOf(report));
  return command;
}

bool IsKnown(const State& state, const placement::NodeRecord& node, const std::string& digest) {
  if (digest.empty() || node.digest != digest) return false;
  for (const auto& [id, generation] : node.reported) {
    const auto place = state.FindProvider(id);
    if (!place || place->config().generation != generation) return false;
  }
  return true;
}

bool MayReport(const State& state, const HelloFacts& hello, ProviderId node) {
  const NodePtr* record = state.nodes().Find(node);
  if (record == nullptr) return !hello.identified || !state.FindProvider(node);
  if ((*record)->host == hello.service.host) return true;
  if (hello.identified) return false;
  const ServicePtr owner = FindTracker(state, (*record)->host);
  return owner == nullptr || !placement::HoldsLease(*owner);
}

void FillRecordedNode(const placement::NodeRecord& node, pb::RecordedNode* to) {
  to->set_node_uuid(node.id.ToString());
  to->set_node_name(node.name);
  to->set_host(node.host);
  to->set_retired(node.retired);
}

void FillWelcome(const State& state, const HelloFacts& hello, const placement::Decision& decision,
                 absl::Duration heartbeat_interval, const std::function<bool(ProviderId)>& may_send,
                 pb::Welcome* to) {
  const std::string& host = hello.service.host;
  const auto* service = state.services().Find({host, hello.service.binary});
  if (service != nullptr) FillService(**service, nullptr, to->mutable_service());
  to->set_service_created(decision.result.created);
  to->mutable_heartbeat_interval()->set_seconds(absl::ToInt64Seconds(heartbeat_interval));
  to->mutable_heartbeat_interval()->set_nanos(
      static_cast<int32_t>(absl::ToInt64Nanoseconds(heartbeat_interval % absl::Seconds(1))));
  for (const NodePtr& node : state.NodesOf(host)) FillRecordedNode(*node, to->add_recorded_nodes());
  for (const HelloNode& node : hello.nodes) {
    pb::NodeWelcome* const welcome = to->add_nodes();
    FillNodeWelcome(state, hello, node, welcome);
    if (welcome->standing() != pb::NODE_STANDING_UNSPECIFIED) continue;
    welcome->set_standing(may_send(node.id) ? pb::NODE_STANDING_SEND_ALL : pb::NODE_STANDING_WAIT);
  }
}

void FillAck(const State& state, ProviderId node, const pb::Report& report,
             const placement::Decision& decision, pb::Ack* to) {
  to->set_node_uuid(node.ToString());
  to->set_sequence(report.sequence());
  for (const placement::ProviderAnswer& provider : decision.result.providers) {
    FillGenerations(state, *provider.config, to->add_generations());
  }
  for (const std::string& trait : decision.result.unknown_traits) to->add_unknown_traits(trait);
  FillOvercommits(decision.result.over_capacity, to->mutable_overcommitted());
  for (const std::string& warning : decision.result.warnings) to->add_warnings(warning);
  FillLimited(decision.result.limited, to);
}

void FillReject(const State& state, ProviderId node, const pb::Report& report,
                const absl::Status& status, pb::Reject* to) {
  FillReject(report, status, to);
  if (!absl::IsAborted(status)) return;
  NodeProviders(state, node).ForEach([&](const placement::ProviderPlace& place) {
    FillProvider(state, place, pb::PROVIDER_VIEW_FULL, to->add_providers());
  });
}

void FillReject(const pb::Report& report, const absl::Status& why, pb::Reject* to) {
  to->set_node_uuid(EchoOf(report.node_uuid()));
  to->set_sequence(report.sequence());
  *to->mutable_status() = PlacementError(why);
}

bool HasReason(const absl::Status& status, absl::string_view reason) {
  const auto refusal = placement::RefusalOf(status);
  return refusal && refusal->reason == reason;
}

}  // namespace berth::services
