// The commands about hosts and about the fleet as a whole.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "berth/placement/v1/audit.pb.h"
#include "berth/placement/v1/fleet.pb.h"
#include "berth/placement/v1/host.pb.h"
#include "services/cli/commands/command.h"
#include "services/cli/commands/node.h"
#include "services/cli/session/failure.h"
#include "services/cli/session/pages.h"
#include "services/cli/text/fleet_view.h"
#include "services/cli/text/node_view.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

constexpr pb::AllocationFault kFaults[] = {
    pb::ALLOCATION_FAULT_MISSING, pb::ALLOCATION_FAULT_WRONG_PROVIDER,
    pb::ALLOCATION_FAULT_SUPERFLUOUS, pb::ALLOCATION_FAULT_WRONG_AMOUNT};

struct ListHostsArguments {
  std::string zone;
  int limit = kListed;
};

struct HostArguments {
  std::string host;
};

struct DescribeArguments {
  std::string host, node;
};

struct UpdateArguments {
  std::string host, status, maintenance;
};

struct CreateNodeArguments {
  std::string name, uuid, host;
};

struct AdoptArguments {
  std::string node, from, to;
};

struct AuditArguments {
  std::string fault, age;
  std::vector<std::string> fix;
  bool migrations = false;
  int limit = kListed;
};

absl::Status ListHosts(Session& session, const ListHostsArguments& arguments) {
  pb::ListHostsRequest request;
  if (!arguments.zone.empty()) request.set_zone(arguments.zone);
  BERTH_ASSIGN_OR_RETURN(const auto answer,
                         CallPaged<pb::ListHostsResponse>(session, request, arguments.limit));
  SayIfCut(session, answer, arguments.limit);
  std::vector<std::string> names;
  for (const pb::Host& host : answer.hosts()) names.push_back(host.host());
  return session.Print(answer, HostTable(answer.hosts()), names);
}

absl::Status Describe(Session& session, const DescribeArguments& arguments) {
  pb::DescribeHostRequest request;
  request.set_host(arguments.host);
  if (!arguments.node.empty()) {
    BERTH_ASSIGN_OR_RETURN(const auto uuid, NodeUuid(session, arguments.node));
    request.set_node_uuid(uuid);
  }
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::DescribeHostResponse>(request));
  return session.Print(answer, HostPage(answer, session.screen), UuidsOf(answer.nodes()));
}

absl::Status Update(Session& session, const UpdateArguments& arguments) {
  if (arguments.status.empty() && arguments.maintenance.empty()) {
    return absl::InvalidArgumentError("give --status or --maintenance");
  }
  pb::UpdateHostRequest request;
  request.set_host(arguments.host);
  if (!arguments.status.empty()) {
    request.set_status(arguments.status == "enable" ? pb::HOST_STATUS_ENABLED
                                                    : pb::HOST_STATUS_DISABLED);
  }
  if (!arguments.maintenance.empty()) {
    request.set_maintenance_mode(arguments.maintenance == "on" ? pb::MAINTENANCE_MODE_ON
                                                               : pb::MAINTENANCE_MODE_OFF);
  }
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::UpdateHostResponse>(request));
  google::protobuf::RepeatedPtrField<pb::Service> services;
  *services.Add() = answer.service();
  return session.Print(answer, ServiceTable(services), {answer.service().uuid()});
}

absl::Status ReleaseEvacuated(Session& session, const HostArguments& arguments) {
  pb::ReleaseEvacuatedRequest request;
  request.set_host(arguments.host);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::ReleaseEvacuatedResponse>(request));
  std::string text;
  std::vector<std::string> uuids;
  for (const std::string& uuid : answer.affected_consumer_uuids()) {
    absl::StrAppend(&text, "released what this consumer held there: ", uuid, "\n");
    uuids.push_back(uuid);
  }
  for (const std::string& why : answer.warnings()) absl::StrAppend(&text, "left: ", why, "\n");
  if (text.empty()) text = "no evacuated instance held anything there\n";
  return session.Print(answer, text, uuids);
}

absl::Status Statistics(Session& session, const NoArguments&) {
  pb::GetNodeStatisticsRequest request;
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::GetNodeStatisticsResponse>(request));
  return session.Print(answer, StatisticsPage(answer, session.screen),
                       {absl::StrCat(answer.count())});
}

absl::Status CreateNode(Session& session, const CreateNodeArguments& arguments) {
  pb::CreateNodeRequest request;
  request.set_node_uuid(arguments.uuid);
  request.set_name(arguments.name);
  request.set_host(arguments.host.empty() ? arguments.name : arguments.host);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::CreateNodeResponse>(request));
  google::protobuf::RepeatedPtrField<pb::Node> nodes;
  *nodes.Add() = answer.node();
  return session.Print(answer, NodeTable(nodes), {answer.node().uuid()});
}

