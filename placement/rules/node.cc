#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/commands/fleet_node.h"
#include "placement/commands/record_form.h"
#include "placement/rules/node_removal.h"
#include "placement/rules/rules.h"
#include "placement/state/lookup.h"
#include "placement/values/faults.h"
#include "placement/values/migration_status.h"

namespace berth::placement {
namespace {

absl::Status NodeNotFound(ProviderId node) {
  return Refuse(absl::StatusCode::kNotFound, "NODE_NOT_FOUND",
                absl::StrCat("there is no node ", node.ToString()), {{{"node", node.ToString()}}});
}

absl::Status CheckForm(const CreateNode& command) {
  Faults faults;
  if (command.node == ProviderId{}) {
    faults.Add(kInvalidField, "node_uuid", "must not consist of zeros only");
  }
  faults.Length("name", command.name, 1, kProviderNameMax);
  faults.Line("name", command.name);
  faults.Length("host", command.host, 1, kTextMax);
  faults.Line("host", command.host);
  return faults.status();
}

// Refuses with DUPLICATE_NODE a node whose uuid is recorded already, or whose name another node of
// `host` has.
absl::Status CheckNewNode(const State& state, ProviderId node, const std::string& name,
                          const std::string& host) {
  const auto refuse = [](const NodeRecord& other, const std::string& message,
                         const std::string& field) {
    return Refuse(absl::StatusCode::kAlreadyExists, "DUPLICATE_NODE", message,
                  {{{"provider", other.id.ToString()}, {"field", field}}});
  };
  if (const NodeRecordPtr same = FindNode(state, node)) {
    return refuse(*same, absl::StrCat("there is a node ", node.ToString(), " already"),
                  "node_uuid");
  }
  for (const NodeRecordPtr& other : state.NodesOf(host)) {
    if (other->name != name) continue;
    return refuse(
        *other,
        absl::StrCat("host ", host, " has a node named ", name, " already: ", other->id.ToString()),
        "name");
  }
  return absl::OkStatus();
}

absl::Status DuplicateProvider(ProviderId holder, const std::string& field,
                               const std::string& message) {
  return Refuse(absl::StatusCode::kAlreadyExists, "DUPLICATE_PROVIDER", message,
                {{{"provider", holder.ToString()}, {"field", field}}});
}

// Refuses with DUPLICATE_PROVIDER if another provider has the name of a new root.
absl::Status CheckNewRoot(const State& state, const CreateNode& command) {
  const std::optional<ProviderId> holder = NameHolder(state, command.name, command.node);
  if (!holder) return absl::OkStatus();
  return DuplicateProvider(
      *holder, "name",
      absl::StrCat("there is a provider with the name of the node already: ", holder->ToString()));
}

// Refuses with DUPLICATE_PROVIDER if the provider with the node's uuid is no root, or has another
// name than the node.
absl::Status CheckOldRoot(const CreateNode& command, const ProviderConfig& root) {
  if (root.parent) {
    return DuplicateProvider(
        root.id, "node_uuid",
        absl::StrCat("there is a provider with the uuid of the node already, and it is no root: ",
                     Describe(root), " is below provider ", root.parent->ToString()));
  }
  if (root.name == command.name) return absl::OkStatus();
  return DuplicateProvider(
      root.id, "name",
      absl::StrCat("the root with the uuid of the node has another name: ",
                   "give the node the name ", root.name, ", or rename the root first"));
}

// The root as the node's: of the trait of what trackers make, and of the service of the host.
ProviderConfig RootOfNode(const State& state, const CreateNode& command, ProviderConfig root) {
  if (const auto made = state.catalog().traits.Find(kOwnedTrait)) {
    const auto at = std::lower_bound(root.traits.begin(), root.traits.end(), *made);
    if (at == root.traits.end() || *at != *made) root.traits.insert(at, *made);
  }
  const ServicePtr tracker = FindService(state, command.host, kTrackerBinary);
  FollowService(state, tracker != nullptr && tracker->disabled, root.traits);
  return root;
}

// The root that the command makes, or the root that exists, with what follows from the node.
absl::StatusOr<ProviderConfig> DecideRoot(const State& state, const CreateNode& command,
                                          const RuleContext& context) {
  const std::optional<ProviderPlace> place = state.FindProvider(command.node);
  if (!place) {
    BERTH_RETURN_IF_ERROR(CheckNewRoot(state, command));
    return RootOfNode(state, command,
                      {command.node,
                       command.name,
                       std::nullopt,
                       context.fresh,
                       {},
                       {},
                       {},
                       context.now,
                       context.now});
  }
  BERTH_RETURN_IF_ERROR(CheckOldRoot(command, place->config()));
  ProviderConfig root = RootOfNode(state, command, place->config());
  root.generation = root.generation.Next();
  root.updated_at = context.now;
  return root;
}

absl::Status CheckForm(const MoveNode& command) {
  Faults faults;
  faults.Length("host", command.to, 1, kTextMax);
  faults.Line("host", command.to);
  return faults.status();
}

// Whether the node may get its new host. REQUIRES: the hosts differ.
absl::Status CheckHosts(const State& state, const NodeRecord& node, const std::string& to) {
  if (FindService(state, to, kTrackerBinary) == nullptr) return TrackerNotFound(to);
  const ServicePtr owner = FindService(state, node.host, kTrackerBinary);
  if (owner != nullptr && HoldsLease(*owner)) {
    return Refuse(absl::StatusCode::kFailedPrecondition, "SERVICE_IN_USE",
                  absl::StrCat("the tracker of host ", node.host, " is up: node ", node.name,
                               " stays there until the tracker is stopped or forced down"),
                  {{{"host", node.host}, {"field", "host"}}});
  }
  for (const NodeRecordPtr& other : state.NodesOf(to)) {
    if (other->name != node.name) continue;
    return Refuse(absl::StatusCode::kAlreadyExists, "DUPLICATE_NODE",
                  absl::StrCat("host ", to, " has a node named ", node.name,
                               " already: ", other->id.ToString()),
                  {{{"provider", other->id.ToString()}, {"field", "host"}}});
  }
  return absl::OkStatus();
}

// Gives the records that are about a node to the node's new host.
class RecordMover {
 public:
  RecordMover(const State& state, const NodeRecord& node, const std::string& to,
              const RuleContext& context)
      : state_(state),
        node_(node),
        to_(to),
        context_(context),
        is_alone_(state.NodesOf(node.host).size() == 1) {}

