#include "absl/strings/match.h"
#include "berth/placement/v1/fleet.grpc.pb.h"
#include "placement/ground/boot_clock.h"
#include "services/api/edge.h"
#include "services/api/host_messages.h"
#include "services/api/page.h"
#include "services/api/service_page.h"
#include "services/api/services.h"
#include "services/report/sessions.h"
#include "services/wire/fleet.h"

namespace berth::services {
namespace {

using placement::ProviderId;
using placement::State;

class FleetService final : public pb::FleetService::CallbackService {
 public:
  FleetService(Edge* edge, ReportSessions* sessions) : edge_(edge), sessions_(sessions) {}

  Reactor* ListServices(Context* context, const pb::ListServicesRequest* request,
                        pb::ListServicesResponse* response) override {
    return edge_->Read(context, request, response, Cost::kHeavy,
                       [this](const auto&... arguments) { return Services(arguments...); });
  }
  Reactor* GetService(Context* context, const pb::GetServiceRequest* request,
                      pb::GetServiceResponse* response) override {
    return edge_->Read(context, request, response, Cost::kHeavy,
                       [this](const State& state, const auto& asked, auto* to) {
                         BERTH_ASSIGN_OR_RETURN(const auto service,
                                                FindServiceByUuid(state, asked.service_uuid()));
                         Fill(*service, to->mutable_service());
                         return absl::OkStatus();
                       });
  }
  Reactor* EnableService(Context* context, const pb::EnableServiceRequest* request,
                         pb::EnableServiceResponse* response) override {
    return ChangeService(context, request, response, EnableServiceCommand);
  }
  Reactor* DisableService(Context* context, const pb::DisableServiceRequest* request,
                          pb::DisableServiceResponse* response) override {
    return ChangeService(context, request, response, DisableServiceCommand);
  }
  Reactor* ForceServiceDown(Context* context, const pb::ForceServiceDownRequest* request,
                            pb::ForceServiceDownResponse* response) override {
    return ChangeService(context, request, response, ForceServiceDownCommand);
  }

  Reactor* DeleteService(Context* context, const pb::DeleteServiceRequest* request,
                         pb::DeleteServiceResponse* response) override {
    return edge_->Write(context, request, response, [this](const auto& asked) {
      return DeleteServiceCommand(*Newest(), asked);
    });
  }

  Reactor* ListNodes(Context* context, const pb::ListNodesRequest* request,
                     pb::ListNodesResponse* response) override {
    return edge_->Read(context, request, response, Cost::kHeavy, Nodes);
  }
  Reactor* GetNode(Context* context, const pb::GetNodeRequest* request,
                   pb::GetNodeResponse* response) override {
    return edge_->Read(context, request, response, Cost::kHeavy,
                       [](const State& state, const auto& asked, auto* to) {
                         BERTH_ASSIGN_OR_RETURN(const auto node,
                                                FindNodeByUuid(state, asked.node_uuid()));
                         FillNode(state, *node, asked.view(), to->mutable_node());
                         return absl::OkStatus();
                       });
  }
  Reactor* CreateNode(Context* context, const pb::CreateNodeRequest* request,
                      pb::CreateNodeResponse* response) override {
    return edge_->Write(context, request, response, CreateNodeCommand,
                        [request](const WriteAnswer& answer, pb::CreateNodeResponse* to) {
                          FillChangedNode(answer, request->node_uuid(), to->mutable_node());
                        });
  }
  Reactor* UpdateNode(Context* context, const pb::UpdateNodeRequest* request,
                      pb::UpdateNodeResponse* response) override {
    return edge_->Write(
        context, request, response,
        [this](const auto& asked) { return UpdateNodeCommand(*Newest(), asked); },
        [request](const WriteAnswer& answer, pb::UpdateNodeResponse* to) {
          FillChangedNode(answer, request->node_uuid(), to->mutable_node());
        });
  }
  Reactor* DeleteNode(Context* context, const pb::DeleteNodeRequest* request,
                      pb::DeleteNodeResponse* response) override {
    return edge_->Write(
        context, request, response,
        [this](const auto& asked) { return DeleteNodeCommand(*Newest(), asked); }, FillDeleteNode);
  }
  Reactor* GetNodeStatistics(Context* context, const pb::GetNodeStatisticsRequest* request,
                             pb::GetNodeStatisticsResponse* response) override {
    return edge_->Read(context, request, response, Cost::kHeavy,
                       [](const State& state, const auto&, auto* to) {
                         FillNodeStatistics(placement::SumUpFleet(state), to);
                         return absl::OkStatus();
                       });
  }
  Reactor* AuditNode(Context* context, const pb::AuditNodeRequest* request,
                     pb::AuditNodeResponse* response) override {
    UnaryCall* const call = edge_->Begin(context, request);
    const auto node = FindNodeByUuid(*Newest(), request->node_uuid());
    if (!node.ok()) {
      call->End(node.status());
      return call;
    }
    sessions_->Audit((*node)->id, call->deadline(),
                     [this, call, response,
                      begun = placement::BootNow()](const absl::StatusOr<pb::AuditSummary>& audit) {
                       if (audit.ok()) FillAudit(*audit, placement::BootNow() - begun, response);
                       call->End(audit.status());
                     });
    return call;
  }