absl::Status Adopt(Session& session, const AdoptArguments& arguments) {
  pb::UpdateNodeRequest request;
  BERTH_ASSIGN_OR_RETURN(const auto uuid, NodeUuid(session, arguments.node));
  request.set_node_uuid(uuid);
  request.set_expected_host(arguments.from);
  request.set_host(arguments.to);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::UpdateNodeResponse>(request));
  google::protobuf::RepeatedPtrField<pb::Node> nodes;
  *nodes.Add() = answer.node();
  session.Say("the tracker of the new host manages the node once it is restarted");
  return session.Print(answer, NodeTable(nodes), {uuid});
}

// The fault with this word.
absl::StatusOr<pb::AllocationFault> FaultOf(const std::string& word) {
  std::string words;
  for (const pb::AllocationFault fault : kFaults) {
    if (FaultWord(fault) == word) return fault;
    absl::StrAppend(&words, words.empty() ? "" : ", ", FaultWord(fault));
  }
  return absl::InvalidArgumentError(absl::StrCat("'", word, "' is no fault; they are ", words));
}

absl::StatusOr<std::set<pb::AllocationFault>> FixesOf(const std::vector<std::string>& words) {
  std::set<pb::AllocationFault> fixes;
  for (const std::string& word : Listed(words)) {
    if (word == "all") return std::set<pb::AllocationFault>(std::begin(kFaults), std::end(kFaults));
    BERTH_ASSIGN_OR_RETURN(const auto fault, FaultOf(word));
    fixes.insert(fault);
  }
  return fixes;
}

// Repairs the finding. Returns what became of it. Fails if the server cannot be asked.
absl::StatusOr<std::string> Repair(Session& session, const pb::AllocationFinding& finding) {
  if (!finding.repairable()) return "not possible";
  pb::RepairAllocationsRequest request;
  request.set_request_id(RandomUuid());
  request.set_consumer_uuid(finding.consumer_uuid());
  request.set_fault(finding.fault());
  const auto answer = session.Call<pb::RepairAllocationsResponse>(request);
  if (answer.ok()) return answer->repaired() ? "done" : "not needed any more";
  const bool refused = answer.status().code() == absl::StatusCode::kFailedPrecondition ||
                       answer.status().code() == absl::StatusCode::kResourceExhausted;
  if (!refused) return answer.status();
  return absl::StrCat("refused: ", ReasonOf(answer.status()));
}

// The status with which `berth audit` ends: T-345 gives its exit code.
absl::Status AuditEnd(int found, int left) {
  if (found == 0) return absl::OkStatus();
  if (left == 0) {
    return Refused(
        absl::StatusCode::kFailedPrecondition, kAuditRepaired,
        absl::StrCat("everything that the audit found was repaired: ", found, " consumers"));
  }
  return Refused(absl::StatusCode::kFailedPrecondition, kAuditFound,
                 absl::StrCat("the audit found ", found, ", of which ", left, " are left"));
}

absl::Status AuditMigrations(Session& session, const AuditArguments& arguments) {
  pb::ListStaleMigrationsRequest request;
  if (!arguments.age.empty()) {
    absl::Duration age;
    if (!absl::ParseDuration(arguments.age, &age)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", arguments.age, "' is no time; write for example 36h or 90m"));
    }
    request.mutable_age()->set_seconds(absl::ToInt64Seconds(age));
  }
  BERTH_ASSIGN_OR_RETURN(const auto answer, CallPaged<pb::ListStaleMigrationsResponse>(
                                                session, request, arguments.limit));
  SayIfCut(session, answer, arguments.limit);
  std::vector<std::string> uuids;
  for (const auto& stale : answer.migrations()) uuids.push_back(stale.migration().uuid());
  BERTH_RETURN_IF_ERROR(session.Print(answer, StaleMigrationTable(answer.migrations()), uuids));
  return AuditEnd(answer.migrations_size(), answer.migrations_size());
}

absl::Status Audit(Session& session, const AuditArguments& arguments) {
  if (arguments.migrations) return AuditMigrations(session, arguments);
  pb::AuditAllocationsRequest request;
  if (!arguments.fault.empty()) {
    BERTH_ASSIGN_OR_RETURN(const auto fault, FaultOf(arguments.fault));
    request.set_fault(fault);
  }
  BERTH_ASSIGN_OR_RETURN(const auto fixes, FixesOf(arguments.fix));
  BERTH_ASSIGN_OR_RETURN(const auto answer, CallPaged<pb::AuditAllocationsResponse>(
                                                session, request, arguments.limit));
  SayIfCut(session, answer, arguments.limit);
  std::vector<std::string> uuids, outcomes;
  int left = 0;
  for (const pb::AllocationFinding& finding : answer.findings()) {
    uuids.push_back(finding.consumer_uuid());
    if (fixes.empty()) {
      ++left;
      continue;
    }
    std::string outcome = "not asked for";
    if (fixes.contains(finding.fault())) {
      BERTH_ASSIGN_OR_RETURN(outcome, Repair(session, finding));
    }
    left += outcome == "done" || outcome == "not needed any more" ? 0 : 1;
    outcomes.push_back(outcome);
  }
  BERTH_RETURN_IF_ERROR(session.Print(answer, FindingTable(answer.findings(), outcomes), uuids));
  return AuditEnd(answer.findings_size(), left);
}

