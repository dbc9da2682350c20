#include "services/tracker/claim_calls.h"

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "grpcpp/grpcpp.h"
#include "services/log/log.h"
#include "services/log/refusal_log.h"
#include "services/process/caller.h"
#include "services/process/gate.h"
#include "services/process/open_calls.h"
#include "services/tracker/claim_messages.h"
#include "tracker/claims/refusal.h"
#include "tracker/ground/boot_clock.h"
#include "tracker/ground/mutex.h"
#include "tracker/ground/uuid.h"

namespace berth::services {
namespace {

namespace pb = berth::tracker::v1;
using tracker::BootClock;
using tracker::ClaimCaller;
using tracker::ClaimRefusalKind;
using tracker::ClaimReplies;
using tracker::ClaimResult;
using tracker::NodeClaims;

constexpr int kWaitingMax = 1024;                     // for one node
constexpr absl::Duration kCallMax = absl::Hours(24);  // whatever the caller's deadline is
constexpr char kOverloaded[] = "OVERLOADED";

}  // namespace

// How many calls have ended, by kind and by the reason of the refusal (T-388). Thread-safe.
class ClaimCalls::Counts {
 public:
  void Add(const std::string& kind, const std::string& reason) {
    tracker::MutexLock lock(&mutex_);
    ++counts_[{kind, reason}];
  }
  void Sample(Samples* samples) const {
    tracker::MutexLock lock(&mutex_);
    for (const auto& [key, count] : counts_) {
      const auto& [kind, reason] = key;
      samples->Counter(
          "claims_total", "Claims and ends of claims that were answered",
          static_cast<double>(count),
          {{"kind", kind}, {"result", reason.empty() ? "ok" : "refused"}, {"reason", reason}});
    }
  }

 private:
  mutable tracker::Mutex mutex_;
  std::map<std::pair<std::string, std::string>, int64_t> counts_ ABSL_GUARDED_BY(mutex_);
};

// A call that is not answered yet. Owns itself: OnDone, the last call by gRPC, deletes it.
class ClaimCalls::Call final : public grpc::ServerUnaryReactor {
 public:
  // `method`: the name of the RPC.
  Call(ClaimCalls* calls, grpc::CallbackServerContext* context, std::string method)
      : method_(std::move(method)),
        metrics_(calls->metrics_->ForMethod("berth.tracker.v1.TrackerService/" + method_)),
        counts_(calls->counts_),
        deadline_(begun_ + absl::ToChronoNanoseconds(TimeLeft(*context, kCallMax))) {}

  // To be called before the call waits for a node: what it changes may have begun from then on.
  void AnswerInAnyCase() {
    if (open_ != nullptr) open_->AnswerInAnyCase();
  }
  void End(const absl::Status& status) {
    const grpc::Status wire = ClaimStatus(status);
    metrics_->Record(wire.error_code(), absl::FromChrono(BootClock::now() - begun_));
    const std::string reason = ReasonOf(status);
    counts_->Add(method_, reason);
    if (reason == kOverloaded) TellOverload(status);
    Finish(wire);
  }
  // The caller, for the node. `fill` fills in the response.
  ClaimCaller AsCaller(std::function<void(const ClaimResult&)> fill) {
    ClaimCaller caller;
    caller.done = [this, fill = std::move(fill)](const absl::StatusOr<ClaimResult>& result) {
      if (result.ok()) fill(*result);
      LogRefusal(result.status());
      End(result.status());
    };
    caller.gone = [cancelled = cancelled_, deadline = deadline_] {
      return cancelled->load() || BootClock::now() >= deadline;
    };
    return caller;
  }

  void OnCancel() override { cancelled_->store(true); }
  void OnDone() override { delete this; }

 private:
  void TellOverload(const absl::Status& status) const {
    static auto& refusals = *new RefusalLog("a call was refused");
    const std::string caller = ActorOf(open_ == nullptr ? Caller() : open_->caller());
    const std::string method = absl::StrCat("berth.tracker.v1.TrackerService/", method_);
    refusals.Tell({caller, method, kOverloaded, status.message()});
  }
  // The node's account and placement's allocations have drifted apart if amounts do not suffice
  // that placement has allocated (T-162).
  static void LogRefusal(const absl::Status& status) {
    const auto refusal = tracker::RefusalOf(status);
    if (!refusal || refusal->kind != ClaimRefusalKind::kResources) return;
    Log(refusal->drift ? LogLevel::kError : LogLevel::kInfo, "Failed to claim",
        {{"reasons", std::string(status.message())}});
  }

