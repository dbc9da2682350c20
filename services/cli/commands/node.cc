#include "services/cli/commands/node.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/placement/v1/fleet.pb.h"
#include "berth/tracker/v1/tracker.pb.h"
#include "services/cli/commands/command.h"
#include "services/cli/session/failure.h"
#include "services/cli/session/pages.h"
#include "services/cli/session/provider_names.h"
#include "services/cli/text/device_view.h"
#include "services/cli/text/node_view.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;
namespace tracker = ::berth::tracker::v1;

struct ListNodesArguments {
  std::string host, name;
  bool retired = false;
  int limit = kListed;
};

struct NodeArguments {
  std::string node;
};

struct AskedNodeArguments {
  std::string node, tracker;
};

struct DeleteNodeArguments {
  std::string node;
  bool cascade = false;
};

absl::Status ListNodes(Session& session, const ListNodesArguments& arguments) {
  pb::ListNodesRequest request;
  if (!arguments.host.empty()) request.set_host(arguments.host);
  request.set_name_contains(arguments.name);
  if (arguments.retired) request.set_retired(true);
  BERTH_ASSIGN_OR_RETURN(const auto answer,
                         CallPaged<pb::ListNodesResponse>(session, request, arguments.limit));
  SayIfCut(session, answer, arguments.limit);
  return session.Print(answer, NodeTable(answer.nodes()), UuidsOf(answer.nodes()));
}

absl::StatusOr<pb::GetNodeResponse> WholeNode(Session& session, const std::string& node) {
  BERTH_ASSIGN_OR_RETURN(const auto uuid, NodeUuid(session, node));
  pb::GetNodeRequest request;
  request.set_node_uuid(uuid);
  request.set_view(pb::NODE_VIEW_FULL);
  return session.Call<pb::GetNodeResponse>(request);
}

absl::Status ShowNode(Session& session, const NodeArguments& arguments) {
  BERTH_ASSIGN_OR_RETURN(const auto answer, WholeNode(session, arguments.node));
  return session.Print(answer, NodePage(answer.node(), session.screen), {answer.node().uuid()});
}

absl::Status Devices(Session& session, const NodeArguments& arguments) {
  BERTH_ASSIGN_OR_RETURN(const auto answer, WholeNode(session, arguments.node));
  const pb::Node& node = answer.node();
  std::set<std::string> addresses;
  for (const auto& device : node.facts().pci_devices()) addresses.insert(device.address());
  for (const auto& device : node.account().pci_devices()) addresses.insert(device.address());
  return session.Print(answer, DeviceTable(node), {addresses.begin(), addresses.end()});
}

absl::Status Cells(Session& session, const NodeArguments& arguments) {
  BERTH_ASSIGN_OR_RETURN(const auto answer, WholeNode(session, arguments.node));
  std::vector<std::string> ids;
  for (const auto& cell : answer.node().facts().numa_cells())
    ids.push_back(absl::StrCat(cell.id()));
  return session.Print(answer, NodeCellTable(answer.node()), ids);
}

absl::Status AuditFailed(const pb::AuditSummary& audit) {
  const bool good =
      audit.result() == pb::AUDIT_RESULT_COMPLETE || audit.result() == pb::AUDIT_RESULT_DEGRADED;
  if (good) return absl::OkStatus();
  return Refused(absl::StatusCode::kFailedPrecondition, kProblemsFound,
                 absl::StrCat("the audit failed: ", audit.message()));
}

// Orders the audit by a call to the tracker itself, and not through placement.
absl::Status AuditAt(Session& session, const AskedNodeArguments& arguments) {
  session.settings.endpoint = arguments.tracker;
  tracker::AuditNowRequest request;
  if (!arguments.node.empty() && !IsUuid(arguments.node)) {
    return absl::InvalidArgumentError(
        "with --tracker, the node must be given by its uuid, not by its name");
  }
  request.set_node_uuid(arguments.node);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<tracker::AuditNowResponse>(request));
  Table table({{"NODE", Column::Kind::kExact},
               {"REPORT", Column::Kind::kNumber},
               {"ACKNOWLEDGED", Column::Kind::kText},
               {"AUDIT", Column::Kind::kText}});
  std::vector<std::string> uuids;
  absl::Status failed;
  for (const tracker::NodeAudit& audit : answer.audits()) {
    table.Add({audit.node_uuid(), absl::StrCat(audit.sequence()),
               audit.acknowledged() ? "yes" : "no", AuditWords(audit.audit())});
    uuids.push_back(audit.node_uuid());
    failed.Update(AuditFailed(audit.audit()));
  }
  const absl::Status printed = session.Print(answer, std::move(table), uuids);
  return printed.ok() ? failed : printed;
}

