// Formats hosts, sums over nodes, and what the audit of the fleet found, as text for people. Pure:
// takes messages, returns text.
#ifndef BERTH_SERVICES_CLI_TEXT_FLEET_VIEW_H_
#define BERTH_SERVICES_CLI_TEXT_FLEET_VIEW_H_

#include <string>
#include <vector>

#include "berth/placement/v1/audit.pb.h"
#include "berth/placement/v1/fleet.pb.h"
#include "berth/placement/v1/host.pb.h"
#include "google/protobuf/repeated_field.h"
#include "services/cli/text/screen.h"
#include "services/cli/text/table.h"

namespace berth::cli {

// One line for each service of a host.
Table HostTable(const google::protobuf::RepeatedPtrField<placement::v1::Host>& hosts);

// What a host has, what is promised there now, the sum of all flavors, and the part of each
// project.
std::string HostPage(const placement::v1::DescribeHostResponse& host, const Screen& screen);

// The sums over all nodes.
std::string StatisticsPage(const placement::v1::GetNodeStatisticsResponse& statistics,
                           const Screen& screen);

// The word for a fault on the command line and in tables, for example "wrong-amount".
std::string FaultWord(placement::v1::AllocationFault fault);

// One line for each finding. `outcomes`: what became of each finding; empty: nothing was repaired.
Table FindingTable(
    const google::protobuf::RepeatedPtrField<placement::v1::AllocationFinding>& findings,
    const std::vector<std::string>& outcomes);

// One line for each migration.
Table StaleMigrationTable(
    const google::protobuf::RepeatedPtrField<placement::v1::StaleMigration>& migrations);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_TEXT_FLEET_VIEW_H_
