// UplinkSession: one session with placement, from Hello to the end of the stream.
//
// Only Uplink uses it. Owns no thread. What gRPC and other threads report is only noted; then an
// alarm makes Work() run on a thread of gRPC. Work() hears and says everything, and sets the next
// alarm last. The public methods are thread-safe and never wait for Work().
//
// Invariants:
//   1. From Start() until Work() has noticed the end of the stream, either the alarm is set or
//      Work() runs. Work() therefore never runs twice at a time.
//   2. gRPC calls OnDone() after the last Work(), because a hold keeps the call until then.
//   3. At most one message is being sent and at most one has been received. The next message is read
//      after the last one has been processed, so gRPC's flow control slows placement down.
#ifndef BERTH_TRACKER_UPLINK_SESSION_H_
#define BERTH_TRACKER_UPLINK_SESSION_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "berth/placement/v1/report.grpc.pb.h"
#include "berth/placement/v1/report.pb.h"
#include "tracker/ground/boot_clock.h"
#include "tracker/ground/mutex.h"
#include "tracker/ground/uuid.h"
#include "tracker/node/node.h"
#include "tracker/uplink/alarm.h"
#include "tracker/uplink/options.h"

namespace berth::tracker {

// How a session ended.
struct UplinkEnd {
  absl::Status status;
  bool welcomed = false;  // placement had answered the Hello
  bool lasted = false;    // the session was longer than one heartbeat interval
  bool fenced = false;    // a newer tracker process has taken over
  bool deleted = false;   // placement has no record of the service any more
};

// What the sessions of an uplink have in common. Sessions do not overlap.
struct UplinkCounts {
  std::atomic<int64_t> sessions = 0;  // that placement welcomed
  std::atomic<int64_t> heartbeats = 0;
  std::atomic<int64_t> conflicts = 0;
  std::atomic<bool> disabled = false;  // what SetDisabled() said last
  // No session was welcomed since one ended. Written between sessions, and by Work() of the present
  // session.
  bool away = false;
  // The service record that the first Welcome named; empty: there was none. Only Work() of the
  // present session uses it.
  placement::v1::ServiceRegistration registered;
};

class UplinkSession final : public grpc::ClientBidiReactor<placement::v1::SessionRequest,
                                                           placement::v1::SessionResponse> {
 public:
  // What the parameters refer to outlives the session. `options` have a channel. Calls `ended` when the session has ended,
  // on a thread of gRPC, as the last act of the session: `ended` has to destroy the session.
  UplinkSession(const UplinkOptions& options, const std::vector<Node*>& nodes,
                const UplinkCallbacks& callbacks, UplinkCounts* counts,
                std::function<void(const UplinkEnd&)> ended);

  // Must be called once. `ended` is called in any case afterwards.
  void Start();
  // Ends the session soon. Hears and says nothing from now on.
  void Stop();
  void Notify();
  void Tick();
  void Greet();
  void AuditDone(const std::string& order_id);
  bool welcomed() const { return welcomed_.load(); }

 private:
  using Response = placement::v1::SessionResponse;
  using Clock = BootClock;

  // The reactions of gRPC.
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  // Makes Work() run soon.
  void WakeLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Processes a received message, and sends the next message that is due.
  void Work();
  // When Work() has something to do that nobody will report. `silent`: nothing can be sent.
  Clock::time_point NextDue(bool silent) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes the next message that is due. Returns false if none is due. The same holds for each
  // method named Make..., which makes one kind of message.
  bool MakeRequest();
  bool MakeHello();
  bool MakeReadiness();
  bool MakeRecordWrite();
  bool MakeReport();
  bool MakeAuditDone();
  bool MakeBeat();
  // Makes the next message another Hello if a node is in standby, because the other tracker of this
  // node may have gone meanwhile (T-14), or an operator may have given the node to this host (T-387).
  void AskForStandby();
  // Each method named Hear... processes one kind of received message.
  void Hear(const Response& response);
  void HearWelcome(const placement::v1::Welcome& welcome);
  void WelcomeNode(const placement::v1::NodeWelcome& told, std::vector<NodeRecord> records,
                   Node* node);
  void HearAck(const placement::v1::Ack& ack);
  void HearReject(const placement::v1::Reject& reject);
  // Notes whether the service is disabled. If it was disabled and now is not, somebody has enabled
  // it, perhaps at the end of a maintenance. Then the tracker says again whether it is ready itself.
  void HearService(bool disabled);
  void HearPush(const Response& response);
  void HearRecordAnswer(const Response& response);
  // Logs the answer to a write that this session has not sent, or that was answered before. The
  // answer is dropped; the records in it count, if it names a node.
  void LogUnmatched(const absl::Status& status);
  // Applies a whole push of `revision` to the node that it is for.
  void Apply(const placement::v1::Push& push, const placement::v1::Revision& revision);
  Node* Find(const std::string& node_uuid) const;
  UplinkEnd Conclude(const grpc::Status& status) const;

  const UplinkOptions& options_;
  const std::vector<Node*>& nodes_;
  const UplinkCallbacks& callbacks_;
  UplinkCounts* const counts_;
  const bool first_;  // placement has welcomed no earlier session of this process
  const Clock::time_point begun_;
  std::function<void(const UplinkEnd&)> on_end_;
  grpc::ClientContext context_;
  const std::unique_ptr<placement::v1::ReportService::Stub> stub_;

  // Only Work() uses these members. gRPC has the messages while they are sent or received.
  placement::v1::SessionRequest request_;
  Response response_;
  std::map<Uuid, const Node*> greeted_;  // the nodes that the last Hello named
  std::set<Uuid> welcomed_nodes_;        // the nodes about which a Welcome was processed
  std::map<const Node*, Clock::time_point> not_before_;  // when a node may send its next report
  std::map<const Node*, absl::Status> refusals_;  // of a node's last report; they are logged once
  std::set<Uuid> withheld_;   // nodes on standby of whose records placement tells nothing; as above
  placement::v1::Push push_;  // the joined slices of a push whose last slice has not come yet
  size_t push_bytes_ = 0;     // the sizes of these slices
  bool service_disabled_ = false;
  int writes_unanswered_ = 0;  // of records
  Clock::time_point next_beat_;
  int64_t beats_ = 0;  // of this session
  std::chrono::milliseconds heartbeat_;
  std::optional<bool> told_ready_;

  std::atomic<bool> welcomed_ = false;

  Mutex mutex_;
  Alarm alarm_ ABSL_GUARDED_BY(mutex_);
  // When a session without a Welcome is ended.
  Clock::time_point patience_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::string> audits_done_ ABSL_GUARDED_BY(mutex_);
  bool greet_again_ ABSL_GUARDED_BY(mutex_) = false;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;    // since the last Work() began
  bool heard_ ABSL_GUARDED_BY(mutex_) = false;    // response_ has a message to be processed
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;  // request_ is being sent, or could not be sent
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;    // the last message has been received
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_UPLINK_SESSION_H_
