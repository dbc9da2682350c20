#include <algorithm>
#include <utility>
#include <vector>

#include "berth/placement/v1/audit.grpc.pb.h"
#include "placement/reads/fleet_audit.h"
#include "services/api/audit_messages.h"
#include "services/api/edge.h"
#include "services/api/page.h"
#include "services/api/services.h"

namespace berth::services {
namespace {

using placement::ConsumerId;
using placement::MigrationId;
using placement::MigrationPtr;
using placement::State;

absl::Status AuditAllocations(const State& state, const pb::AuditAllocationsRequest& request,
                              pb::AuditAllocationsResponse* response) {
  BERTH_ASSIGN_OR_RETURN(const auto fault, FaultOf(request.fault()));
  BERTH_ASSIGN_OR_RETURN(const auto page, Page::Of(request));
  std::optional<ConsumerId> after;
  if (page.after()) after = ConsumerId::Parse(*page.after());
  const placement::Revision read_at = state.position().revision;
  SetRevision(page.RevisionToAnswer(read_at), response->mutable_revision());
  // An orphan has one of these two faults.
  const bool asks_for_orphans = !fault || *fault == placement::AllocationFault::kMissing ||
                                *fault == placement::AllocationFault::kWrongProvider;
  std::vector<placement::ReportedOrphan> orphans;
  if (asks_for_orphans) orphans = ReportedOrphans(state);
  const auto found =
      placement::AuditAllocations(state, fault, after, page.limit(), std::move(orphans));
  for (const auto& finding : found.findings) FillFinding(state, finding, response->add_findings());
  if (found.more) {
    const std::string last = found.findings.back().consumer.ToString();
    response->set_next_page_token(page.NextToken(last, read_at));
  }
  return absl::OkStatus();
}

// The age that the request gives, or `usual`.
absl::StatusOr<absl::Duration> AgeOf(const pb::ListStaleMigrationsRequest& request,
                                     absl::Duration usual) {
  if (!request.has_age()) return usual;
  const absl::Duration age = DurationOf(request.age());
  if (age < absl::ZeroDuration()) return InvalidField("age", "must not be negative");
  return age;
}

absl::Status ListStaleMigrations(const State& state, absl::Duration usual_age,
                                 const pb::ListStaleMigrationsRequest& request,
                                 pb::ListStaleMigrationsResponse* response) {
  BERTH_ASSIGN_OR_RETURN(const absl::Duration age, AgeOf(request, usual_age));
  BERTH_ASSIGN_OR_RETURN(const auto page, Page::Of(request));
  const placement::Revision read_at = state.position().revision;
  SetRevision(page.RevisionToAnswer(read_at), response->mutable_revision());
  const std::vector<MigrationPtr> stale = placement::StaleMigrations(state, age);
  const auto after = MigrationId::Parse(page.after().value_or(""));
  auto at = std::find_if(stale.begin(), stale.end(),
                         [&](const MigrationPtr& move) { return !after || *after < move->id; });
  for (; at != stale.end(); ++at) {
    if (response->migrations_size() == page.limit()) {
      response->set_next_page_token(page.NextToken((*std::prev(at))->id.ToString(), read_at));
      break;
    }
    FillStaleMigration(state, **at, response->add_migrations());
  }
  return absl::OkStatus();
}

class AuditService final : public pb::AuditService::CallbackService {
 public:
  AuditService(Edge* edge, absl::Duration stale_age) : edge_(edge), stale_age_(stale_age) {}

  Reactor* AuditAllocations(Context* context, const pb::AuditAllocationsRequest* request,
                            pb::AuditAllocationsResponse* response) override {
    return edge_->Read(context, request, response, Cost::kAudit, services::AuditAllocations);
  }
  Reactor* RepairAllocations(Context* context, const pb::RepairAllocationsRequest* request,
                             pb::RepairAllocationsResponse* response) override {
    return edge_->Write(context, request, response, RepairAllocationsCommand,
                        FillRepairAllocations);
  }
  Reactor* ListStaleMigrations(Context* context, const pb::ListStaleMigrationsRequest* request,
                               pb::ListStaleMigrationsResponse* response) override {
    return edge_->Read(context, request, response, Cost::kAudit,
                       [this](const State& state, const auto& asked, auto* to) {
                         return services::ListStaleMigrations(state, stale_age_, asked, to);
                       });
  }
  Reactor* ReleaseEvacuated(Context* context, const pb::ReleaseEvacuatedRequest* request,
                            pb::ReleaseEvacuatedResponse* response) override {
    return edge_->Write(context, request, response, ReleaseEvacuatedCommand, FillReleaseEvacuated);
  }

 private:
  Edge* const edge_;
  const absl::Duration stale_age_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeAuditService(Edge* edge, absl::Duration stale_age) {
  return std::make_unique<AuditService>(edge, stale_age);
}

}  // namespace berth::services
