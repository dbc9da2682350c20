// What a scheduler of the client library sees of a fleet, and how long it takes.
#ifndef BERTH_TESTS_FLEET_SCHEDULING_H_
#define BERTH_TESTS_FLEET_SCHEDULING_H_

#include <memory>
#include <string>

#include "nlohmann/json.hpp"
#include "services/client/cpp/endpoint.h"
#include "tests/fleet/made_up_fleet.h"

namespace berth::fleet {

// Records `instances` instances, spread over the hosts. Returns false, and says why, if this fails.
bool ImportInstances(const std::string& address, const MadeUpFleet& fleet, int hosts,
                     int instances);

// Starts the sample scheduler, and adds to `figures` how long it takes until it knows all hosts, until
// it knows a change, and for one instance (candidates, filters, weighers and the claim), and its
// memory. Returns false, and says why, if something fails. In a process that does nothing else: calls
// of other clients would be worked on by the thread that schedules.
bool MeasureScheduling(const std::shared_ptr<client::Endpoints>& endpoints,
                       nlohmann::ordered_json* figures);

}  // namespace berth::fleet

#endif  // BERTH_TESTS_FLEET_SCHEDULING_H_
