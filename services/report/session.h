// ReportSession: one tracker's stream (T-226 to T-232).
//
// Takes one message at a time: the next is read when this one is settled, so a stream holds one
// report and answers come in order. What has to be pushed is remembered as names and told from the
// newest state when the stream can take it, so a slow tracker costs one scope per node. Lives until
// gRPC is done with it and nobody refers to it any more. Thread-safe.
#ifndef BERTH_SERVICES_REPORT_SESSION_H_
#define BERTH_SERVICES_REPORT_SESSION_H_

#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "berth/placement/v1/report.pb.h"
#include "grpcpp/support/server_callback.h"
#include "placement/ground/mutex.h"
#include "placement/ledger/ledger.h"
#include "placement/log/feed.h"
#include "services/report/messages.h"
#include "services/report/sessions.h"

namespace berth::services {

class ReportSession : public grpc::ServerBidiReactor<pb::SessionRequest, pb::SessionResponse>,
                      public TrackerStream,
                      public std::enable_shared_from_this<ReportSession> {
 public:
  // Begins to read. `sessions` must outlive the stream.
  static ReportSession* Open(ReportSessions* sessions);

  const Liveness::Key& key() const override { return key_; }
  placement::Uuid incarnation() const override { return incarnation_; }
  std::vector<placement::ProviderId> node_ids() const override;
  void Touch(placement::ProviderId node, const placement::FeedCommand& command) override;
  void TouchService() override;
  void TouchAll() override;
  void FlushPushes() override;
  void OrderSnapshot(placement::ProviderId node) override;
  void OrderAudit(const std::string& order_id, placement::ProviderId node) override;
  void End(const absl::Status& status) override;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone() override;

 private:
  explicit ReportSession(ReportSessions* sessions) : sessions_(sessions) {}

  void HandleHello();
  void Welcome(const HelloFacts& hello, const placement::Decision& decision);
  void FillWelcome(const placement::State& state, const placement::Decision& decision,
                   pb::Welcome* to);
  void FillNodeWelcome(const placement::State& state, const HelloNode& node, pb::NodeWelcome* to);
  std::vector<placement::ProviderId> OwnNodes(const placement::State& state) const;
  void BeginPushes(const placement::State& state);
  void RetireNodes(const placement::State& state);
  void HandleReport();
  void SettleReport(placement::ProviderId node, const placement::Decision& decision);
  absl::Status EndingOf(const absl::Status& refused) const;
  void HandleReadiness();
  void Submit(placement::CommandBody body, std::function<void(const placement::Decision&)> done);

  // Reads on, once the tracker has read most of what it was answered: whoever only writes waits.
  void ReadNext();
  void ReadIfRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Send(pb::SessionResponse message);
  void TellPushes();
  bool NextPush(pb::SessionResponse* message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ReportSessions* const sessions_;
  std::shared_ptr<ReportSession> self_;  // until OnDone
  pb::SessionRequest incoming_;          // of the read in progress, or the message being settled

  // Set by the first Hello, before Attach, and never again.
  Liveness::Key key_;
  placement::Uuid incarnation_;
  // Of the newest Hello; only for whoever settles the present message.
  HelloFacts hello_;
  bool attached_ = false;

  mutable placement::Mutex mutex_;
  std::map<placement::ProviderId, PushScope> scopes_ ABSL_GUARDED_BY(mutex_);
  // A list, since an empty deque sets half a KiB aside, and nearly all are empty.
  std::list<pb::SessionResponse> outbox_ ABSL_GUARDED_BY(mutex_);
  pb::SessionResponse outgoing_ ABSL_GUARDED_BY(mutex_);
  bool pushing_ ABSL_GUARDED_BY(mutex_) = false;  // a worker has been asked
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool read_waits_ ABSL_GUARDED_BY(mutex_) = false;  // the message before is settled
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> ending_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_SESSION_H_
