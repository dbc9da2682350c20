#include "berth/placement/v1/ledger.grpc.pb.h"
#include "placement/ground/boot_clock.h"
#include "placement/ledger/self_check.h"
#include "services/api/edge.h"
#include "services/api/ledger_messages.h"
#include "services/api/ledger_streams.h"
#include "services/api/lost_changes.h"
#include "services/api/page.h"
#include "services/api/services.h"
#include "services/process/gate.h"

namespace berth::services {
namespace {

using placement::Priority;
using placement::State;

constexpr int kDifferencesDefault = 100;
constexpr int kDifferencesMax = 1000;
constexpr int kReasonMax = 1000;

class LedgerService final : public pb::LedgerService::CallbackService {
 public:
  LedgerService(Edge* edge, std::string database_url, placement::DatabaseWatch* watch,
                ExportPlaces* exports, ImportPlace* imports, Workers* epoch_worker)
      : edge_(edge),
        database_url_(std::move(database_url)),
        watch_(watch),
        exports_(exports),
        imports_(imports),
        epoch_worker_(epoch_worker),
        lost_changes_(edge->ledger(), edge->database_worker()) {}

  // Works in every LedgerState. Unless the request sets minimum_revision, the answer may be older
  // than --staleness-max; other reads fail then.
  Reactor* GetRevision(Context* context, const pb::GetRevisionRequest* request,
                       pb::GetRevisionResponse* response) override {
    UnaryCall* const call = edge_->Begin(context, request);
    placement::Ledger* const ledger = edge_->ledger();
    const auto answer = [ledger, response](const State& state) {
      FillStanding(ledger->health(), state, response);
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
    command.actor = ActorOf(*context);
    command.method = edge_->recorder().LoggedMethodOf(*request);
    command.body =
        placement::FindRequest{command.actor, request->request_id(), request->cancel_if_absent()};
    call->AnswerInAnyCase();
    ledger->Submit(std::move(command), call->deadline(), call->cancelled(),
                   [ledger, call, response](const placement::Decision& decision) {
                     const placement::StatePtr state = ledger->Newest();
                     call->End(FillOutcome({decision, *state, state->catalog()}, response));
                   });
    return call;
  }

  Reactor* SelfCheck(Context* context, const pb::SelfCheckRequest* request,
                     pb::SelfCheckResponse* response) override {
    UnaryCall* const call = edge_->Begin(context, request);
    if (checking_.exchange(true)) {
      call->End(placement::Refuse(absl::StatusCode::kUnavailable, "OVERLOADED",
                                  "another self-check is running: try again later", {},
                                  absl::Seconds(1)));
      return call;
    }
    const auto check = [this, call, request, response] {
      const placement::BootTime begun = placement::BootNow();
      const auto report = placement::SelfCheck(*edge_->ledger(), database_url_, watch_);
      checking_ = false;
      if (!report.ok()) return call->End(report.status());
      const int asked = request->difference_limit();
      FillSelfCheck(*report, asked <= 0 ? kDifferencesDefault : std::min(asked, kDifferencesMax),
                    response);
      SetDuration(placement::BootNow() - begun, response->mutable_elapsed());
      call->End(absl::OkStatus());
    };
    edge_->On(edge_->database_worker(), call, Priority::kBulk, check,
              [this] { checking_ = false; });
    return call;
  }

  Reactor* ListLostChanges(Context* context, const pb::ListLostChangesRequest* request,
                           pb::ListLostChangesResponse* response) override {
    UnaryCall* const call = edge_->Begin(context, request);
    absl::Status form = CheckText(*request);
    if (form.ok()) form = Page::Of(*request).status();
    if (!form.ok()) {
      call->End(form);
      return call;
    }
    lost_changes_.Find(call->owner(), [this, call, request,
                                       response](const absl::StatusOr<placement::LossPtr>& loss) {
      if (!loss.ok()) return call->End(loss.status());
      edge_->OnWorker(call, Priority::kBulk, [call, request, response, loss = *loss] {
        if (absl::Status gone = call->Listens(); !gone.ok()) return call->End(gone);
        call->End(FillLostChanges(*loss, *request, response));
      });
    });
    return call;
  }

  Reactor* SetFormat(Context* context, const pb::SetFormatRequest* request,
                     pb::SetFormatResponse* response) override {
    return edge_->Write(context, request, response, SetFormatCommand);
  }

  grpc::ServerWriteReactor<pb::ExportLedgerResponse>* ExportLedger(
      Context* context, const pb::ExportLedgerRequest* request) override {
    return OpenExport(edge_, exports_, context, *request);
  }

  grpc::ServerReadReactor<pb::ImportLedgerRequest>* ImportLedger(
      Context* context, pb::ImportLedgerResponse* response) override {
    return OpenImport(edge_, imports_, context, response);
  }

  Reactor* StartEpoch(Context* context, const pb::StartEpochRequest* request,
                      pb::StartEpochResponse* response) override {
    UnaryCall* const call = edge_->Begin(context, request);
    // On a worker of its own: no call that others may make keeps an operator from it.
    const auto start = [this, call, request, response, actor = ActorOf(*context)] {
      if (absl::Status gone = call->Listens(); !gone.ok()) return call->End(gone);
      call->AnswerInAnyCase();
      call->End(StartEpochNow(actor, *request, response));
    };
    edge_->On(epoch_worker_, call, Priority::kFirst, start);
    return call;
  }

 private:
  absl::Status StartEpochNow(const std::string& actor, const pb::StartEpochRequest& request,
                             pb::StartEpochResponse* response) {
    BERTH_RETURN_IF_ERROR(CheckText(request));
    BERTH_RETURN_IF_ERROR(CheckRequestId(request.request_id()));
    if (request.reason().empty() || request.reason().size() > kReasonMax) {
      return InvalidField("reason", "must have 1 to 1000 characters");
    }
    if (!request.has_expected_database_revision()) {
      return InvalidField("expected_database_revision", "is required");
    }
    placement::Ledger& ledger = *edge_->ledger();
    BERTH_RETURN_IF_ERROR(ledger.StartEpoch({actor, request.request_id(), request.reason(),
                                             RevisionOf(request.expected_database_revision()),
                                             edge_->recorder().LoggedMethodOf(request)}));
    SetRevision(ledger.Newest()->position().revision, response->mutable_revision());
    return absl::OkStatus();
  }

  Edge* const edge_;
  const std::string database_url_;
  placement::DatabaseWatch* const watch_;
  ExportPlaces* const exports_;
  ImportPlace* const imports_;
  Workers* const epoch_worker_;
  LostChanges lost_changes_;
  std::atomic<bool> checking_{false};  // a self-check runs: each reads all tables
};

}  // namespace

std::unique_ptr<grpc::Service> MakeLedgerService(Edge* edge, const std::string& database_url,
                                                 placement::DatabaseWatch* watch,
                                                 ExportPlaces* exports, ImportPlace* imports,
                                                 Workers* epoch_worker) {
  return std::make_unique<LedgerService>(edge, database_url, watch, exports, imports, epoch_worker);
}

}  // namespace berth::services
