#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/placement/v1/host.grpc.pb.h"
#include "berth/placement/v1/host_state.grpc.pb.h"
#include "placement/commands/fleet_node.h"
#include "placement/ground/boot_clock.h"
#include "placement/reads/fleet_sums.h"
#include "placement/search/search.h"
#include "services/api/edge.h"
#include "services/api/host_messages.h"
#include "services/api/page.h"
#include "services/api/service_page.h"
#include "services/api/services.h"
#include "services/report/sessions.h"
#include "services/wire/candidate.h"
#include "services/wire/fleet.h"

namespace berth::services {
namespace {

using placement::NodeRecord;
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

constexpr int kRootsNamedMax = 100'000;

// The roots that the request names, or those of its query's candidates; ascending, each once.
// Nothing: it asks for all nodes.
absl::StatusOr<std::optional<std::vector<ProviderId>>> RootsOf(
    const State& state, const pb::ListHostStatesRequest& request,
    const placement::SearchBudget& budget, bool* truncated) {
  std::vector<ProviderId> roots;
  if (request.has_query()) {
    if (!request.root_uuids().empty()) {
      return InvalidField("root_uuids", "must not be given together with a query");
    }
    BERTH_ASSIGN_OR_RETURN(const auto wanted, CandidateQueryOf("query", request.query()));
    BERTH_ASSIGN_OR_RETURN(const auto found, placement::FindRoots(state, wanted, budget));
    *truncated = found.truncated;
    for (const placement::Candidate& candidate : found.candidates) roots.push_back(candidate.root);
  } else if (request.root_uuids().empty()) {
    return std::optional<std::vector<ProviderId>>();
  } else if (request.root_uuids_size() > kRootsNamedMax) {
    return InvalidField("root_uuids", absl::StrCat("must be ", kRootsNamedMax, " roots at most"));
  }
  for (int i = 0; i < request.root_uuids_size(); ++i) {
    BERTH_ASSIGN_OR_RETURN(
        roots.emplace_back(),
        ParseId<ProviderId>(absl::StrCat("root_uuids[", i, "]"), request.root_uuids(i)));
  }
  std::sort(roots.begin(), roots.end());
  roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
  return std::optional(std::move(roots));
}

// Calls visit(node) for each of the nodes after `after`, in ascending order, as long as it returns
// true. `roots`: which nodes; none: all.
template <typename Visit>
void ForEachNode(const State& state, const std::optional<std::vector<ProviderId>>& roots,
                 const std::optional<ProviderId>& after, Visit visit) {
  const auto show = [&](ProviderId, const placement::NodeRecordPtr& node) {
    return node->retired || visit(*node);
  };
  if (roots) {
    const auto begin =
        after ? std::upper_bound(roots->begin(), roots->end(), *after) : roots->begin();
    for (auto at = begin; at != roots->end(); ++at) {
      const placement::NodeRecordPtr node = FindNode(state, *at);
      if (node != nullptr && !show(*at, node)) return;
    }
  } else if (after) {
    state.nodes().ForEachFrom(*after, show);
  } else {
    state.nodes().ForEach(show);
  }
}

// A node may be in many aggregates, and its state has to fit into one message.
constexpr size_t kStateMetadataBytesMax = 1 << 20;

void FillAggregates(const State& state, ProviderId root, pb::HostState* to) {
  const auto place = state.FindProvider(root);
  if (!place) return;
  size_t bytes = 0;
  for (const placement::AggregateId& id : place->config().aggregates) {
    pb::HostAggregate* const shown = to->add_aggregates();
    shown->set_uuid(id.ToString());
    const placement::AggregatePtr aggregate = state.aggregates().Find(id);
    if (aggregate == nullptr) continue;
    shown->set_name(aggregate->name);
    shown->set_metadata_cut(bytes > kStateMetadataBytesMax && !aggregate->metadata.empty());
    if (shown->metadata_cut()) continue;
    for (const auto& [key, value] : aggregate->metadata) {
      (*shown->mutable_metadata())[key] = value;
      bytes += key.size() + value.size();
    }
  }
}

void FillInstances(const State& state, const NodeRecord& node, pb::HostState* to) {
  for (const placement::InstancePtr& instance : state.records().InstancesOf(node.host)) {
    if (instance->node == node.id && !IsRemovable(*instance)) {
      to->add_instance_uuids(instance->id.ToString());
    }
  }
}

// `seen`: what this process has heard from the service; null: nothing.
void FillHostState(const State& state, const NodeRecord& node, const Heard* seen, pb::NodeView view,
                   pb::HostState* to) {
  pb::Node& record = *to->mutable_node();
  FillNode(state, node, view, &record);
  record.clear_service_uuid();
  record.clear_state();
  record.clear_disabled();
  record.clear_disabled_reason();
  if (record.has_account()) {
    for (const auto& [name, count] : record.account().counters()) {
      (*to->mutable_stats())[name] = absl::StrCat(count);
    }
    record.mutable_account()->clear_counters();
  }
  const placement::ServicePtr service = FindService(state, node.host, placement::kTrackerBinary);
  if (service != nullptr) FillService(*service, seen, to->mutable_service());
  FillAggregates(state, node.id, to);
  FillInstances(state, node, to);
  to->set_stale(state.fleet().IsStale(node.id) || to->service().stale_audit());
}

class HostStateService final : public pb::HostStateService::CallbackService {
 public:
  HostStateService(Edge* edge, ReportSessions* sessions, const placement::SearchBudget& budget)
      : edge_(edge), sessions_(sessions), budget_(budget) {}