absl::Status AuditNodes(Session& session, const AskedNodeArguments& arguments) {
  if (!arguments.tracker.empty()) return AuditAt(session, arguments);
  if (arguments.node.empty()) {
    return absl::InvalidArgumentError(
        "name a node, or give --tracker HOST:PORT for all nodes of a host");
  }
  BERTH_ASSIGN_OR_RETURN(const auto uuid, NodeUuid(session, arguments.node));
  pb::AuditNodeRequest request;
  request.set_node_uuid(uuid);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::AuditNodeResponse>(request));
  const absl::Status printed = session.Print(answer, AuditWords(answer.audit()) + "\n", {uuid});
  return printed.ok() ? AuditFailed(answer.audit()) : printed;
}

// Asks the tracker itself: the drifts at the moment, also those that are no finding yet.
absl::Status DriftAt(Session& session, const AskedNodeArguments& arguments) {
  session.settings.endpoint = arguments.tracker;
  tracker::GetNodeViewRequest request;
  if (!arguments.node.empty() && !IsUuid(arguments.node)) {
    return absl::InvalidArgumentError(
        "with --tracker, the node must be given by its uuid, not by its name");
  }
  request.set_node_uuid(arguments.node);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<tracker::GetNodeViewResponse>(request));
  Table table({{"CLASS", Column::Kind::kText},
               {"ACCOUNTED", Column::Kind::kNumber},
               {"ALLOCATED", Column::Kind::kNumber},
               {"INSTANCES", Column::Kind::kText}});
  for (const tracker::Drift& drift : answer.drifts()) {
    table.Add({drift.resource_class(), absl::StrCat(drift.accounted()),
               absl::StrCat(drift.allocated()), absl::StrJoin(drift.instance_uuids(), " ")});
  }
  return session.Print(answer, std::move(table), {answer.node().node_uuid()});
}

absl::Status Drift(Session& session, const AskedNodeArguments& arguments) {
  if (!arguments.tracker.empty()) return DriftAt(session, arguments);
  pb::ListNodesRequest request;
  request.set_view(pb::NODE_VIEW_FULL);
  if (!IsUuid(arguments.node)) request.set_name_contains(arguments.node);
  BERTH_ASSIGN_OR_RETURN(auto answer, CallPaged<pb::ListNodesResponse>(session, request, kListed));
  SayIfCut(session, answer, kListed);
  google::protobuf::RepeatedPtrField<pb::Node> nodes;
  nodes.Swap(answer.mutable_nodes());
  for (pb::Node& node : nodes) {
    if (arguments.node.empty() || node.name() == arguments.node || node.uuid() == arguments.node) {
      KeepDrifts(&node);
      if (node.findings_size() > 0) answer.add_nodes()->Swap(&node);
    }
  }
  return session.Print(answer, DriftTable(answer.nodes()), UuidsOf(answer.nodes()));
}

absl::Status DeleteNode(Session& session, const DeleteNodeArguments& arguments) {
  BERTH_ASSIGN_OR_RETURN(const auto uuid, NodeUuid(session, arguments.node));
  pb::DeleteNodeRequest request;
  request.set_node_uuid(uuid);
  request.set_cascade(arguments.cascade);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::DeleteNodeResponse>(request));
  std::string text = absl::StrCat("deleted ", uuid, "\n");
  for (const std::string& consumer : answer.affected_consumer_uuids()) {
    absl::StrAppend(&text, "released what this consumer held there: ", consumer, "\n");
  }
  return session.Print(answer, text, {uuid});
}

