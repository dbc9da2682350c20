// ReportSession: placement's side of one tracker's stream (T-226 to T-232), free of gRPC.
//
// A session handles one message of its tracker at a time: it asks for the next message when the
// present one is settled. So the session holds at most one report, and sends answers in the order
// of the messages. A report or a write of records that is malformed is answered as refused, and the
// stream goes on. Of the changes that must be pushed a session keeps only names, however slow the
// tracker is: one PushScope per node, and one for the push that is being sent. It fills in the
// values from the newest state when the stream can take a message. The owner of the stream calls
// HandleRead, HandleSent and Closed. A session lives until its owner has called Closed and nobody
// refers to the session any more. Thread-safe.
#ifndef BERTH_SERVICES_REPORT_SESSION_H_
#define BERTH_SERVICES_REPORT_SESSION_H_

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/placement/v1/report.pb.h"
#include "placement/ground/mutex.h"
#include "placement/ledger/ledger.h"
#include "placement/log/feed.h"
#include "services/report/messages.h"
#include "services/report/push_scope.h"
#include "services/report/sessions.h"

namespace berth::services {

// The stream that a session reads from and writes to. Every method is called with the session's
// lock held and must not call the session back before it returns.
class ReportSink {
 public:
  virtual ~ReportSink() = default;
  // Begins to read the tracker's next message into `to`, which stays valid until the end of the
  // session. When the message has arrived or the stream has ended, ReportSession::HandleRead is
  // called.
  virtual void Read(pb::SessionRequest* to) = 0;
  // Begins to send `message`, which stays valid until ReportSession::HandleSent is called.
  virtual void Send(const pb::SessionResponse& message) = 0;
  // Ends the stream. No other method is called afterwards.
  virtual void Finish(const absl::Status& status) = 0;
};

// What the certificate says with which the tracker's connection was opened.
struct TrackerCertificate {
  std::string host;  // empty: the connection has no TLS, so nobody has checked the tracker's host
  absl::Time not_after = absl::InfiniteFuture();
};

class ReportSession final : public TrackerStream,
                            public std::enable_shared_from_this<ReportSession> {
 public:
  // `sessions` must outlive the session; `sink` must live until Closed is called.
  // A stream with a certificate ends with the certificate. Its Hello must name the host in it.
  ReportSession(ReportSessions* sessions, ReportSink* sink, TrackerCertificate certificate = {})
      : sessions_(sessions), sink_(sink), certificate_(std::move(certificate)) {}

  // Registers the session and asks for the first message. Called once, before all else.
  void Open();
  // To be called when the read that the session asked for has ended. `ok`: a message was read.
  void HandleRead(bool ok);
  // To be called when the message that was being sent has been sent or, if not `ok`, cannot be sent
  // any more.
  void HandleSent(bool ok);
  // To be called when the stream is over. REQUIRES: the sink's Finish was called, and nothing is
  // being read or sent.
  void Closed();

  const Liveness::Key& key() const override { return key_; }
  placement::Uuid incarnation() const override { return incarnation_; }
  int64_t Touch(const placement::FeedCommand& command) override;
  void TouchAll() override;
  void Tick() override;
  void OrderSnapshot(placement::ProviderId node) override;
  void OrderAudit(const std::string& order_id, placement::ProviderId node) override;
  void End(const absl::Status& status) override;
  bool ended() const override;

 private:
  using HelloPtr = std::shared_ptr<const HelloFacts>;
  // A push of which at least one slice is not in the outbox yet.
  struct OpenPush {
    placement::ProviderId node;
    PushScope rest;  // the names of everything that the next slices must contain
    placement::Revision revision;
    bool names_all = false;  // `rest` must get the names of a complete push first (NameAll)
  };

  // The answer to a write of records, without the records, and the names of these.
  struct WaitingAnswer {
    std::optional<placement::ProviderId> node;  // none: the answer has no records
    PushScope names;
    pb::RecordAnswer message;
  };

  static bool HasReason(const absl::Status& status, absl::string_view reason);
  static bool Names(const HelloFacts& hello, placement::ProviderId node);

  // The actor of the tracker's commands.
  std::string Actor() const;
  absl::Status CheckCertificate() const;
  absl::Status CheckHost(const std::string& host) const;
  void HandleHello();
  void Welcome(const HelloPtr& hello, const placement::Decision& decision);
  void FillWelcome(const placement::State& state, const placement::Decision& decision,
                   pb::Welcome* to) const;
  void FillNodeWelcome(const placement::State& state, const HelloNode& node, pb::NodeWelcome* to);
  std::vector<placement::ProviderId> OwnNodes(const placement::State& state,
                                              const HelloFacts& hello) const;
  void BeginPushes(const placement::State& state, const HelloFacts& hello);
  void RetireNodes(const placement::State& state, const HelloFacts& hello);
  // `form`: why the texts of the message cannot be taken; OK if they can.
  void HandleReport(const absl::Status& form);
  void RefuseReport(const absl::Status& why);
  void SettleReport(placement::ProviderId node, const placement::Decision& decision);
  absl::Status EndingOf(const absl::Status& status) const;
  WaitingAnswer AnswerTo(const pb::RecordWrite& write) const;
  void HandleRecordWrite(const absl::Status& form);
  void SettleRecordWrite(WaitingAnswer answer, const absl::Status& status);
  void SendRecordAnswers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void HandleReadiness(const absl::Status& form);
  void RecordReadiness();
  void TellUnrecorded(const absl::Status& status) const;
  void SettleReadiness(const pb::Readiness& readiness, const absl::Status& status);
  void Submit(placement::CommandBody body, std::function<void(const placement::Decision&)> done);
  // The Hello of the last Welcome; null before the first Welcome.
  HelloPtr hello() const;

  // Asks for the next message. If many answers wait to be sent, asks only after some were sent, so
  // that a tracker that does not read its answers cannot send more messages.
  void ReadNext();
  void ReadIfRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Send(pb::SessionResponse message);
  void FlushPushes();
  void TellPushes();
  placement::StatePtr TakePush(OpenPush* push) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool OpenNextPush(const placement::State& state, placement::Revision dispatched)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether a push for `node` is being filled, or some of its slices are not in the outbox yet. Some
  // of its values may be older than what was answered meanwhile.
  bool IsPushing(placement::ProviderId node) const;
  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ReportSessions* const sessions_;
  ReportSink* const sink_;
  const TrackerCertificate certificate_;
  pb::SessionRequest incoming_;  // the message that is being read or settled

  // The first Hello sets these members before Connections knows the session. They never change
  // afterwards.
  Liveness::Key key_;
  placement::Uuid incarnation_;

  mutable placement::Mutex mutex_;
  std::optional<pb::Readiness> readiness_ ABSL_GUARDED_BY(mutex_);  // to be recorded
  bool recording_readiness_ ABSL_GUARDED_BY(mutex_) = false;        // a command records it now
  HelloPtr hello_ ABSL_GUARDED_BY(mutex_);
  PushScopes scopes_ ABSL_GUARDED_BY(mutex_);
  std::optional<OpenPush> push_ ABSL_GUARDED_BY(mutex_);
  std::list<WaitingAnswer> answers_ ABSL_GUARDED_BY(mutex_);  // wait for the last slice of push_
  // A list, because an empty deque takes half a KiB, and most sessions have an empty outbox.
  std::list<pb::SessionResponse> outbox_ ABSL_GUARDED_BY(mutex_);
  pb::SessionResponse outgoing_ ABSL_GUARDED_BY(mutex_);
  bool pushing_ ABSL_GUARDED_BY(mutex_) = false;  // a worker will call TellPushes, or is in it
  // A Hello is being answered. No push is sent before BeginPushes has prepared the first pushes: an
  // earlier push would tell the tracker a revision of which it lacks changes.
  bool welcoming_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool read_waits_ ABSL_GUARDED_BY(mutex_) = false;  // ReadNext was put off
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> ending_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_SESSION_H_