  const std::string method_;
  Metrics::Method* const metrics_;
  const std::shared_ptr<Counts> counts_;
  const tracker::MonotonicTime begun_ = BootClock::now();
  const tracker::MonotonicTime deadline_;
  const OpenCallPtr open_ = OpenCall::Current();  // null: the connection has no TLS
  const std::shared_ptr<std::atomic<bool>> cancelled_ = CancelledFlagOf(open_);
};

ClaimCalls::ClaimCalls(TrackerHost* host, Metrics* metrics)
    : host_(host), metrics_(metrics), counts_(std::make_shared<Counts>()) {
  for (size_t i = 0; i < host->runners().size(); ++i) threads_.emplace_back(1, kWaitingMax);
  metrics->AddSource([counts = counts_](Samples* samples) { counts->Sample(samples); });
}

void ClaimCalls::Run(Call* call, const tracker::Uuid& node_uuid, Work work) {
  call->AnswerInAnyCase();
  for (size_t i = 0; i < threads_.size(); ++i) {
    tracker::Node* const node = host_->runners()[i]->node();
    const std::optional<tracker::NodeIdentity> identity = node->identity();
    if (!identity || identity->uuid != node_uuid) continue;
    const auto refuse = [call] {
      call->End(tracker::RefuseClaim({ClaimRefusalKind::kOverloaded, {"too many claims wait"}}));
    };
    // All calls have one owner, so that they get the node's lock in the order in which they came.
    const bool accepted = threads_[i].Submit(
        {},
        [this, node, work = std::move(work)] {
          node->Claims(work);
          host_->NotifyUplink();
        },
        refuse);
    if (!accepted) refuse();
    return;
  }
  call->End(
      tracker::RefuseClaim({ClaimRefusalKind::kNodeUnavailable,
                            {"this host has no node with the uuid " + node_uuid.ToString()}}));
}

template <typename Request, typename Response>
grpc::ServerUnaryReactor* ClaimCalls::Claim(const char* method,
                                            grpc::CallbackServerContext* context,
                                            const Request* request, Response* response) {
  auto* const call = new Call(this, context, method);
  auto asked = ClaimOf(*request);
  if (!asked.ok()) {
    call->End(asked.status());
    return call;
  }
  const tracker::Uuid node_uuid = asked->node_uuid;
  Run(call, node_uuid,
      [asked = *std::move(asked), caller = call->AsCaller([response](const ClaimResult& result) {
        FillClaim(result.claim, response->mutable_claim());
      })](NodeClaims* claims, ClaimReplies* replies) { claims->Claim(asked, caller, replies); });
  return call;
}

template grpc::ServerUnaryReactor* ClaimCalls::Claim(const char*, grpc::CallbackServerContext*,
                                                     const pb::ClaimInstanceRequest*,
                                                     pb::ClaimInstanceResponse*);
template grpc::ServerUnaryReactor* ClaimCalls::Claim(const char*, grpc::CallbackServerContext*,
                                                     const pb::ClaimMoveRequest*,
                                                     pb::ClaimMoveResponse*);

grpc::ServerUnaryReactor* ClaimCalls::AbortClaim(grpc::CallbackServerContext* context,
                                                 const pb::AbortClaimRequest* request,
                                                 pb::AbortClaimResponse* response) {
  auto* const call = new Call(this, context, "AbortClaim");
  const absl::StatusOr<tracker::Uuid> node_uuid = ReadUuid("node_uuid", request->node_uuid());
  const absl::StatusOr<std::string> id = ClaimIdOf(*request);
  if (!node_uuid.ok() || !id.ok()) {
    call->End(node_uuid.ok() ? id.status() : node_uuid.status());
    return call;
  }
  Run(call, *node_uuid, [id = *id, caller = call->AsCaller([response](const ClaimResult& result) {
        response->set_aborted(result.ended);
      })](NodeClaims* claims, ClaimReplies* replies) { claims->Abort(id, caller, replies); });
  return call;
}

grpc::ServerUnaryReactor* ClaimCalls::DropMoveClaim(grpc::CallbackServerContext* context,
                                                    const pb::DropMoveClaimRequest* request,
                                                    pb::DropMoveClaimResponse* response) {
  auto* const call = new Call(this, context, "DropMoveClaim");
  const absl::StatusOr<tracker::Uuid> node_uuid = ReadUuid("node_uuid", request->node_uuid());
  const absl::StatusOr<tracker::MoveDrop> drop = DropOf(*request);
  if (!node_uuid.ok() || !drop.ok()) {
    call->End(node_uuid.ok() ? drop.status() : node_uuid.status());
    return call;
  }
  Run(call, *node_uuid,
      [drop = *drop, caller = call->AsCaller([response](const ClaimResult& result) {
        response->set_dropped(result.ended);
      })](NodeClaims* claims, ClaimReplies* replies) { claims->DropMove(drop, caller, replies); });
  return call;
}

grpc::ServerUnaryReactor* ClaimCalls::UpdateUsage(grpc::CallbackServerContext* context,
                                                  const pb::UpdateUsageRequest* request,
                                                  pb::UpdateUsageResponse* response) {
  auto* const call = new Call(this, context, "UpdateUsage");
  const absl::StatusOr<tracker::Uuid> node_uuid = ReadUuid("node_uuid", request->node_uuid());
  const absl::Status form =
      node_uuid.ok() ? CheckInstance(request->instance()) : node_uuid.status();
  if (!form.ok()) {
    call->End(form);
    return call;
  }
  Run(call, *node_uuid,
      [known = KnownOf(*request), caller = call->AsCaller([response](const ClaimResult& result) {
        response->set_tracked(result.tracked);
      })](NodeClaims* claims, ClaimReplies* replies) {
        claims->UpdateUsage(known, caller, replies);
      });
  return call;
}

}  // namespace berth::services
