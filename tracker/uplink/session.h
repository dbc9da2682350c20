// UplinkSession: one session with placement, from Hello to the end of the stream.
//
// Only Uplink uses it. Run() sends; a second thread receives messages and queues them for Run().
// The other public methods are thread-safe.
#ifndef BERTH_TRACKER_UPLINK_SESSION_H_
#define BERTH_TRACKER_UPLINK_SESSION_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "berth/placement/v1/report.grpc.pb.h"
#include "berth/placement/v1/report.pb.h"
#include "tracker/ground/mutex.h"
#include "tracker/node/node.h"
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

class UplinkSession {
 public:
  // `first`: whether placement has welcomed no earlier session of this process.
  UplinkSession(const UplinkOptions& options, const std::vector<Node*>& nodes,
                const UplinkCallbacks& callbacks, const std::shared_ptr<grpc::Channel>& channel,
                bool first);

  UplinkEnd Run();
  void Notify();
  void Stop();
  void AuditDone(const std::string& order_id);
  // Makes Run() send another Hello.
  void Greet();
  bool welcomed() const { return welcomed_.load(); }
  int64_t heartbeats() const { return heartbeats_.load(); }
  int64_t conflicts() const { return conflicts_.load(); }

 private:
  using Request = placement::v1::SessionRequest;
  using Response = placement::v1::SessionResponse;
  using Clock = std::chrono::steady_clock;

  void Listen();
  void EndListening();
  // Waits until one of these: a message was received, Notify() was called, a heartbeat or a delayed
  // report is due, or the session ends.
  void Wait();
  // Each method named Say... sends one kind of message, if that message is due. They return false
  // if the stream is broken.
  bool Say(const Request& request);
  bool SayHello();
  bool SayRecordWrites();
  bool SayReports();
  bool SayBeat();
  // Sends another Hello if a node is in standby, because the other tracker of this node may have
  // gone meanwhile (T-14).
  bool AskForStandby();
  bool SayReadiness();
  bool SayAudits();
  // Each method named Hear... processes one kind of received message.
  void Hear(const Response& response);
  void HearWelcome(const placement::v1::Welcome& welcome);
  void WelcomeNode(const placement::v1::NodeWelcome& told, std::vector<NodeRecord> records);
  void HearAck(const placement::v1::Ack& ack);
  void HearReject(const placement::v1::Reject& reject);
  void HearPush(const Response& response);
  void HearRecordAnswer(const Response& response);
  // Applies a whole push of `revision` to the node that it is for.
  void Apply(const placement::v1::Push& push, const placement::v1::Revision& revision);
  Node* Find(const std::string& node_uuid) const;
  UplinkEnd Conclude(const grpc::Status& status) const;

  const UplinkOptions& options_;
  const std::vector<Node*>& nodes_;
  const UplinkCallbacks& callbacks_;
  const bool first_;
  grpc::ClientContext context_;
  const std::unique_ptr<placement::v1::ReportService::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<Request, Response>> stream_;

  // Only the thread of Run() uses these members.
  std::set<std::string> greeted_;         // the nodes that the last Hello named
  std::set<std::string> welcomed_nodes_;  // the nodes about which a Welcome was processed
  std::map<std::string, Clock::time_point> not_before_;  // when a node may send its next report
  placement::v1::Push push_;  // the joined slices of a push whose last slice has not come yet
  bool service_disabled_ = false;
  int writes_unanswered_ = 0;  // of records
  Clock::time_point next_beat_;
  std::chrono::milliseconds heartbeat_;
  std::optional<bool> told_ready_;

  std::atomic<bool> welcomed_ = false;
  std::atomic<int64_t> heartbeats_ = 0;
  std::atomic<int64_t> conflicts_ = 0;

  Mutex mutex_;
  CondVar changed_;
  std::deque<Response> heard_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> audits_done_ ABSL_GUARDED_BY(mutex_);
  bool greet_again_ ABSL_GUARDED_BY(mutex_) = false;
  bool notified_ ABSL_GUARDED_BY(mutex_) = true;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;  // the receiver met the end of the stream
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_UPLINK_SESSION_H_
