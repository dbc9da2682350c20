#include "services/wire/fleet.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "placement/commands/fleet_node.h"

namespace berth::services {

using placement::CommandBody;
using placement::NodeRecord;
using placement::ProviderId;
using placement::ServiceRecord;
using placement::State;

namespace {

absl::StatusOr<placement::UpdateService> UpdateOf(const State& state, const std::string& uuid) {
  BERTH_ASSIGN_OR_RETURN(const auto service, FindServiceByUuid(state, uuid));
  placement::UpdateService command;
  command.host = service->host;
  command.binary = service->binary;
  return command;
}

pb::ServiceState StateOf(const ServiceRecord& service) {
  return placement::HoldsLease(service) ? pb::SERVICE_STATE_UP : pb::SERVICE_STATE_DOWN;
}

// The number as a node's sums hold it.
int64_t Bounded(int64_t number) {
  return std::clamp(number, -placement::kNodeNumberMax, placement::kNodeNumberMax);
}

placement::NodeAmounts AmountsOf(const pb::Amounts& from) {
  return {Bounded(from.vcpus()), Bounded(from.pcpus()), Bounded(from.memory_mib()),
          Bounded(from.disk_gib())};
}

// Removes the fields that only the full view has.
void Shorten(pb::Node* node) {
  node->mutable_facts()->clear_numa_cells();
  node->mutable_facts()->clear_pci_devices();
  node->mutable_account()->clear_numa_usage();
  node->mutable_account()->clear_pci_pools();
  node->mutable_account()->clear_pci_devices();
  node->clear_orphans();
  node->clear_findings();
}

}  // namespace

absl::StatusOr<ServicePtr> FindServiceByUuid(const State& state, absl::string_view text) {
  const auto id = placement::Uuid::Parse(text);
  if (!id) return InvalidField("service_uuid", text.empty() ? "is required" : "is not a uuid");
  ServicePtr found = state.FindServiceById(*id);
  if (found != nullptr) return found;
  return placement::Refuse(absl::StatusCode::kNotFound, "SERVICE_NOT_FOUND",
                           absl::StrCat("there is no service with uuid ", id->ToString()),
                           {{{"service", id->ToString()}}});
}

absl::StatusOr<NodePtr> FindNodeByUuid(const State& state, absl::string_view text) {
  BERTH_ASSIGN_OR_RETURN(const auto id, ParseId<ProviderId>("node_uuid", text));
  const NodePtr* node = state.nodes().Find(id);
  if (node != nullptr) return *node;
  return placement::Refuse(absl::StatusCode::kNotFound, "NODE_NOT_FOUND",
                           absl::StrCat("there is no node with uuid ", id.ToString()),
                           {{{"node", id.ToString()}}});
}

ServicePtr FindTracker(const State& state, const std::string& host) {
  return placement::FindService(state, host, placement::kTrackerBinary);
}

ServicePtr ServiceAfter(const WriteAnswer& answer, placement::Uuid id) {
  for (const placement::Change& change : *answer.decision.changes) {
    const auto* put = std::get_if<placement::ServicePut>(&change);
    if (put != nullptr && put->service->id == id) return put->service;
  }
  const auto kept = FindServiceByUuid(answer.state, id.ToString());
  return kept.ok() ? *kept : std::make_shared<const ServiceRecord>();
}

void FillService(const ServiceRecord& service, const Heard* seen, pb::Service* to) {
  to->set_uuid(service.id.ToString());
  to->set_host(service.host);
  to->set_binary(service.binary);
  to->set_disabled(service.disabled);
  to->set_disabled_reason(service.disabled_reason);
  to->set_forced_down(service.forced_down);
  to->set_state(StateOf(service));
  to->set_version(service.version);
  to->set_zone(service.zone);
  to->set_incarnation(service.incarnation.ToString());
  if (seen != nullptr) {
    SetTime(seen->seen_at, to->mutable_last_seen_at());
    to->set_report_count(seen->count);
    to->set_stale_audit(seen->stale_audit);
  }
  SetTime(service.created_at, to->mutable_created_at());
  SetTime(service.updated_at, to->mutable_updated_at());
}

std::shared_ptr<const std::string> FactsBytes(const pb::NodeFacts& facts) {
  pb::Node node;
  *node.mutable_facts() = facts;
  return std::make_shared<const std::string>(node.SerializeAsString());
}

void FillNode(const State& state, const NodeRecord& node, pb::NodeView view, pb::Node* to) {
  // node.account and *node.facts are bytes of a Node with only fields that its tracker reported.
  to->ParseFromString(node.account);
  if (node.facts != nullptr) to->MergeFromString(*node.facts);
  if (view != pb::NODE_VIEW_FULL) Shorten(to);
  to->set_uuid(node.id.ToString());
  to->set_name(node.name);
  to->set_host(node.host);
  if (const ServicePtr service = FindTracker(state, node.host)) {
    to->set_service_uuid(service->id.ToString());
    to->set_state(StateOf(*service));
    to->set_disabled(service->disabled);
    to->set_disabled_reason(service->disabled_reason);
  }
  to->set_retired(node.retired);
  to->set_sequence(node.report_sequence);
  SetTime(node.created_at, to->mutable_created_at());
  SetTime(node.updated_at, to->mutable_updated_at());
}

void SetTotals(const pb::NodeFacts& facts, placement::NodeSums* sums) {
  sums->total = {Bounded(facts.vcpus()), Bounded(facts.pcpus()), Bounded(facts.memory_mib()),
                 Bounded(facts.disk_gib())};
  sums->storage_id = facts.storage_id();
}

void SetUses(const pb::NodeAccount& account, placement::NodeSums* sums) {
  sums->used = AmountsOf(account.used());
  sums->disk_available_least_gib.reset();
  if (account.has_disk_available_least_gib()) {
    sums->disk_available_least_gib = Bounded(account.disk_available_least_gib());
  }
  sums->instance_count = 0;
  sums->task_count = 0;
  for (const auto& [name, count] : account.counters()) {
    if (name == "num_instances") sums->instance_count = Bounded(count);
    // The workload is the number of instances with a task (T-120).
    if (absl::StartsWith(name, "num_task_") && name != "num_task_None") {
      sums->task_count = Bounded(sums->task_count + Bounded(count));
    }
  }
}

void FillChangedNode(const WriteAnswer& answer, const std::string& node_uuid, pb::Node* to) {
  const auto node = FindNodeByUuid(answer.state, node_uuid);
  if (node.ok()) FillNode(answer.state, **node, pb::NODE_VIEW_BASIC, to);
}

std::set<placement::ConsumerId> AffectedConsumers(const WriteAnswer& answer) {
  std::set<placement::ConsumerId> affected;
  for (const placement::Change& change : *answer.decision.changes) {
    if (const auto* put = std::get_if<placement::ConsumerPut>(&change)) {
      affected.insert(put->consumer->id);
    }
    if (const auto* removed = std::get_if<placement::ConsumerRemoved>(&change)) {
      affected.insert(removed->id);
    }
  }
  return affected;
}

void FillDeleteNode(const WriteAnswer& answer, pb::DeleteNodeResponse* response) {
  for (const placement::ConsumerId id : AffectedConsumers(answer)) {
    response->add_affected_consumer_uuids(id.ToString());
  }
}

absl::StatusOr<CommandBody> EnableServiceCommand(const State& state,
                                                 const pb::EnableServiceRequest& request) {
  BERTH_ASSIGN_OR_RETURN(auto command, UpdateOf(state, request.service_uuid()));
  command.disabled = false;
  return command;
}

absl::StatusOr<CommandBody> DisableServiceCommand(const State& state,
                                                  const pb::DisableServiceRequest& request) {
  if (absl::StartsWith(request.reason(), placement::kAutomaticReason) ||
      absl::StartsWith(request.reason(), placement::kMaintenanceReason)) {
    return InvalidField("reason", "must not begin with 'AUTO: ' or 'MAINT: '");
  }
  if (request.has_reason() && request.reason().empty()) {
    return InvalidField("reason", "must have 1 to 255 characters");
  }
  BERTH_ASSIGN_OR_RETURN(auto command, UpdateOf(state, request.service_uuid()));
  command.disabled = true;
  command.disabled_reason = request.reason();
  return command;
}

absl::StatusOr<CommandBody> ForceServiceDownCommand(const State& state,
                                                    const pb::ForceServiceDownRequest& request) {
  BERTH_ASSIGN_OR_RETURN(auto command, UpdateOf(state, request.service_uuid()));
  command.forced_down = request.forced_down();
  return command;
}

absl::StatusOr<CommandBody> DeleteServiceCommand(const State& state,
                                                 const pb::DeleteServiceRequest& request) {
  BERTH_ASSIGN_OR_RETURN(const auto service, FindServiceByUuid(state, request.service_uuid()));
  return placement::DeleteService{service->host, service->binary, request.cascade()};
}

absl::StatusOr<CommandBody> CreateNodeCommand(const pb::CreateNodeRequest& request) {
  BERTH_ASSIGN_OR_RETURN(const auto node, ParseId<ProviderId>("node_uuid", request.node_uuid()));
  return placement::CreateNode{node, request.name(), request.host()};
}

absl::StatusOr<CommandBody> UpdateNodeCommand(const State& state,
                                              const pb::UpdateNodeRequest& request) {
  if (request.expected_host().empty()) return InvalidField("expected_host", "is required");
  BERTH_ASSIGN_OR_RETURN(const auto node, FindNodeByUuid(state, request.node_uuid()));
  BERTH_RETURN_IF_ERROR(placement::CheckOnHost(*node, request.expected_host()));
  if (request.has_host()) {
    placement::MoveNode move{node->id, request.expected_host(), request.host(), std::nullopt};
    if (request.has_retired()) move.retired = request.retired();
    return move;
  }
  const bool retired = request.has_retired() ? request.retired() : node->retired;
  return placement::RetireNode{node->id, retired};
}

absl::StatusOr<CommandBody> DeleteNodeCommand(const State& state,
                                              const pb::DeleteNodeRequest& request) {
  BERTH_ASSIGN_OR_RETURN(const auto node, FindNodeByUuid(state, request.node_uuid()));
  if (request.has_expected_host()) {
    BERTH_RETURN_IF_ERROR(placement::CheckOnHost(*node, request.expected_host()));
  }
  return placement::DeleteNode{node->id, request.cascade()};
}

}  // namespace berth::services
