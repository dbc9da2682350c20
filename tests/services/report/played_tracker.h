// PlayedTracker: the tracker's end of a ReportSession, played by a test without gRPC.
//
// Thread-safe: the session calls it from workers and from the ledger's answering thread.
#ifndef BERTH_TESTS_SERVICES_REPORT_PLAYED_TRACKER_H_
#define BERTH_TESTS_SERVICES_REPORT_PLAYED_TRACKER_H_

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/ground/mutex.h"
#include "placement/ground/uuid.h"
#include "services/report/session.h"
#include "tests/processes/ledger_runner.h"

namespace berth::services {

class PlayedTracker : public ReportSink {
 public:
  PlayedTracker(ReportSessions* sessions, std::string host, placement::ProviderId node,
                const TrackerCertificate& certificate = {})
      : session_(std::make_shared<ReportSession>(sessions, this, certificate)),
        host_(std::move(host)),
        node_(node) {
    session_->Open();
  }
  ~PlayedTracker() override {
    if (!closed_) Close();
  }

  void Read(pb::SessionRequest* to) override {
    placement::MutexLock lock(&mutex_);
    reading_ = to;
  }
  void Send(const pb::SessionResponse& message) override {
    placement::MutexLock lock(&mutex_);
    sent_ = message;
  }
  void Finish(const absl::Status& status) override {
    placement::MutexLock lock(&mutex_);
    end_ = status;
  }

  ReportSession& session() { return *session_; }

  // Sends `request` when the session asks for one; false if the stream ended before.
  bool Say(const pb::SessionRequest& request) {
    pb::SessionRequest* to = nullptr;
    placement::LedgerRunner::Eventually([&] {
      placement::MutexLock lock(&mutex_);
      to = std::exchange(reading_, nullptr);
      return to != nullptr || end_.has_value();
    });
    if (to == nullptr) return false;
    *to = request;
    session_->HandleRead(true);
    return true;
  }
  // Whether the session waits for a message.
  bool IsHeard() {
    placement::MutexLock lock(&mutex_);
    return reading_ != nullptr;
  }
  // With `others`, names as many further nodes, which nobody knows.
  bool SayHello(const std::string& digest = "", int others = 0) {
    pb::SessionRequest request;
    pb::Hello& hello = *request.mutable_hello();
    hello.set_host(host_);
    hello.set_binary("berth-tracker");
    hello.set_incarnation(incarnation);
    hello.set_machine_id("m");
    pb::NodeDigest* const node = hello.add_nodes();
    node->set_node_uuid(node_.ToString());
    node->set_node_name(host_);
    node->set_digest(digest);
    for (int i = 0; i < others; ++i) {
      hello.add_nodes()->set_node_uuid(placement::Uuid::Random().ToString());
    }
    return Say(request);
  }
  // A report of `slots`, based on `base` if there is a generation: a snapshot, or else a delta.
  bool SayReport(int64_t sequence, int64_t slots, std::optional<int64_t> base, bool snapshot) {
    pb::SessionRequest request;
    pb::Report& report = *request.mutable_report();
    report.set_node_uuid(node_.ToString());
    report.set_node_name(host_);
    report.set_sequence(sequence);
    report.set_kind(snapshot ? pb::REPORT_KIND_SNAPSHOT : pb::REPORT_KIND_DELTA);
    report.set_digest(absl::StrCat("digest-", slots));
    report.mutable_audit();
    pb::WantedProvider* const root = report.add_providers();
    root->set_uuid(node_.ToString());
    root->set_name(host_);
    if (base) root->set_base_generation(*base);
    (*root->mutable_inventories())["CUSTOM_SLOT"].set_total(slots);
    return Say(request);
  }
  // Says Hello. Returns whether placement welcomed the tracker.
  bool IsWelcomed() { return SayHello() && Next().has_welcome(); }
  // Says Hello and sends a first snapshot. Returns whether placement welcomed the tracker and
  // applied the snapshot.
  bool Introduce() {
    return IsWelcomed() && SayReport(1, 8, std::nullopt, true) && Next().ack().sequence() == 1;
  }

