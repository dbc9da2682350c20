// A stream that ends in the middle of a revision, in every way: no reader of a mirror, and none of
// the host views that follow it, sees half of the revision.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "services/client/cpp/hosts.h"
#include "services/client/cpp/mirror.h"
#include "tests/fault/await.h"
#include "tests/services/client/played_watch.h"

namespace berth::client {
namespace {

constexpr absl::Duration kEndMax = absl::Seconds(30);  // bounds a failure alone
constexpr int64_t kFirst = 5;
constexpr int64_t kSecond = 6;

using Writer = grpc::ServerWriter<pb::WatchResponse>;

void AddNode(const std::string& uuid, const std::string& name, pb::WatchResponse* message) {
  pb::Node& node = *message->add_changes()->mutable_present()->mutable_node();
  node.set_uuid(uuid);
  node.set_host("h");
  node.set_name(name);
}

// A message of the revision: two nodes, whose names say when they were changed, come one by one.
pb::WatchResponse HalfOf(int64_t number, bool snapshot, const std::string& node) {
  pb::WatchResponse message = PlayedWatch::Complete(number, snapshot);
  message.set_complete(false);
  AddNode(node, absl::StrCat(node, " of ", number), &message);
  return message;
}

// The first half of a revision; and the second one, which completes it.
void BeginRevision(int64_t number, bool snapshot, Writer* writer) {
  pb::WatchResponse message = HalfOf(number, snapshot, "n1");
  if (snapshot) {
    pb::Service& service = *message.add_changes()->mutable_present()->mutable_service();
    service.set_uuid("s");
    service.set_host("h");
    service.set_binary("berth-tracker");
  }
  writer->Write(message);
}
void CompleteRevision(int64_t number, bool snapshot, Writer* writer) {
  pb::WatchResponse message = HalfOf(number, snapshot, "n2");
  message.set_complete(true);
  writer->Write(message);
}

std::string Whole(int64_t number) {
  return absl::StrCat(number, ": n1 of ", number, ", n2 of ", number);
}

// A mirror, the host views that follow it, and a reader that looks at both all the time.
class Watched {
 public:
  explicit Watched(const PlayedWatch& server)
      : mirror_(server.endpoints(), {}, Listener()), reader_([this] { Look(); }) {}
  ~Watched() {
    ending_ = true;
    reader_.join();
    EXPECT_GT(looks_, 0);
  }

  Mirror& mirror() { return mirror_; }
  std::string InMirror() const {
    const auto view = mirror_.view();
    if (view == nullptr) return "nothing";
    const auto first = view->nodes.Find("n1"), second = view->nodes.Find("n2");
    return absl::StrCat(view->revision.number(), ": ", first ? first->name() : "none", ", ",
                        second ? second->name() : "none");
  }
  std::string InHosts() const {
    const Hosts::Views views = hosts_.ViewsOf({"n1", "n2"});
    if (views.revision.epoch() == 0) return "nothing";
    std::string text = absl::StrCat(views.revision.number(), ":");
    for (const auto& host : views.hosts) {
      absl::StrAppend(&text, host == views.hosts[0] ? " " : ", ", host->node->name());
    }
    return text;
  }
  // Waits until a stream has ended, and all that it said was heard. Returns why it has ended.
  Failure AwaitEnd() {
    ended_.WaitForNotificationWithTimeout(kEndMax);
    return ended_.HasBeenNotified() ? failure_ : Failure();
  }

 private:
  MirrorListener Listener() {
    MirrorListener listener;
    listener.changed = [this](const ViewChange& change) { hosts_.Follow(change); };
    listener.interrupted = [this](const Failure& failure) {
      if (ended_.HasBeenNotified()) return;
      failure_ = failure;
      ended_.Notify();
    };
    return listener;
  }
  // Until it is told to end, or sees half of something.
  void Look() {
    bool whole = true;
    while (whole && !ending_) {
      for (const std::string& seen : {InMirror(), InHosts()}) {
        whole = whole && (seen == "nothing" || seen == Whole(kFirst) || seen == Whole(kSecond));
        EXPECT_TRUE(whole) << seen;
      }
      ++looks_;
    }
  }

