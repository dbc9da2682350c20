#include "services/api/host_messages.h"

#include <memory>
#include <variant>

#include "absl/strings/str_cat.h"
#include "placement/commands/fleet_node.h"
#include "services/wire/fleet.h"
#include "services/wire/form.h"

namespace berth::services {
namespace {

using placement::State;

void FillAmounts(const placement::NodeAmounts& amounts, pb::Amounts* to) {
  to->set_vcpus(amounts.vcpus);
  to->set_pcpus(amounts.pcpus);
  to->set_memory_mib(amounts.memory_mib);
  to->set_disk_gib(amounts.disk_gib);
}

absl::Status CheckForm(const pb::UpdateHostRequest& request) {
  if (request.host().empty()) return InvalidField("host", "is required");
  if (!pb::HostStatus_IsValid(request.status())) {
    return InvalidField("status", "must be a status that this release knows");
  }
  if (!pb::MaintenanceMode_IsValid(request.maintenance_mode())) {
    return InvalidField("maintenance_mode", "must be a mode that this release knows");
  }
  if (request.status() == pb::HOST_STATUS_UNSPECIFIED &&
      request.maintenance_mode() == pb::MAINTENANCE_MODE_UNSPECIFIED) {
    return InvalidField("status", "or maintenance_mode must be given");
  }
  if (request.status() != pb::HOST_STATUS_UNSPECIFIED &&
      request.maintenance_mode() != pb::MAINTENANCE_MODE_UNSPECIFIED) {
    return InvalidField("maintenance_mode", "must not be given together with status");
  }
  return absl::OkStatus();
}

}  // namespace

void FillHost(const placement::ServiceRecord& service, pb::Host* to) {
  to->set_host(service.host);
  to->set_binary(service.binary);
  to->set_zone(service.zone);
}

void FillDescribeHost(const State& state, const std::string& host, const placement::HostSums& sums,
                      pb::DescribeHostResponse* response) {
  response->set_host(host);
  for (const placement::NodeRecordPtr& node : sums.nodes) {
    FillNode(state, *node, pb::NODE_VIEW_BASIC, response->add_nodes());
  }
  FillAmounts(sums.total, response->mutable_total());
  FillAmounts(sums.used_now, response->mutable_used_now());
  FillAmounts(sums.used_max, response->mutable_used_max());
  for (const auto& [project, amounts] : sums.projects) {
    pb::ProjectAmounts* const to = response->add_projects();
    to->set_project_id(project);
    FillAmounts(amounts, to->mutable_amounts());
  }
}

void FillNodeStatistics(const placement::FleetSums& sums, pb::GetNodeStatisticsResponse* response) {
  response->set_count(sums.node_count);
  FillAmounts(sums.total, response->mutable_total());
  FillAmounts(sums.used, response->mutable_used());
  FillAmounts(sums.free, response->mutable_free());
  response->set_disk_available_least_gib(sums.disk_available_least_gib);
  response->set_current_workload(sums.task_count);
  response->set_running_vms(sums.instance_count);
  for (const std::string& host : sums.shared_storage_hosts) {
    response->add_shared_storage_hosts(host);
  }
}

absl::StatusOr<placement::CommandBody> UpdateHostCommand(const State& state,
                                                         const pb::UpdateHostRequest& request) {
  BERTH_RETURN_IF_ERROR(CheckForm(request));
  if (FindTracker(state, request.host()) == nullptr) {
    return placement::TrackerNotFound(request.host());
  }
  placement::UpdateService command;
  command.host = request.host();
  command.binary = std::string(placement::kTrackerBinary);
  const bool begins = request.maintenance_mode() == pb::MAINTENANCE_MODE_ON;
  command.disabled = begins || request.status() == pb::HOST_STATUS_DISABLED;
  if (begins) {
    command.disabled_reason = absl::StrCat(placement::kMaintenanceReason, "the host is maintained");
  }
  command.ends_maintenance = request.maintenance_mode() == pb::MAINTENANCE_MODE_OFF;
  return command;
}

placement::ServicePtr TrackerAfter(const WriteAnswer& answer, const std::string& host) {
  for (const placement::Change& change : *answer.decision.changes) {
    const auto* put = std::get_if<placement::ServicePut>(&change);
    if (put != nullptr && put->service->host == host &&
        put->service->binary == placement::kTrackerBinary) {
      return put->service;
    }
  }
  const placement::ServicePtr kept = FindTracker(answer.state, host);
  return kept != nullptr ? kept : std::make_shared<const placement::ServiceRecord>();
}

}  // namespace berth::services
