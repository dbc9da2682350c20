// What a scheduler of the client library sees of a fleet, and how long it takes.
#ifndef BERTH_TESTS_FLEET_SCHEDULING_H_
#define BERTH_TESTS_FLEET_SCHEDULING_H_

#include <string>

#include "nlohmann/json.hpp"
#include "tests/fleet/made_up_fleet.h"

namespace berth::fleet {

// Records `instances` instances, spread over the hosts. Then starts the sample scheduler against the
// placement at `address`, and adds to `figures` how long it takes until it knows all hosts, until it
// knows a change, and for one instance (candidates, filters, weighers and the claim), and its memory.
// Returns false, and says why, if something fails.
bool MeasureScheduling(const std::string& address, const MadeUpFleet& fleet, int hosts,
                       int instances, nlohmann::ordered_json* figures);

}  // namespace berth::fleet

#endif  // BERTH_TESTS_FLEET_SCHEDULING_H_
