// ReportSession: placement's side of one tracker's stream (T-226 to T-232), free of gRPC.
//
// A session makes commands of the messages of its tracker, and sends answers, orders and pushes.
// Its parts: TrackerIdentity says who the tracker is, TrackerDay counts what the tracker brings,
// Traffic reads and sends, PushQueue knows what the tracker is still to be told, and Readiness knows
// which readiness is still to be recorded. The ReportSink calls Open, HandleRead, HandleSent and
// Closed. A session lives until Closed was called and nobody refers to the session any more.
// Thread-safe. The session's mutex_ is taken before the lock of its Traffic.
//
// Invariant: one message of the tracker is handled at a time. The session asks for the next message
// when it knows the outcome of the present one; it does not wait until a readiness is recorded or a
// node is retired. So a session holds at most one report. It sends answers in the order of the
// messages, except that an answer to a write of records may come later, because it waits for a
// push. A malformed report or write of records is answered as refused, and the stream goes on.
#ifndef BERTH_SERVICES_REPORT_SESSION_H_
#define BERTH_SERVICES_REPORT_SESSION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "berth/placement/v1/report.pb.h"
#include "placement/ground/mutex.h"
#include "placement/ledger/ledger.h"
#include "placement/log/feed.h"
#include "services/report/messages.h"
#include "services/report/push_queue.h"
#include "services/report/readiness.h"
#include "services/report/sessions.h"
#include "services/report/tracker_day.h"
#include "services/report/tracker_identity.h"
#include "services/report/traffic.h"

namespace berth::services {

class ReportSession final : public TrackerStream,
                            public std::enable_shared_from_this<ReportSession> {
 public:
  // `sessions` must outlive the session; `sink` must live until Closed is called. If `certificate`
  // has a host, each Hello must name this host. The stream ends when a message comes after the
  // certificate has expired.
  ReportSession(ReportSessions* sessions, ReportSink* sink, TrackerCertificate certificate = {})
      : sessions_(sessions),
        identity_(std::move(certificate)),
        day_(sessions->settings().policy),
        traffic_(sink) {}

  // Registers the session in ReportSessions and asks for the first message. To be called once,
  // before all other methods.
  void Open();
  // To be called when the read that the session asked for has ended. `ok`: a message was read. If
  // false, the stream ends.
  void HandleRead(bool ok);
  // As Traffic::HandleSent.
  void HandleSent(bool ok);
  // To be called when the stream is over. REQUIRES: the sink's Finish was called, and nothing is
  // being read or sent.
  void Closed();

  const Liveness::Key& key() const override { return identity_.key(); }
  placement::Uuid incarnation() const override { return identity_.incarnation(); }
  int64_t Touch(const placement::FeedCommand& command) override;
  void TouchAll() override;
  void Tick() override;
  void OrderSnapshot(placement::ProviderId node) override;
  void OrderAudit(const std::string& order_id, placement::ProviderId node) override;
  void End(const absl::Status& status) override { traffic_.End(status); }
  bool ended() const override { return traffic_.ended(); }

 private:
  using HelloPtr = std::shared_ptr<const HelloFacts>;

  // The handlers of messages. `form`: what CheckText says of the message.
  void HandleHello();
  void Welcome(const HelloPtr& hello, const placement::Decision& decision);
  void HandleReport(const absl::Status& form);
  void SettleReport(placement::ProviderId node, const placement::Decision& decision);
  void HandleRecordWrite(const absl::Status& form);
  void SettleRecordWrite(RecordAnswer answer, const absl::Status& status);
  void HandleReadiness(const absl::Status& form);
  void RecordReadiness();
  void Submit(placement::CommandBody body, std::function<void(const placement::Decision&)> done);

  void FlushPushes();
  void TellPushes();
  void SendRecordAnswers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ReportSessions* const sessions_;
  // The first Hello sets the identity. Before Attach, only the handlers use the identity.
  TrackerIdentity identity_;
  TrackerDay day_;  // used only while a message is handled
  Traffic traffic_;
  // The Hello of the last call of Welcome; null before the first call. Used only while a message is
  // handled.
  HelloPtr hello_;

  mutable placement::Mutex mutex_;
  PushQueue pushes_ ABSL_GUARDED_BY(mutex_);
  Readiness readiness_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_SESSION_H_
