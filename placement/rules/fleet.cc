#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "placement/commands/fleet_node.h"
#include "placement/rules/rules.h"
#include "placement/values/faults.h"

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
  return service;
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

// Whether a tracker's own update of its service may take effect. A tracker may disable an enabled
// service, and enable a service that a tracker disabled, but may not undo what an operator did
// (T-297).
bool MayTurnByItself(const ServiceRecord& service, const UpdateService& command) {
  if (command.disabled.value_or(false)) return !service.disabled;
  return service.disabled && absl::StartsWith(service.disabled_reason, kAutomaticReason);
}

}  // namespace

// Refuses, in this order: a malformed command; SERVICE_IN_USE. A new incarnation on the same
// machine may always take over. An incarnation on another machine may take over only if the service
// is down or forced down (T-14).
absl::StatusOr<Outcome> Decide(const State& state, const RegisterService& command,
                               const RuleContext& context) {
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
  BERTH_RETURN_IF_ERROR(faults.status());
  const ServicePtr before = FindService(state, command.host, command.binary);
  if (before && before->incarnation != command.incarnation &&
      before->machine_id != command.machine_id && HoldsLease(*before)) {
    return Refuse(
        absl::StatusCode::kFailedPrecondition, "SERVICE_IN_USE",
        absl::StrCat(command.binary, " of host ", command.host,
                     " is in use by a live tracker on another machine, ", before->machine_id,
                     ": stop that tracker, or wait until its lease has expired"),
        {{{"field", "machine_id"}}});
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

// Refuses, in this order: a malformed command (T-294); SERVICE_NOT_FOUND. Enabling the service
// clears the reason. The roots of the service's nodes get or lose the trait kDisabledTrait (T-295).
absl::StatusOr<Outcome> Decide(const State& state, const UpdateService& command,
                               const RuleContext& context) {
  BERTH_RETURN_IF_ERROR(CheckForm(command));
  const ServicePtr before = FindService(state, command.host, command.binary);
  if (!before) {
    return Refuse(absl::StatusCode::kNotFound, "SERVICE_NOT_FOUND",
                  absl::StrCat("there is no service ", command.binary, " on host ", command.host),
                  {{{"field", "host"}}});
  }
  if (command.automatic && !MayTurnByItself(*before, command)) return Outcome();
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

}  // namespace berth::placement
