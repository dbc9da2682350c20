#include "services/tracker/service.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "berth/tracker/v1/tracker.grpc.pb.h"
#include "berth/tracker/v1/tracker.pb.h"
#include "grpcpp/grpcpp.h"
#include "services/process/status.h"
#include "services/tracker/claim_calls.h"
#include "services/tracker/claim_messages.h"
#include "tracker/ground/boot_clock.h"
#include "tracker/ground/uuid.h"
#include "tracker/uplink/messages.h"

namespace berth::services {
namespace {

namespace pb = berth::tracker::v1;
using tracker::BootClock;
using tracker::Node;
using tracker::Standing;
using Context = grpc::CallbackServerContext;
using Reactor = grpc::ServerUnaryReactor;

grpc::Status Refuse(absl::StatusCode code, const std::string& reason, const std::string& message,
                    placement::FaultItem item = {}) {
  placement::Refusal refusal;
  refusal.reason = reason;
  if (!item.empty()) refusal.items.push_back(std::move(item));
  return WireStatus(code, message, kTrackerDomain, refusal);
}

pb::NodeSummary Summarise(const Node::View& view) {
  pb::NodeSummary summary;
  summary.set_node_uuid(tracker::TextOrEmpty(view.uuid));
  summary.set_name(view.name);
  summary.set_hypervisor_uri(view.uri);
  summary.set_connected(view.connected);
  if (view.last.result != tracker::PassOutcome::Result::kNone) {
    *summary.mutable_audit() = tracker::WireSummary(view.last);
  }
  summary.set_sequence(view.sequence);
  summary.set_acknowledged_sequence(view.acknowledged_sequence);
  return summary;
}

void AddProviders(const tracker::Records& records, pb::GetNodeViewResponse* response) {
  for (const tracker::KnownProvider& known : records.tree) {
    auto* const provider = response->add_providers();
    provider->set_uuid(known.uuid.ToString());
    provider->set_name(known.name);
    provider->set_parent_uuid(tracker::TextOrEmpty(known.parent_uuid));
    provider->set_generation(known.generation);
    for (const auto& [name, inventory] : known.inventories) {
      auto& item = (*provider->mutable_inventories())[name];
      item.set_total(inventory.total);
      item.set_reserved(inventory.reserved);
      item.set_min_unit(inventory.min_unit);
      item.set_max_unit(inventory.max_unit);
      item.set_step_size(inventory.step_size);
      item.set_allocation_ratio(inventory.allocation_ratio);
    }
    for (const std::string& trait : known.traits) provider->add_traits(trait);
  }
}

void AddConsumers(const tracker::Records& records, pb::GetNodeViewResponse* response) {
  std::map<tracker::Uuid, placement::v1::Consumer> consumers;
  for (const tracker::KnownAllocation& known : records.allocations) {
    auto& consumer = consumers[known.consumer_uuid];
    consumer.set_uuid(known.consumer_uuid.ToString());
    auto* const held = consumer.add_allocations();
    held->set_provider_uuid(known.provider_uuid.ToString());
    for (const auto& [name, amount] : known.amounts) (*held->mutable_resources())[name] = amount;
  }
  for (auto& [uuid, consumer] : consumers) *response->add_consumers() = std::move(consumer);
}

void AddDrift(const tracker::Drift& drift, pb::GetNodeViewResponse* response) {
  pb::Drift* const wire = response->add_drifts();
  wire->set_resource_class(drift.resource_class);
  wire->set_accounted(drift.accounted);
  wire->set_allocated(drift.allocated);
  for (const tracker::Uuid& uuid : drift.instances) wire->add_instance_uuids(uuid.ToString());
}

class TrackerService final : public pb::TrackerService::CallbackService {
 public:
  TrackerService(TrackerHost* host, std::string incarnation, Metrics* metrics)
      : host_(host),
        incarnation_(std::move(incarnation)),
        metrics_(metrics),
        claims_(host, metrics) {}

  Reactor* ListNodes(Context* context, const pb::ListNodesRequest* /*request*/,
                     pb::ListNodesResponse* response) override {
    const tracker::Uplink::Status uplink = host_->uplink_status();
    response->set_host(host_->configuration().host);
    response->set_incarnation(incarnation_);
    const bool connected = uplink.state == tracker::Uplink::State::kConnected;
    response->set_placement_connected(connected);
    if (!connected) {
      response->set_placement_error(uplink.error.empty() ? "not connected yet" : uplink.error);
    }
    std::vector<Node::View> views;
    for (const auto& runner : host_->runners()) views.push_back(runner->node()->view());
    std::sort(views.begin(), views.end(),
              [](const Node::View& a, const Node::View& b) { return a.name < b.name; });
    for (const Node::View& view : views) *response->add_nodes() = Summarise(view);
    return Finish(context, "ListNodes", grpc::Status::OK);
  }

  Reactor* GetNodeView(Context* context, const pb::GetNodeViewRequest* request,
                       pb::GetNodeViewResponse* response) override {
    std::vector<NodeRunner*> found;
    grpc::Status status = Find(request->node_uuid(), &found);
    if (status.ok() && found.size() > 1) {
      status = Refuse(absl::StatusCode::kInvalidArgument, "INVALID_FIELD",
                      "node_uuid is required, because this host has several nodes",
                      {{"field", "node_uuid"}});
    }
    if (status.ok()) Fill(*found[0]->node(), response);
    return Finish(context, "GetNodeView", status);
  }