  void Instances(Changes& changes) const {
    for (const InstancePtr& before : state_.records().InstancesOf(node_.host)) {
      if (!IsHere(before->node)) continue;
      InstanceRecord after = *before;
      after.host = to_;
      changes.push_back(InstancePut{StoredInstance(after, before, context_)});
    }
  }
  // Only of moves that are not over, and of evacuations whose source still has to clean up.
  void Migrations(Changes& changes) const {
    for (const MigrationPtr& before : state_.records().MigrationsOf(node_.host)) {
      if (!HoldsResources(before->status) && before->status != kDoneStatus) continue;
      MigrationRecord after = *before;
      if (before->source_host == node_.host && IsHere(before->source_node)) after.source_host = to_;
      if (before->destination_host == node_.host && IsHere(before->destination_node)) {
        after.destination_host = to_;
      }
      if (after == *before) continue;
      changes.push_back(MigrationPut{StoredMigration(std::move(after), context_)});
    }
  }

 private:
  // Whether a record with the node's host is about the node. A record without a node is about the
  // only node of the host.
  bool IsHere(const std::optional<ProviderId>& node) const {
    return node ? *node == node_.id : is_alone_;
  }

  const State& state_;
  const NodeRecord& node_;
  const std::string& to_;
  const RuleContext& context_;
  const bool is_alone_;
};

// Makes the root of the node follow the service of the new host (T-295).
void FollowHost(const State& state, ProviderId node, const std::string& to,
                const RuleContext& context, Changes& changes) {
  const std::optional<ProviderPlace> place = state.FindProvider(node);
  if (!place) return;
  ProviderConfig config = place->config();
  FollowService(state, FindService(state, to, kTrackerBinary)->disabled, config.traits);
  if (config.traits == place->config().traits) return;
  config.generation = config.generation.Next();
  config.updated_at = context.now;
  changes.push_back(ProviderPut{std::make_shared<const ProviderConfig>(std::move(config))});
}

}  // namespace

// Refuses, in this order: a malformed command; DUPLICATE_NODE for the uuid, then for the name on the
// host. If a provider has the uuid, DUPLICATE_PROVIDER unless it is a root, then unless it has the
// node's name; else DUPLICATE_PROVIDER if another provider has the name. The host need not have a
// tracker yet. A root that exists keeps its children, inventories, aggregates and other traits, and
// consumers keep what they hold of it; its generation moves by one, whatever changes (T-22, T-387).
absl::StatusOr<Outcome> Decide(const State& state, const CreateNode& command,
                               const RuleContext& context) {
  BERTH_RETURN_IF_ERROR(CheckForm(command));
  BERTH_RETURN_IF_ERROR(CheckNewNode(state, command.node, command.name, command.host));
  BERTH_ASSIGN_OR_RETURN(ProviderConfig root, DecideRoot(state, command, context));
  NodeRecord node;
  node.id = command.node;
  node.name = command.name;
  node.host = command.host;
  node.created_at = node.updated_at = context.now;
  Outcome outcome;
  outcome.result.created = true;
  outcome.changes.push_back(ProviderPut{std::make_shared<const ProviderConfig>(std::move(root))});
  outcome.changes.push_back(NodePut{std::make_shared<const NodeRecord>(std::move(node))});
  return outcome;
}

// The only refusal is NODE_NOT_FOUND (T-40).
absl::StatusOr<Outcome> Decide(const State& state, const RetireNode& command, const RuleContext&) {
  const NodeRecordPtr before = FindNode(state, command.node);
  if (!before) return NodeNotFound(command.node);
  Outcome outcome;
  if (before->retired == command.retired) return outcome;
  NodeRecord node = *before;
  node.facts = nullptr;  // the node keeps them
  node.retired = command.retired;
  outcome.changes.push_back(NodePut{std::make_shared<const NodeRecord>(std::move(node))});
  return outcome;
}

// Refuses, in this order: a malformed command; NODE_NOT_FOUND; RECORD_CONFLICT if the node is not
// on the host `from`; HOST_NOT_FOUND if the host `to` has no tracker; SERVICE_IN_USE if the tracker
// of the host `from` is up (T-387); DUPLICATE_NODE if the host `to` has a node of the same name. The
// instances on the node, and the moves from or to it that are not over, get the new host, too.
absl::StatusOr<Outcome> Decide(const State& state, const MoveNode& command,
                               const RuleContext& context) {
  BERTH_RETURN_IF_ERROR(CheckForm(command));
  const NodeRecordPtr before = FindNode(state, command.node);
  if (!before) return NodeNotFound(command.node);
  BERTH_RETURN_IF_ERROR(CheckOnHost(*before, command.from));
  NodeRecord node = *before;
  node.facts = nullptr;  // the node keeps them
  node.retired = command.retired.value_or(before->retired);
  Outcome outcome;
  if (command.to == before->host) {
    if (node.retired != before->retired) {
      outcome.changes.push_back(NodePut{std::make_shared<const NodeRecord>(std::move(node))});
    }
    return outcome;
  }
  BERTH_RETURN_IF_ERROR(CheckHosts(state, *before, command.to));
  node.host = command.to;
  FollowHost(state, node.id, command.to, context, outcome.changes);
  outcome.changes.push_back(NodePut{std::make_shared<const NodeRecord>(std::move(node))});
  const RecordMover mover(state, *before, command.to, context);
  mover.Instances(outcome.changes);
  mover.Migrations(outcome.changes);
  return outcome;
}

// Refuses, in this order: NODE_NOT_FOUND; PROVIDER_HAS_CHILDREN and PROVIDER_IN_USE as
// CheckRemovable does (T-225).
absl::StatusOr<Outcome> Decide(const State& state, const DeleteNode& command,
                               const RuleContext& context) {
  if (!FindNode(state, command.node)) return NodeNotFound(command.node);
  BERTH_RETURN_IF_ERROR(CheckRemovable(state, {command.node}, command.cascade));
  Outcome outcome;
  RemoveNodes(state, {command.node}, context, outcome);
  return outcome;
}

}  // namespace berth::placement