 private:
  placement::StatePtr Newest() const { return edge_->ledger()->Newest(); }

  void Fill(const placement::ServiceRecord& service, pb::Service* to) const {
    const std::optional<Heard> seen = sessions_->liveness().Find({service.host, service.binary});
    FillService(service, seen ? &*seen : nullptr, to);
  }

  void FillAudit(const pb::AuditSummary& audit, absl::Duration elapsed,
                 pb::AuditNodeResponse* response) const {
    SetRevision(Newest()->position().revision, response->mutable_revision());
    *response->mutable_audit() = audit;
    SetDuration(elapsed, response->mutable_elapsed());
  }

  template <typename Request, typename Response>
  Reactor* ChangeService(Context* context, const Request* request, Response* response,
                         absl::StatusOr<placement::CommandBody> (*command)(const State&,
                                                                           const Request&)) {
    return edge_->Write(
        context, request, response,
        [this, command](const Request& asked) { return command(*Newest(), asked); },
        [this, request](const WriteAnswer& answer, Response* to) {
          const auto id = placement::Uuid::Parse(request->service_uuid());
          Fill(*ServiceAfter(answer, *id), to->mutable_service());
        });
  }

  absl::Status Services(const State& state, const pb::ListServicesRequest& request,
                        pb::ListServicesResponse* response) const {
    const auto passes = [&request](const placement::ServiceRecord& service) {
      return (!request.has_host() || service.host == request.host()) &&
             (!request.has_binary() || service.binary == request.binary());
    };
    return FillServicePage(state, request, response, passes,
                           [this, response](const placement::ServiceRecord& service) {
                             Fill(service, response->add_services());
                           });
  }

  static absl::Status Nodes(const State& state, const pb::ListNodesRequest& request,
                            pb::ListNodesResponse* response) {
    BERTH_ASSIGN_OR_RETURN(const auto page, Page::Of(request));
    const placement::Revision read_at = state.position().revision;
    SetRevision(page.RevisionToAnswer(read_at), response->mutable_revision());
    ProviderId last;
    size_t bytes = 0;
    const auto visit = [&](const ProviderId& id, const NodePtr& node) {
      if (request.has_host() && node->host != request.host()) return true;
      if (!absl::StrContains(node->name, request.name_contains())) return true;
      if (request.has_retired() && node->retired != request.retired()) return true;
      if (response->nodes_size() == page.limit() || bytes > kPageBytesMax) {
        response->set_next_page_token(page.NextToken(last.ToString(), read_at));
        return false;
      }
      pb::Node* const filled = response->add_nodes();
      FillNode(state, *node, request.view(), filled);
      bytes += filled->ByteSizeLong();
      last = id;
      return true;
    };
    const auto after = ProviderId::Parse(page.after().value_or(""));
    after ? state.nodes().ForEachFrom(*after, visit) : state.nodes().ForEach(visit);
    return absl::OkStatus();
  }

  Edge* const edge_;
  ReportSessions* const sessions_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeFleetService(Edge* edge, ReportSessions* sessions) {
  return std::make_unique<FleetService>(edge, sessions);
}

}  // namespace berth::services
