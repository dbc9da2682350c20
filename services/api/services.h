// The gRPC services of placement. One function makes each service, so that only the folder api/
// includes generated stubs.
//
// The services are thread-safe. They keep pointers to their arguments, which must outlive them.
#ifndef BERTH_SERVICES_API_SERVICES_H_
#define BERTH_SERVICES_API_SERVICES_H_

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "placement/search/budget.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace berth::placement {
class DatabaseWatch;
}  // namespace berth::placement

namespace berth::services {

class Edge;
class ExportPlaces;
class ImportPlace;
class ReportSessions;
class WatchHub;
class Workers;

std::unique_ptr<grpc::Service> MakeProviderService(Edge* edge);
std::unique_ptr<grpc::Service> MakeInventoryService(Edge* edge);
std::unique_ptr<grpc::Service> MakeAggregateService(Edge* edge);
std::unique_ptr<grpc::Service> MakeAssociationService(Edge* edge);
// `stale_age`: when migrations count as stale, if a request does not say it.
std::unique_ptr<grpc::Service> MakeAuditService(Edge* edge, absl::Duration stale_age);
std::unique_ptr<grpc::Service> MakeCatalogService(Edge* edge);
std::unique_ptr<grpc::Service> MakeAllocationService(Edge* edge);
std::unique_ptr<grpc::Service> MakeUsageService(Edge* edge);
std::unique_ptr<grpc::Service> MakeCandidateService(Edge* edge,
                                                    const placement::SearchBudget& budget);
// `watch` watches the connections that the service opens to the database at `database_url`.
// `epoch_worker` begins new epochs, and does nothing else.
std::unique_ptr<grpc::Service> MakeLedgerService(Edge* edge, const std::string& database_url,
                                                 placement::DatabaseWatch* watch,
                                                 ExportPlaces* exports, ImportPlace* imports,
                                                 Workers* epoch_worker);
std::unique_ptr<grpc::Service> MakeFleetService(Edge* edge, ReportSessions* sessions);
std::unique_ptr<grpc::Service> MakeReshapeService(Edge* edge);
std::unique_ptr<grpc::Service> MakeConsumerService(Edge* edge);
std::unique_ptr<grpc::Service> MakeReportService(ReportSessions* sessions);
std::unique_ptr<grpc::Service> MakeWatchService(WatchHub* hub);
std::unique_ptr<grpc::Service> MakeInstanceService(Edge* edge);
std::unique_ptr<grpc::Service> MakeServerGroupService(Edge* edge);
std::unique_ptr<grpc::Service> MakeHostService(Edge* edge, ReportSessions* sessions);
std::unique_ptr<grpc::Service> MakeHostStateService(Edge* edge, ReportSessions* sessions,
                                                    const placement::SearchBudget& budget);

}  // namespace berth::services

#endif  // BERTH_SERVICES_API_SERVICES_H_
