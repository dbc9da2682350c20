// The tracker's own gRPC service: what it sees and accounts for, and audits on demand.
//
// Handlers never block. `host` outlives the service. The calls that claim come with the path that starts
// guests; until then they answer UNIMPLEMENTED / NOT_OFFERED.
#ifndef BERTH_SERVICES_TRACKER_SERVICE_H_
#define BERTH_SERVICES_TRACKER_SERVICE_H_

#include <memory>
#include <string>

#include "services/process/metrics.h"
#include "services/tracker/host.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace berth::services {

std::unique_ptr<grpc::Service> MakeTrackerService(TrackerHost* host, const std::string& incarnation,
                                                  Metrics* metrics);

}  // namespace berth::services

#endif  // BERTH_SERVICES_TRACKER_SERVICE_H_