  Hosts hosts_;
  Failure failure_;
  absl::Notification ended_;
  std::atomic<bool> ending_{false};
  std::atomic<int64_t> looks_{0};
  Mirror mirror_;       // its thread uses the rest
  std::thread reader_;  // uses the mirror
};

struct End {
  std::string name;
  std::function<grpc::Status()> status;
  absl::StatusCode code;
  std::string reason;
};

grpc::Status WithReason(grpc::StatusCode code, const std::string& reason) {
  google::rpc::ErrorInfo info;
  info.set_domain("berth.placement");
  info.set_reason(reason);
  google::rpc::Status details;
  details.add_details()->PackFrom(info);
  return {code, "said so", details.SerializeAsString()};
}

std::vector<End> AllEnds() {
  const auto with = [](grpc::StatusCode code, const std::string& reason) {
    return End{reason, [=] { return WithReason(code, reason); },
               static_cast<absl::StatusCode>(code), reason};
  };
  return {
      {"as if all were said", [] { return grpc::Status::OK; }, absl::StatusCode::kOk, ""},
      {"without a reason", [] { return grpc::Status(grpc::StatusCode::INTERNAL, "?"); },
       absl::StatusCode::kInternal, ""},
      with(grpc::StatusCode::UNAVAILABLE, "NOT_SERVING"),
      with(grpc::StatusCode::RESOURCE_EXHAUSTED, "WATCHER_TOO_SLOW"),
      with(grpc::StatusCode::ABORTED, "REASON_OF_TOMORROW"),
  };
}

TEST(HalfRevisionTest, NobodySeesHalfOfAStreamThatEnded) {
  for (const End& end : AllEnds()) {
    SCOPED_TRACE(end.name);
    absl::Notification go_on;
    PlayedWatch server({
        [&](const auto& request, auto* /*context*/, auto* writer) {
          EXPECT_TRUE(request.has_snapshot());
          BeginRevision(kFirst, true, writer);
          CompleteRevision(kFirst, true, writer);
          BeginRevision(kSecond, false, writer);
          return end.status();
        },
        [&](const auto& request, auto* context, auto* writer) {
          EXPECT_EQ(request.after_revision().number(), kFirst);
          go_on.WaitForNotification();
          BeginRevision(kSecond, false, writer);
          CompleteRevision(kSecond, false, writer);
          return PlayedWatch::Silence(context);
        },
    });
    Watched watched(server);
    const Failure failure = watched.AwaitEnd();
    EXPECT_EQ(failure.code, end.code);
    EXPECT_EQ(failure.reason, end.reason);
    EXPECT_EQ(watched.InMirror(), Whole(kFirst));
    EXPECT_EQ(watched.InHosts(), Whole(kFirst));
    EXPECT_EQ(watched.mirror().Await(At(kSecond), absl::Milliseconds(1)), nullptr);
    EXPECT_FALSE(watched.mirror().status().following);
    go_on.Notify();
    ASSERT_NE(watched.mirror().Await(At(kSecond), kEndMax), nullptr);
    EXPECT_EQ(watched.InMirror(), Whole(kSecond));
    EXPECT_EQ(watched.InHosts(), Whole(kSecond));
    EXPECT_EQ(watched.mirror().status().begun_anew, 0);
  }
}

TEST(HalfRevisionTest, NobodySeesHalfOfASnapshot) {
  absl::Notification go_on;
  PlayedWatch server({
      [](const auto& /*request*/, auto* /*context*/, auto* writer) {
        BeginRevision(kFirst, true, writer);
        return WithReason(grpc::StatusCode::UNAVAILABLE, "NOT_SERVING");
      },
      [&](const auto& request, auto* context, auto* writer) {
        EXPECT_TRUE(request.has_snapshot());
        go_on.WaitForNotification();
        BeginRevision(kSecond, true, writer);
        CompleteRevision(kSecond, true, writer);
        return PlayedWatch::Silence(context);
      },
  });
  Watched watched(server);
  EXPECT_EQ(watched.AwaitEnd().reason, "NOT_SERVING");
  EXPECT_EQ(watched.InMirror(), "nothing");
  EXPECT_EQ(watched.InHosts(), "nothing");
  go_on.Notify();
  EXPECT_NE(watched.mirror().Await(At(kSecond), kEndMax), nullptr);
  EXPECT_EQ(watched.InMirror(), Whole(kSecond));
  EXPECT_EQ(watched.InHosts(), Whole(kSecond));
  EXPECT_EQ(watched.mirror().status().begun_anew, 1);
}

// The view is whole, and grows old.
TEST(HalfRevisionTest, AServerThatGoesAwayLeavesTheLastWholeView) {
  absl::Notification begun;
  auto server = std::make_unique<PlayedWatch>(
      std::vector<PlayedWatch::Part>{[&](const auto& /*request*/, auto* context, auto* writer) {
        BeginRevision(kFirst, true, writer);
        CompleteRevision(kFirst, true, writer);
        BeginRevision(kSecond, false, writer);
        begun.Notify();
        return PlayedWatch::Silence(context);
      }});
  Watched watched(*server);
  begun.WaitForNotification();
  ASSERT_NE(watched.mirror().Await(At(kFirst), kEndMax), nullptr);
  server.reset();
  EXPECT_NE(watched.AwaitEnd().code, absl::StatusCode::kOk);
  // Nobody is there, so the next stream says no more.
  EXPECT_TRUE(fault::AwaitWithin(kEndMax, [&] { return watched.mirror().status().streams > 1; }));
  EXPECT_TRUE(fault::AwaitWithin(kEndMax, [&] {
    const Mirror::Status status = watched.mirror().status();
    return status.failure.code == absl::StatusCode::kUnavailable && !status.following;
  }));
  EXPECT_EQ(watched.InMirror(), Whole(kFirst));
  EXPECT_EQ(watched.InHosts(), Whole(kFirst));
  EXPECT_EQ(watched.mirror().status().begun_anew, 0);
  const absl::Duration age = watched.mirror().status().age;
  EXPECT_TRUE(fault::AwaitWithin(kEndMax, [&] { return watched.mirror().status().age > age; }));
}

}  // namespace
}  // namespace berth::client
