// Reads the hosts and requests of a recording of Nova's scheduler, and prints views in its form.
//
// Pure functions. Text in another form ends the process with an exception of nlohmann.
#ifndef BERTH_TESTS_ORACLE_NOVA_HOST_FORM_H_
#define BERTH_TESTS_ORACLE_NOVA_HOST_FORM_H_

#include <vector>

#include "services/client/cpp/filters.h"
#include "services/client/cpp/host_view.h"
#include "tests/oracle/nova/replay.h"
#include "tracker/cells/topology.h"

namespace berth::oracle::nova {

// The time of a recording that is `seconds` from its now.
absl::Time TimeAt(double seconds);
// What placement would answer for the node and the service, without aggregates and instances.
placement::v1::HostState ReadState(const Json& node, const Json& service);
std::vector<tracker::HostCell> ReadCells(const Json& host);
client::HostRequest ReadRequest(const Json& request);
client::HostDemand ReadDemand(const Json& flavor);

// All fields that a recording may have of a view.
Json DescribeHost(const client::HostView& view, const std::vector<tracker::HostCell>& cells);
// The places of a guest, as `guest_cells` has them; null: it has none.
Json DescribeGuest(const std::optional<tracker::GuestTopology>& guest);

}  // namespace berth::oracle::nova

#endif  // BERTH_TESTS_ORACLE_NOVA_HOST_FORM_H_