void AddHostVerbs(CLI::App* noun, Session& session) {
  CLI::App* list = AddVerb(*noun, "list", "List the hosts of enabled services", "berth host list");
  ListHostsArguments& listing = Does(list, session, ListHosts);
  list->add_option("--zone", listing.zone, "Only hosts in this availability zone");
  AddLimit(list, &listing.limit, "List at most this many hosts");

  CLI::App* describe = AddVerb(
      *noun, "describe", "Show what a host has, what is promised there, and to which projects",
      "berth host describe dc1-h07");
  DescribeArguments& describing = Does(describe, session, Describe);
  describe->add_option("host", describing.host, "Name of the host")->required();
  describe->add_option("--node", describing.node, "Only this node of the host: name or uuid");

  CLI::App* update = AddVerb(
      *noun, "update",
      "Enable or disable a host for new allocations, or begin or end its maintenance",
      "berth host update dc1-h07 --status disable\nberth host update dc1-h07 --maintenance on");
  UpdateArguments& updating = Does(update, session, Update);
  update->add_option("host", updating.host, "Name of the host")->required();
  CLI::Option* const status = update->add_option("--status", updating.status, "enable or disable");
  status->check(CLI::IsMember({"enable", "disable"}));
  update
      ->add_option("--maintenance", updating.maintenance,
                   "on: disable the host until the maintenance is over; its guests stay. off: end "
                   "the maintenance")
      ->check(CLI::IsMember({"on", "off"}))
      ->excludes(status);

  CLI::App* release =
      AddVerb(*noun, "release-evacuated",
              "Release what evacuated instances still hold on a host that was forced down",
              "berth service force-down dc1-h07\nberth host release-evacuated dc1-h07");
  release
      ->add_option("host", Does(release, session, ReleaseEvacuated).host,
                   "Name of the host. Make sure first that it runs no guest any more")
      ->required();
}

void AddNodeVerbs(CLI::App* node, Session& session) {
  Does(AddVerb(*node, "statistics", "Sum up the nodes of all enabled hosts",
               "berth node statistics"),
       session, Statistics);
  CLI::App* create =
      AddVerb(*node, "create", "Record a node before its tracker reports it for the first time",
              "berth node create dc1-h07 --uuid 4c3b24f1-1b60-4e43-a138-48194e0721b2");
  CreateNodeArguments& creating = Does(create, session, CreateNode);
  create->add_option("name", creating.name, "Name of the node")->required();
  create->add_option("--uuid", creating.uuid, "What the tracker has in its identity file")
      ->required();
  create->add_option("--host", creating.host, "Host of the tracker [the name of the node]");
  CLI::App* adopt = AddVerb(
      *node, "adopt",
      "Give a node to another host, with its instances and moves, after the host got a new name",
      "berth node adopt dc1-h07 --from dc1-h07 --to dc1-h07.example.org");
  AdoptArguments& adopting = Does(adopt, session, Adopt);
  adopt->add_option("node", adopting.node, "Name or uuid of the node")->required();
  adopt->add_option("--from", adopting.from, "The old name of the host; its tracker is down")
      ->required();
  adopt->add_option("--to", adopting.to, "The new name of the host; its tracker is registered")
      ->required();
}

}  // namespace

void AddFleetCommands(CLI::App& app, Session& session) {
  AddHostVerbs(AddNoun(app, "host", "Hosts: what they have, and who uses it; enabled or disabled",
                       "Operate"),
               session);
  AddNodeVerbs(app.get_subcommand("node"), session);

  CLI::App* audit = AddVerb(
      app, "audit",
      "Compare allocations with the records of instances and migrations; follow and show: who "
      "changed what. Exit codes without these two: 0 nothing "
      "found, 3 found, 4 found and all repaired, 1 another failure, 127 wrong usage",
      "berth audit\nberth audit --fix missing,superfluous\nberth audit --migrations --age 36h",
      "Operate");
  AuditArguments& auditing = Does(audit, session, Audit);
  audit->add_option("--fault", auditing.fault,
                    "Only this fault: missing, wrong-provider, superfluous or wrong-amount");
  AddList(audit, "--fix", &auditing.fix, "Repair these faults; all: every fault");
  audit->add_flag("--migrations", auditing.migrations,
                  "List the migrations instead that hold something and do not go on");
  audit->add_option("--age", auditing.age,
                    "With --migrations: unchanged for this long [the server's setting]");
  AddLimit(audit, &auditing.limit, "Look at no more than this many findings");
  audit->require_subcommand(0, 1);
  AddAuditLogVerbs(audit, session);
}

}  // namespace berth::cli