// Adds a command that shows something about one node.
void AddShow(CLI::App* noun, Session& session, const std::string& name,
             const std::string& description, absl::Status (*run)(Session&, const NodeArguments&)) {
  CLI::App* show = AddVerb(*noun, name, description, absl::StrCat("berth node ", name, " dc1-h07"));
  show->add_option("node", Does(show, session, run).node, "Name or uuid of the node")->required();
}

void AddDrift(CLI::App& noun, Session& session) {
  CLI::App* drift =
      AddVerb(noun, "drift",
              "Show where the account of a node differs from the allocations of its instances",
              "berth node drift\nberth node drift --tracker dc1-h07:7312");
  AskedNodeArguments& drifting = Does(drift, session, Drift);
  drift->add_option("node", drifting.node,
                    "Name or uuid of the node; with --tracker the uuid, or nothing for its only "
                    "node. Without a node: the nodes that have reported a difference");
  drift->add_option("--tracker", drifting.tracker,
                    "Ask the tracker at HOST:PORT for the differences of this moment");
}

}  // namespace

absl::StatusOr<std::string> NodeUuid(Session& session, const std::string& text) {
  if (IsUuid(text)) return text;
  pb::ListNodesRequest request;
  request.set_name_contains(text);
  BERTH_ASSIGN_OR_RETURN(const auto answer,
                         CallPaged<pb::ListNodesResponse>(session, request, kListed));
  std::vector<std::string> found;
  for (const pb::Node& node : answer.nodes()) {
    if (node.name() == text) found.push_back(node.uuid());
  }
  if (found.size() == 1) return found.front();
  if (found.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(found.size(), " nodes have the name '", text, "': give the uuid of one"));
  }
  return Refused(absl::StatusCode::kNotFound, "NODE_NOT_FOUND",
                 absl::StrCat("there is no node named '", text, "'"), {{{"name", text}}});
}

void AddNodeCommands(CLI::App& app, Session& session) {
  CLI::App* noun = AddNoun(
      app, "node", "Nodes: hypervisors, their facts, used and free amounts, and audits", "Operate");

  CLI::App* list = AddVerb(*noun, "list", "List the nodes that pass all given filters",
                           "berth node list --host dc1-h07");
  ListNodesArguments& listing = Does(list, session, ListNodes);
  list->add_option("--host", listing.host, "Only nodes of this host");
  list->add_option("--name", listing.name, "Only nodes whose name contains this text");
  list->add_flag("--retired", listing.retired, "Only nodes that the tracker no longer reports");
  AddLimit(list, &listing.limit, "List at most this many nodes");

  AddShow(noun, session, "show",
          "Show a node: its facts, used and free amounts, orphans and findings", ShowNode);
  AddShow(noun, session, "devices", "List the PCI devices of a node", Devices);
  AddShow(noun, session, "cells", "List the NUMA cells of a node", Cells);

  CLI::App* audit =
      AddVerb(*noun, "audit", "Make the tracker audit a node now, and wait for the result",
              "berth node audit dc1-h07\nberth node audit --tracker dc1-h07:7312 "
              "4c3b24f1-1b60-4e43-a138-48194e0721b2");
  AskedNodeArguments& auditing = Does(audit, session, AuditNodes);
  audit->add_option("node", auditing.node,
                    "Name or uuid of the node; with --tracker: its uuid, or nothing for all nodes "
                    "of that tracker");
  audit->add_option(
      "--tracker", auditing.tracker,
      "Ask the tracker at HOST:PORT directly; without a node it audits all its nodes");

  AddDrift(*noun, session);

  CLI::App* remove = AddVerb(*noun, "delete", "Delete the record of a node and its provider tree",
                             "berth node delete dc1-h07 --cascade");
  DeleteNodeArguments& deleting = Does(remove, session, DeleteNode);
  remove->add_option("node", deleting.node, "Name or uuid of the node")->required();
  remove->add_flag("--cascade", deleting.cascade,
                   "Also release everything that is allocated there");
}

}  // namespace berth::cli
