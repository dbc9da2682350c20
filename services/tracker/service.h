// The tracker's own gRPC service: it shows the nodes, and runs audits when asked.
//
// Handlers never block. Drain is not offered yet: it answers UNIMPLEMENTED / NOT_OFFERED.
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

// `host` and `metrics` outlive the service.
std::unique_ptr<grpc::Service> MakeTrackerService(TrackerHost* host, const std::string& incarnation,
                                                  Metrics* metrics);

}  // namespace berth::services

#endif  // BERTH_SERVICES_TRACKER_SERVICE_H_
