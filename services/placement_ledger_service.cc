#include "berth/placement/v1/ledger.grpc.pb.h"
#include "placement/feed.h"
#include "placement/self_check.h"
#include "services/call.h"
#include "services/placement_services.h"

namespace berth::services {
namespace {

using placement::LedgerHealth;
using placement::State;

constexpr int kDifferencesDefault = 100;
constexpr int kDifferencesMax = 1000;
constexpr int kReasonMax = 1000;

void SetDuration(absl::Duration duration, google::protobuf::Duration* to) {
  to->set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &duration));
  to->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(duration)));
}

pb::LedgerState StateOf(const LedgerHealth& health) {
  if (health.recovery_required) return pb::LEDGER_STATE_RECOVERY_REQUIRED;
  if (health.writing_stopped || health.format_too_new) return pb::LEDGER_STATE_STOPPED;
  return health.writable ? pb::LEDGER_STATE_READY : pb::LEDGER_STATE_STORE_UNAVAILABLE;
}

const char* ReasonOf(const LedgerHealth& health) {
  if (health.recovery_required) return "the database went back in time";
  if (health.format_too_new) return "the log is in a format that this release does not know";
  if (health.writing_stopped) return "tables and rules disagreed twice within a minute";
  return health.writable ? "" : "the database does not answer";
}

void FillStanding(const placement::Ledger& ledger, const State& state,
                  pb::GetRevisionResponse* response) {
  const LedgerHealth health = ledger.health();
  SetRevision(state.position().revision, response->mutable_revision());
  SetTime(state.position().ledger_time, response->mutable_ledger_time());
  response->set_state(StateOf(health));
  response->set_reason(ReasonOf(health));
  SetDuration(health.staleness, response->mutable_staleness());
  response->set_format(state.position().format);
}

// What became of a write, from the answer that the ledger kept.
absl::Status FillOutcome(const placement::Ledger& ledger, const placement::Decision& decision,
                         pb::GetRequestResponse* response) {
  SetRevision(ledger.Newest()->position().revision, response->mutable_revision());
  response->set_outcome(pb::REQUEST_OUTCOME_ABSENT);
  if (absl::IsNotFound(decision.status)) return absl::OkStatus();
  BERTH_RETURN_IF_ERROR(decision.status);
  response->set_outcome(pb::REQUEST_OUTCOME_APPLIED);
  SetRevision(decision.revision, response->mutable_applied_revision());
  return absl::OkStatus();
}

void FillSelfCheck(const placement::SelfCheckReport& report, int limit,
                   pb::SelfCheckResponse* response) {
  SetRevision(report.revision, response->mutable_revision());
  response->set_clean(report.findings.empty());
  response->set_difference_count(static_cast<int64_t>(report.findings.size()));
  response->set_row_count(report.providers + report.consumers + report.log_rows);
  for (const std::string& finding : report.findings) {
    if (response->differences_size() == limit) break;
    response->add_differences()->set_message(finding);
  }
}

class LedgerService final : public pb::LedgerService::CallbackService {
 public:
  LedgerService(Edge* edge, std::string database_url)
      : edge_(edge), database_url_(std::move(database_url)) {}

  // Answers in every state of the ledger: a stale state too, unless a revision is asked for.
  Reactor* GetRevision(Context* context, const pb::GetRevisionRequest* request,
                       pb::GetRevisionResponse* response) override {
    UnaryCall* const call = edge_->Begin(context, request);
    placement::Ledger* const ledger = edge_->ledger();
    const auto answer = [ledger, response](const State& state) {
      FillStanding(*ledger, state, response);
      return absl::OkStatus();
    };
    if (request->has_minimum_revision()) {
      edge_->WithState(call, *request, &request->minimum_revision(), Cost::kLight, answer);
    } else {
      call->End(answer(*ledger->Newest()));
    }
    return call;
  }

  Reactor* GetRequest(Context* context, const pb::GetRequestRequest* request,
                      pb::GetRequestResponse* response) override {
    UnaryCall* const call = edge_->Begin(context, request);
    absl::Status form = CheckRequestId(request->request_id());
    if (request->request_id().empty()) form = InvalidField("request_id", "is required");
    if (!form.ok()) {
      call->End(form);
      return call;
    }
    placement::Ledger* const ledger = edge_->ledger();
    placement::Command command;
    command.actor = kAnonymous;
    command.body = placement::FindRequest{kAnonymous, request->request_id()};
    ledger->Submit(std::move(command), call->deadline(), call->cancelled(),
                   [ledger, call, response](const placement::Decision& decision) {
                     call->End(FillOutcome(*ledger, decision, response));
                   });
    return call;
  }

  Reactor* SelfCheck(Context* context, const pb::SelfCheckRequest* request,
                     pb::SelfCheckResponse* response) override {
    UnaryCall* const call = edge_->Begin(context, request);
    if (checking_.exchange(true)) {
      call->End(placement::Refuse(absl::StatusCode::kUnavailable, "OVERLOADED",
                                  "a self-check is under way already", {}, absl::Seconds(1)));
      return call;
    }
    const bool queued = edge_->OnWorker(call, [this, call, request, response] {
      const absl::Time begun = absl::Now();
      const auto report = placement::SelfCheck(*edge_->ledger(), database_url_);
      checking_ = false;
      if (!report.ok()) return call->End(report.status());
      const int asked = request->difference_limit();
      FillSelfCheck(*report, asked <= 0 ? kDifferencesDefault : std::min(asked, kDifferencesMax),
                    response);
      SetDuration(absl::Now() - begun, response->mutable_elapsed());
      call->End(absl::OkStatus());
    });
    if (!queued) checking_ = false;
    return call;
  }

  Reactor* StartEpoch(Context* context, const pb::StartEpochRequest* request,
                      pb::StartEpochResponse* response) override {
    UnaryCall* const call = edge_->Begin(context, request);
    edge_->OnWorker(
        call, [this, call, request, response] { call->End(StartEpochNow(*request, response)); });
    return call;
  }

 private:
  absl::Status StartEpochNow(const pb::StartEpochRequest& request,
                             pb::StartEpochResponse* response) {
    BERTH_RETURN_IF_ERROR(CheckText(request));
    if (request.reason().empty() || request.reason().size() > kReasonMax) {
      return InvalidField("reason", "must have 1 to 1000 characters");
    }
    if (!request.has_expected_database_revision()) {
      return InvalidField("expected_database_revision", "is required");
    }
    placement::Ledger& ledger = *edge_->ledger();
    BERTH_RETURN_IF_ERROR(
        ledger.StartEpoch(kAnonymous, RevisionOf(request.expected_database_revision())));
    SetRevision(ledger.Newest()->position().revision, response->mutable_revision());
    return absl::OkStatus();
  }

  Edge* const edge_;
  const std::string database_url_;
  std::atomic<bool> checking_{false};  // each reads all tables
};

}  // namespace

std::unique_ptr<grpc::Service> MakeLedgerService(Edge* edge, const std::string& database_url) {
  return std::make_unique<LedgerService>(edge, database_url);
}

}  // namespace berth::services
