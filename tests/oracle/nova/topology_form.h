// Reads topologies of hosts and guests from a recording of Nova, and prints them in its form.
//
// Pure functions. A recording in another format ends the process with an exception of nlohmann.
#ifndef BERTH_TESTS_ORACLE_NOVA_TOPOLOGY_FORM_H_
#define BERTH_TESTS_ORACLE_NOVA_TOPOLOGY_FORM_H_

#include <optional>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tracker/cells/topology.h"

namespace berth::oracle::nova {

using Json = nlohmann::json;

// Reads a list of CPUs, or an empty set from null.
tracker::CpuSet CpusOf(const Json& cpus);
// Reads a topology, or nothing from null. With `placed`, `id` of a cell is the id of its host cell.
std::optional<tracker::GuestTopology> GuestOf(const Json& guest, bool placed);
std::vector<tracker::HostCell> HostOf(const Json& host);

// Prints a topology that is not placed yet, as constraints.jsonl has it.
Json Printed(const std::optional<tracker::GuestTopology>& guest);
// Prints where the cells of a guest are placed, as `expect.cells` of fit.jsonl has it; null if they
// are not.
Json PrintedPlaces(const std::optional<tracker::GuestTopology>& guest);
// Prints what is used of host cells, as `expect.usage` of fit.jsonl has it.
Json PrintedUsage(const std::vector<tracker::HostCell>& host);

}  // namespace berth::oracle::nova

#endif  // BERTH_TESTS_ORACLE_NOVA_TOPOLOGY_FORM_H_
