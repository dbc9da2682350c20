#include "berth/placement/v1/host.grpc.pb.h"
#include "placement/ground/boot_clock.h"
#include "placement/reads/fleet_sums.h"
#include "services/api/edge.h"
#include "services/api/host_messages.h"
#include "services/api/service_page.h"
#include "services/api/services.h"
#include "services/report/sessions.h"
#include "services/wire/fleet.h"

namespace berth::services {
namespace {

using placement::ProviderId;
using placement::ServiceRecord;
using placement::State;

absl::Status ListHosts(const State& state, const pb::ListHostsRequest& request,
                       pb::ListHostsResponse* response) {
  const auto passes = [&request](const ServiceRecord& service) {
    return !service.disabled && (!request.has_zone() || service.zone == request.zone());
  };
  return FillServicePage(
      state, request, response, passes,
      [response](const ServiceRecord& service) { FillHost(service, response->add_hosts()); });
}

absl::Status DescribeHost(const State& state, const pb::DescribeHostRequest& request,
                          pb::DescribeHostResponse* response) {
  if (request.host().empty()) return InvalidField("host", "is required");
  std::optional<ProviderId> node;
  if (request.has_node_uuid()) {
    BERTH_ASSIGN_OR_RETURN(node, ParseId<ProviderId>("node_uuid", request.node_uuid()));
  }
  BERTH_ASSIGN_OR_RETURN(const auto sums, placement::SumUpHost(state, request.host(), node));
  FillDescribeHost(state, request.host(), sums, response);
  return absl::OkStatus();
}

class HostService final : public pb::HostService::CallbackService {
 public:
  HostService(Edge* edge, ReportSessions* sessions) : edge_(edge), sessions_(sessions) {}

  Reactor* ListHosts(Context* context, const pb::ListHostsRequest* request,
                     pb::ListHostsResponse* response) override {
    return edge_->Read(context, request, response, Cost::kHeavy, services::ListHosts);
  }
  Reactor* DescribeHost(Context* context, const pb::DescribeHostRequest* request,
                        pb::DescribeHostResponse* response) override {
    return edge_->Read(context, request, response, Cost::kHeavy, services::DescribeHost);
  }
  Reactor* UpdateHost(Context* context, const pb::UpdateHostRequest* request,
                      pb::UpdateHostResponse* response) override {
    return edge_->Write(
        context, request, response,
        [this](const auto& asked) { return UpdateHostCommand(*edge_->ledger()->Newest(), asked); },
        [this, request](const WriteAnswer& answer, pb::UpdateHostResponse* to) {
          const placement::ServicePtr service = TrackerAfter(answer, request->host());
          const auto seen = sessions_->liveness().Find({service->host, service->binary});
          FillService(*service, seen ? &*seen : nullptr, to->mutable_service());
        });
  }
  // Berth has no power over hosts, whatever the request says (T-307).
  Reactor* ActOnHost(Context* context, const pb::ActOnHostRequest* request,
                     pb::ActOnHostResponse* /*response*/) override {
    return edge_->EndAtOnce(
        context, *request, placement::BootNow(),
        placement::Refuse(absl::StatusCode::kUnimplemented, "NOT_OFFERED",
                          "Berth cannot start, reboot or shut down hosts: use what controls "
                          "their power"));
  }

 private:
  Edge* const edge_;
  ReportSessions* const sessions_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeHostService(Edge* edge, ReportSessions* sessions) {
  return std::make_unique<HostService>(edge, sessions);
}

}  // namespace berth::services