  Reactor* ListHostStates(Context* context, const pb::ListHostStatesRequest* request,
                          pb::ListHostStatesResponse* response) override {
    return edge_->Read(
        context, request, response, Cost::kHeavy,
        [this](const State& state, const pb::ListHostStatesRequest& asked,
               pb::ListHostStatesResponse* answer) { return List(state, asked, answer); });
  }

 private:
  absl::Status List(const State& state, const pb::ListHostStatesRequest& request,
                    pb::ListHostStatesResponse* response) const {
    BERTH_ASSIGN_OR_RETURN(const auto page, Page::Of(request));
    bool truncated = false;
    BERTH_ASSIGN_OR_RETURN(const auto roots, RootsOf(state, request, budget_, &truncated));
    response->set_truncated(truncated);
    const placement::Revision read_at = state.position().revision;
    SetRevision(page.RevisionToAnswer(read_at), response->mutable_revision());
    std::optional<ProviderId> after;
    if (page.after()) after = ProviderId::Parse(*page.after());
    size_t bytes = 0;
    ForEachNode(state, roots, after, [&](const NodeRecord& node) {
      if (response->states_size() == page.limit() || bytes > kPageBytesMax) {
        const std::string& last = response->states(response->states_size() - 1).node().uuid();
        response->set_next_page_token(page.NextToken(last, read_at));
        return false;
      }
      const auto seen =
          sessions_->liveness().Find({node.host, std::string(placement::kTrackerBinary)});
      pb::HostState* const to = response->add_states();
      FillHostState(state, node, seen ? &*seen : nullptr, request.view(), to);
      bytes += to->ByteSizeLong();
      return true;
    });
    return absl::OkStatus();
  }

  Edge* const edge_;
  ReportSessions* const sessions_;
  const placement::SearchBudget budget_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeHostService(Edge* edge, ReportSessions* sessions) {
  return std::make_unique<HostService>(edge, sessions);
}

std::unique_ptr<grpc::Service> MakeHostStateService(Edge* edge, ReportSessions* sessions,
                                                    const placement::SearchBudget& budget) {
  return std::make_unique<HostStateService>(edge, sessions, budget);
}

}  // namespace berth::services