  // The next message that is no push; an empty one if the stream ends, or nothing comes for 30 s.
  pb::SessionResponse Next() {
    pb::SessionResponse message;
    placement::LedgerRunner::Eventually([&] {
      std::optional<pb::SessionResponse> sent;
      {
        placement::MutexLock lock(&mutex_);
        sent = std::exchange(sent_, std::nullopt);
        if (!sent && end_) return true;
      }
      if (!sent) return false;
      session_->HandleSent(true);
      if (sent->has_push()) {
        pushed_whole_ |= sent->push().complete();
      } else {
        message = *std::move(sent);
      }
      return !message.ShortDebugString().empty();
    });
    return message;
  }
  // Waits until a message is on its way of which `wanted` is true; false after 30 s.
  bool Sends(const std::function<bool(const pb::SessionResponse&)>& wanted) {
    return placement::LedgerRunner::Eventually([&] {
      placement::MutexLock lock(&mutex_);
      return sent_ && wanted(*sent_);
    });
  }
  // The next message of any kind; an empty one after 30 s.
  pb::SessionResponse Any() {
    std::optional<pb::SessionResponse> sent;
    placement::LedgerRunner::Eventually([&] {
      placement::MutexLock lock(&mutex_);
      sent = std::exchange(sent_, std::nullopt);
      return sent.has_value();
    });
    if (sent) session_->HandleSent(true);
    return sent.value_or(pb::SessionResponse());
  }
  // Whether the tracker gets a push of its whole node within 30 s, or got one already.
  bool GetsAll() {
    return placement::LedgerRunner::Eventually([this] {
      Drain();
      return pushed_whole_;
    });
  }
  // Whether the tracker has got a push of its whole node.
  bool got_all() const { return pushed_whole_; }
  // Whether a push comes within 30 s of which `wanted` is true. Other messages are dropped.
  bool AwaitPush(const std::function<bool(const pb::Push&)>& wanted) {
    return placement::LedgerRunner::Eventually([&] {
      std::optional<pb::SessionResponse> sent;
      {
        placement::MutexLock lock(&mutex_);
        sent = std::exchange(sent_, std::nullopt);
      }
      if (!sent) return false;
      session_->HandleSent(true);
      return sent->has_push() && wanted(sent->push());
    });
  }
  // How the session ended the stream; nothing if it has not after 30 s.
  std::optional<absl::Status> End() {
    std::optional<absl::Status> end;
    placement::LedgerRunner::Eventually([&] {
      Drain();
      placement::MutexLock lock(&mutex_);
      end = end_;
      return end.has_value();
    });
    return end;
  }
  bool ended() {
    placement::MutexLock lock(&mutex_);
    return end_.has_value();
  }
  // The tracker goes: the session ends the stream, and nobody uses the stream any more.
  void Close() {
    session_->End(absl::CancelledError());
    EXPECT_TRUE(End().has_value());
    closed_ = true;
    session_->Closed();
  }

  std::string incarnation = placement::Uuid::Random().ToString();

 private:
  void Drain() {
    std::optional<pb::SessionResponse> sent;
    {
      placement::MutexLock lock(&mutex_);
      sent = std::exchange(sent_, std::nullopt);
    }
    if (!sent) return;
    pushed_whole_ |= sent->push().complete();
    session_->HandleSent(true);
  }

  const std::shared_ptr<ReportSession> session_;
  const std::string host_;
  const placement::ProviderId node_;
  bool closed_ = false;
  bool pushed_whole_ = false;
  placement::Mutex mutex_;
  pb::SessionRequest* reading_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::optional<pb::SessionResponse> sent_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::services

#endif  // BERTH_TESTS_SERVICES_REPORT_PLAYED_TRACKER_H_
