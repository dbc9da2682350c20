// Conversion of hosts, and of sums over nodes, between proto messages and domain types. Pure.
#ifndef BERTH_SERVICES_API_HOST_MESSAGES_H_
#define BERTH_SERVICES_API_HOST_MESSAGES_H_

#include <string>

#include "absl/status/statusor.h"
#include "berth/placement/v1/fleet.pb.h"
#include "berth/placement/v1/host.pb.h"
#include "placement/commands/command.h"
#include "placement/reads/fleet_sums.h"
#include "services/wire/write_answer.h"

namespace berth::services {

namespace pb = ::berth::placement::v1;

void FillHost(const placement::ServiceRecord& service, pb::Host* to);
// Fills in everything but the revision.
void FillDescribeHost(const placement::State& state, const std::string& host,
                      const placement::HostSums& sums, pb::DescribeHostResponse* response);
void FillNodeStatistics(const placement::FleetSums& sums, pb::GetNodeStatisticsResponse* response);

// Makes the command that changes the service of the tracker on the host. Fails, in this order, with
// INVALID_FIELD and HOST_NOT_FOUND.
absl::StatusOr<placement::CommandBody> UpdateHostCommand(const placement::State& state,
                                                         const pb::UpdateHostRequest& request);
// The service of the tracker on `host` as it is after the command.
placement::ServicePtr TrackerAfter(const WriteAnswer& answer, const std::string& host);

}  // namespace berth::services

#endif  // BERTH_SERVICES_API_HOST_MESSAGES_H_