  Reactor* AuditNow(Context* context, const pb::AuditNowRequest* request,
                    pb::AuditNowResponse* response) override {
    std::vector<NodeRunner*> found;
    const grpc::Status status = Find(request->node_uuid(), &found);
    if (!status.ok()) return Finish(context, "AuditNow", status);
    Reactor* const reactor = context->DefaultReactor();
    // Every pass that must end before the call is answered holds a copy of `all`. When the last
    // copy is destroyed, its deleter answers the call.
    const std::shared_ptr<void> all(
        nullptr, [this, reactor, response, found, begun = BootClock::now()](void*) {
          for (const NodeRunner* const runner : found) {
            const Node::View view = runner->node()->view();
            pb::NodeAudit* const audit = response->add_audits();
            audit->set_node_uuid(tracker::TextOrEmpty(view.uuid));
            *audit->mutable_audit() = tracker::WireSummary(view.last);
            audit->set_sequence(view.last.changed ? view.sequence : 0);
            audit->set_acknowledged(view.settled);
          }
          Count("AuditNow", grpc::Status::OK, absl::FromChrono(BootClock::now() - begun));
          reactor->Finish(grpc::Status::OK);
        });
    for (NodeRunner* const runner : found) {
      runner->Request(tracker::PassCause::kRequest, [all] {});
    }
    return reactor;
  }

  Reactor* ClaimInstance(Context* context, const pb::ClaimInstanceRequest* request,
                         pb::ClaimInstanceResponse* response) override {
    return claims_.Claim("ClaimInstance", context, request, response);
  }
  Reactor* ClaimMove(Context* context, const pb::ClaimMoveRequest* request,
                     pb::ClaimMoveResponse* response) override {
    return claims_.Claim("ClaimMove", context, request, response);
  }
  Reactor* AbortClaim(Context* context, const pb::AbortClaimRequest* request,
                      pb::AbortClaimResponse* response) override {
    return claims_.AbortClaim(context, request, response);
  }
  Reactor* DropMoveClaim(Context* context, const pb::DropMoveClaimRequest* request,
                         pb::DropMoveClaimResponse* response) override {
    return claims_.DropMoveClaim(context, request, response);
  }
  Reactor* UpdateUsage(Context* context, const pb::UpdateUsageRequest* request,
                       pb::UpdateUsageResponse* response) override {
    return claims_.UpdateUsage(context, request, response);
  }
  Reactor* SetProviderStatus(Context* context, const pb::SetProviderStatusRequest* request,
                             pb::SetProviderStatusResponse* /*response*/) override {
    const bool done = host_->SetDisabled(request->disabled());
    return Finish(context, "SetProviderStatus",
                  done ? grpc::Status::OK
                       : Refuse(absl::StatusCode::kUnavailable, "PLACEMENT_UNAVAILABLE",
                                "the tracker has not opened its stream to placement yet"));
  }
  Reactor* Drain(Context* context, const pb::DrainRequest* /*request*/,
                 pb::DrainResponse* /*response*/) override {
    return Finish(context, "Drain",
                  Refuse(absl::StatusCode::kUnimplemented, "NOT_OFFERED",
                         "Drain is not offered by this release"));
  }

 private:
  // Finds the runner of the node `uuid`. If `uuid` is empty, finds all runners, sorted by name.
  grpc::Status Find(const std::string& uuid, std::vector<NodeRunner*>* found) const {
    const std::optional<tracker::Uuid> wanted = tracker::ParseName(uuid);
    if (!uuid.empty() && !wanted) {
      return Refuse(absl::StatusCode::kInvalidArgument, "INVALID_FIELD", "node_uuid is not a uuid",
                    {{"field", "node_uuid"}});
    }
    for (const auto& runner : host_->runners()) {
      const std::optional<tracker::NodeIdentity> identity = runner->node()->identity();
      if (!wanted || (identity && identity->uuid == *wanted)) found->push_back(runner.get());
    }
    std::sort(found->begin(), found->end(), [](const NodeRunner* a, const NodeRunner* b) {
      return a->node()->name() < b->node()->name();
    });
    if (!found->empty()) return grpc::Status::OK;
    return Refuse(absl::StatusCode::kNotFound, "NODE_NOT_FOUND",
                  "this host has no node with this uuid", {{"node", uuid}});
  }

  static void Fill(const Node& node, pb::GetNodeViewResponse* response) {
    const Node::View view = node.view();
    *response->mutable_node() = Summarise(view);
    if (view.audit != nullptr) {
      tracker::Report report = view.audit->report;
      report.accounting = *node.accounting();
      *response->mutable_facts() = tracker::WireFacts(report);
      *response->mutable_observation() =
          tracker::WireObservation(*report.facts, view.last.ended_at);
      *response->mutable_account() = tracker::WireAccount(report);
      for (const tracker::Orphan& orphan : report.orphans) {
        *response->add_orphans() = tracker::WireOrphan(orphan);
      }
      for (const tracker::Drift& drift : view.audit->drifts) AddDrift(drift, response);
      for (auto& finding : tracker::WireFindings(view.audit->findings)) {
        *response->add_findings() = std::move(finding);
      }
    }
    const std::optional<tracker::Records> records = node.records();
    if (!records) return;
    AddProviders(*records, response);
    AddConsumers(*records, response);
  }

  Reactor* Finish(Context* context, const std::string& method, const grpc::Status& status) {
    Count(method, status, absl::ZeroDuration());
    Reactor* const reactor = context->DefaultReactor();
    reactor->Finish(status);
    return reactor;
  }

  void Count(const std::string& method, const grpc::Status& status, absl::Duration duration) {
    metrics_->ForMethod("berth.tracker.v1.TrackerService/" + method)
        ->Record(status.error_code(), duration);
  }

  TrackerHost* const host_;
  const std::string incarnation_;
  Metrics* const metrics_;
  ClaimCalls claims_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeTrackerService(TrackerHost* host, const std::string& incarnation,
                                                  Metrics* metrics) {
  return std::make_unique<TrackerService>(host, incarnation, metrics);
}

}  // namespace berth::services
