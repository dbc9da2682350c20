// One session with placement, from Hello to its end. For uplink*.cc only.
//
// Run() speaks; a second thread listens and leaves what it hears for Run(). Everything else may be
// called from any thread.
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
  bool welcomed = false;
  bool lasted = false;  // for a heartbeat at least
  bool fenced = false;
  bool deleted = false;
};

class UplinkSession {
 public:
  // `first`: no session of this process has begun well yet.
  UplinkSession(const UplinkOptions& options, const std::vector<Node*>& nodes,
                const UplinkCallbacks& callbacks, const std::shared_ptr<grpc::Channel>& channel,
                bool first);

  UplinkEnd Run();
  void Notify();
  void Stop();
  void AuditDone(const std::string& order_id);
  // Says Hello once more.
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
  // Waits until something is to be done: heard, notified, a beat due, or the end.
  void Wait();
  // False when the stream is broken.
  bool Say(const Request& request);
  bool SayHello();
  bool SayReports();
  bool SayBeat();
  // Asks anew what becomes of nodes that another tracker had (T-14).
  bool AskForStandby();
  bool SayReadiness();
  bool SayAudits();
  void Hear(const Response& response);
  void HearWelcome(const placement::v1::Welcome& welcome);
  void WelcomeNode(const placement::v1::NodeWelcome& told, std::vector<NodeRecord> records);
  void HearAck(const placement::v1::Ack& ack);
  void HearReject(const placement::v1::Reject& reject);
  void HearPush(const Response& response);
  Node* Find(const std::string& node_uuid) const;
  UplinkEnd Conclude(const grpc::Status& status) const;

  const UplinkOptions& options_;
  const std::vector<Node*>& nodes_;
  const UplinkCallbacks& callbacks_;
  const bool first_;
  grpc::ClientContext context_;
  const std::unique_ptr<placement::v1::ReportService::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<Request, Response>> stream_;

  // Used by Run()'s thread only.
  std::set<std::string> greeted_;  // nodes that a Hello has named
  std::set<std::string> welcomed_nodes_;
  std::map<std::string, Clock::time_point> not_before_;
  bool service_disabled_ = false;
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
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;  // the listener heard the end
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_UPLINK_SESSION_H_
