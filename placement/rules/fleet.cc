#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "placement/commands/fleet_node.h"
#include "placement/rules/node_removal.h"
#include "placement/rules/rules.h"
#include "placement/state/lookup.h"
#include "placement/values/faults.h"
#include "placement/values/migration_status.h"

namespace berth::placement {
namespace {

ServicePut Put(ServiceRecord service) {
  return ServicePut{std::make_shared<const ServiceRecord>(std::move(service))};
}

ServiceRecord NewService(const RegisterService& command, const RuleContext& context) {
  ServiceRecord service;
  service.host = command.host;
  service.binary = command.binary;
  service.id = command.id;
  service.created_at = context.now;
  if (command.starts_disabled && command.binary == kTrackerBinary) {
    service.disabled = true;
    service.disabled_reason = kNewDisabledReason;
  }
  return service;
}

// Refuses a process whose record was deleted after the process registered (T-299, T-384). A record
// that a restored database has lost was not deleted.
absl::Status CheckNotDeleted(const State& state, const RegisterService& command,
                             const ServicePtr& before) {
  if (!command.registered_id || (before && before->id == *command.registered_id) ||
      !CheckRevision(state, command.registered_at).ok()) {
    return absl::OkStatus();
  }
  return Refuse(absl::StatusCode::kFailedPrecondition, "SERVICE_NOT_REGISTERED",
                absl::StrCat("the service ", command.binary, " of host ", command.host,
                             " was deleted after this process had registered: restart it"),
                {{{"field", "registered.service_uuid"}}});
}

// Adds kDisabledTrait to the roots of all nodes of the service's host if the service is disabled,
// else removes the trait (T-295).
void FollowServiceOnRoots(const State& state, const ServiceRecord& service,
                          const RuleContext& context, Changes& changes) {
  for (const NodeRecordPtr& node : state.NodesOf(service.host)) {
    const std::optional<ProviderPlace> place = state.FindProvider(node->id);
    if (!place) continue;
    std::vector<TraitId> traits = place->config().traits;
    FollowService(state, service.disabled, traits);
    if (traits == place->config().traits) continue;
    ProviderConfig config = place->config();
    config.traits = std::move(traits);
    config.generation = config.generation.Next();
    config.updated_at = context.now;
    changes.push_back(ProviderPut{std::make_shared<const ProviderConfig>(std::move(config))});
  }
}

absl::Status CheckForm(const RegisterService& command) {
  Faults faults;
  faults.Length("host", command.host, 1, kTextMax);
  faults.Length("binary", command.binary, 1, kTextMax);
  faults.Line("host", command.host);
  faults.Line("binary", command.binary);
  if (command.incarnation == Uuid{}) {
    faults.Add(kInvalidField, "incarnation", "must not consist of zeros only");
  }
  faults.Length("machine_id", command.machine_id, 0, kTextMax);
  faults.Length("version", command.version, 0, kTextMax);
  faults.Length("zone", command.zone, 0, kTextMax);
  faults.Line("zone", command.zone);
  return faults.status();
}

// Checks the command's form. A reason has 1 to 255 characters that are not all blank, and may be
// given only if `disabled` is true (T-294).
absl::Status CheckForm(const UpdateService& command) {
  Faults faults;
  if (command.binary != kTrackerBinary) {
    faults.Add(kInvalidField, "binary", absl::StrCat("must be ", kTrackerBinary));
  }
  if (!command.disabled && !command.forced_down) {
    faults.Add(kInvalidField, "disabled", "or forced_down must be given");
  }
  if (!command.disabled_reason.empty()) {
    faults.Length("disabled_reason", command.disabled_reason, 1, kTextMax);
    if (!command.disabled.value_or(false)) {
      faults.Add(kInvalidField, "disabled_reason", "is only allowed if disabled is true");
    } else if (absl::StripAsciiWhitespace(command.disabled_reason).empty()) {
      faults.Add(kInvalidField, "disabled_reason", "must not consist of spaces only");
    }
  }
  return faults.status();
}

// Refuses to take back that the tracker of `host` is down while evacuated guests may still be there:
// only the tracker, when it starts again, removes them and ends the evacuations (T-146, T-298).
absl::Status CheckEvacuated(const State& state, const std::string& host) {
  std::vector<FaultItem> items;
  for (const MigrationPtr& migration : state.records().MigrationsOf(host)) {
    if (migration->type != MigrationType::kEvacuation || migration->source_host != host ||
        migration->status != kDoneStatus) {
      continue;
    }
    items.push_back({{"host", host}, {"migration", migration->id.ToString()}});
  }
  return RefuseAll(absl::StatusCode::kFailedPrecondition, "EVACUATION_PENDING",
                   absl::StrCat("guests were evacuated from host ", host,
                                " and may still be there: its tracker has to be restarted first"),
                   items);
}

// Refuses to delete the tracker of `host` while instances are there or move from or to it (T-299).
absl::Status CheckUnused(const State& state, const std::string& host) {
  std::vector<FaultItem> items;
  for (const InstancePtr& instance : state.records().InstancesOf(host)) {
    if (IsRemovable(*instance)) continue;
    items.push_back({{"host", host}, {"instance", instance->id.ToString()}});
  }
  for (const MigrationPtr& migration : state.records().MovesOf(host)) {
    if (!IsInProgress(migration->status)) continue;
    items.push_back({{"host", host}, {"migration", migration->id.ToString()}});
  }
  return RefuseAll(absl::StatusCode::kFailedPrecondition, "SERVICE_IN_USE",
                   absl::StrCat("the service of host ", host,
                                " cannot be deleted: instances are on the host, or move from or "
                                "to it"),
                   items);
}

absl::Status ServiceNotFound(const std::string& host, const std::string& binary) {
  return Refuse(absl::StatusCode::kNotFound, "SERVICE_NOT_FOUND",
                absl::StrCat("there is no service ", binary, " on host ", host),
                {{{"field", "host"}}});
}

// Whether a tracker's own update of its service may take effect. A tracker may disable an enabled
// service, and enable a service that a tracker disabled, but may not undo what an operator did
// (T-297).
bool MayTurnByItself(const ServiceRecord& service, const UpdateService& command) {
  if (command.disabled.value_or(false)) return !service.disabled;
  return service.disabled && absl::StartsWith(service.disabled_reason, kAutomaticReason);
}

bool IsInMaintenance(const ServiceRecord& service) {
  return service.disabled && absl::StartsWith(service.disabled_reason, kMaintenanceReason);
}

}  // namespace

// Refuses, in this order: a malformed command; SERVICE_NOT_REGISTERED for a process whose record was
// deleted; SERVICE_IN_USE; DAILY_LIMIT_REACHED for a new service. A new incarnation on the same
// machine may always take over. An incarnation on another machine may take over only if the service
// is down or forced down (T-14).
absl::StatusOr<Outcome> Decide(const State& state, const RegisterService& command,
                               const RuleContext& context) {
  BERTH_RETURN_IF_ERROR(CheckForm(command));
  const ServicePtr before = FindService(state, command.host, command.binary);
  BERTH_RETURN_IF_ERROR(CheckNotDeleted(state, command, before));
  if (before && before->incarnation != command.incarnation &&
      before->machine_id != command.machine_id && HoldsLease(*before)) {
    return Refuse(
        absl::StatusCode::kFailedPrecondition, "SERVICE_IN_USE",
        absl::StrCat(command.binary, " of host ", command.host,
                     " is in use by a live tracker on another machine, ", before->machine_id,
                     ": stop that tracker, or wait until its lease has expired"),
        {{{"field", "machine_id"}}});
  }
  if (before == nullptr && !command.may_be_new) {
    return CheckDaily({{"services", "host", 1, 0}});
  }
  Outcome outcome;
  outcome.result.created = before == nullptr;
  ServiceRecord service = before ? *before : NewService(command, context);
  service.incarnation = command.incarnation;
  service.machine_id = command.machine_id;
  service.version = command.version;
  service.zone = command.zone;
  service.up = true;
  if (before && service == *before) return outcome;
  service.updated_at = context.now;
  outcome.changes.push_back(Put(std::move(service)));
  return outcome;
}

// Never refuses. Has no effect if the service was removed or has another incarnation by now.
absl::StatusOr<Outcome> Decide(const State& state, const MarkService& command,
                               const RuleContext& context) {
  Outcome outcome;
  const ServicePtr before = FindService(state, command.host, command.binary);
  if (!before || before->incarnation != command.incarnation || before->up == command.up) {
    return outcome;
  }
  ServiceRecord service = *before;
  service.up = command.up;
  service.updated_at = context.now;
  outcome.changes.push_back(Put(std::move(service)));
  return outcome;
}

// Refuses, in this order: a malformed command (T-294); SERVICE_NOT_FOUND; EVACUATION_PENDING. Enabling the service
// clears the reason. The roots of the service's nodes get or lose the trait kDisabledTrait (T-295).
absl::StatusOr<Outcome> Decide(const State& state, const UpdateService& command,
                               const RuleContext& context) {
  BERTH_RETURN_IF_ERROR(CheckForm(command));
  const ServicePtr before = FindService(state, command.host, command.binary);
  if (!before) return ServiceNotFound(command.host, command.binary);
  if (command.forced_down && before->forced_down && !*command.forced_down) {
    BERTH_RETURN_IF_ERROR(CheckEvacuated(state, command.host));
  }
  if (command.automatic && !MayTurnByItself(*before, command)) return Outcome();
  if (command.ends_maintenance && !IsInMaintenance(*before)) return Outcome();
  ServiceRecord service = *before;
  if (command.disabled) {
    service.disabled = *command.disabled;
    service.disabled_reason = command.disabled_reason;
  }
  if (command.forced_down) service.forced_down = *command.forced_down;
  Outcome outcome;
  if (command.disabled) FollowServiceOnRoots(state, service, context, outcome.changes);
  if (service != *before) {
    service.updated_at = context.now;
    outcome.changes.push_back(Put(std::move(service)));
  }
  return outcome;
}

// Refuses, in this order: SERVICE_NOT_FOUND; and, if the service is a tracker, SERVICE_IN_USE while
// an instance is on its host, or moves from or to it; PROVIDER_HAS_CHILDREN for the children of all
// its nodes, and then PROVIDER_IN_USE for what is allocated, as CheckRemovable does (T-299).
absl::StatusOr<Outcome> Decide(const State& state, const DeleteService& command,
                               const RuleContext& context) {
  if (!FindService(state, command.host, command.binary)) {
    return ServiceNotFound(command.host, command.binary);
  }
  Outcome outcome;
  if (command.binary == kTrackerBinary) {
    BERTH_RETURN_IF_ERROR(CheckUnused(state, command.host));
    std::vector<ProviderId> nodes;
    for (const NodeRecordPtr& node : state.NodesOf(command.host)) nodes.push_back(node->id);
    BERTH_RETURN_IF_ERROR(CheckRemovable(state, nodes, command.cascade));
    RemoveNodes(state, nodes, context, outcome);
  }
  outcome.changes.push_back(ServiceRemoved{command.host, command.binary});
  return outcome;
}

}  // namespace berth::placement
