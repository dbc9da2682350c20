// What sessions of trackers are told of a command about many hosts.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/services/report/session_fixture.h"

namespace berth::services {
namespace {

using placement::InstanceId;
using placement::LedgerRunner;
using placement::ProviderId;
using placement::Uuid;

// A stream that needs the lock of the sessions whenever it is told something. A real stream's lock
// may be held meanwhile by one that waits for that lock.
class AskingStream : public TrackerStream {
 public:
  AskingStream(ReportSessions* sessions, const std::string& host)
      : sessions_(sessions), key_(host, placement::kTrackerBinary) {}
  const Liveness::Key& key() const override { return key_; }
  Uuid incarnation() const override { return {4, 1}; }
  bool ended() const override { return false; }
  int64_t Touch(const placement::FeedCommand&) override {
    touched_ = Ask();
    return 0;
  }
  void TouchAll() override {}
  void Tick() override {}
  void OrderSnapshot(ProviderId) override {}
  void OrderAudit(const std::string&, ProviderId) override {}
  void End(const absl::Status&) override { ended_ = Ask(); }

  bool was_touched() const { return touched_; }
  bool was_ended() const { return ended_; }

 private:
  // Whether another thread gets the lock of the sessions meanwhile.
  bool Ask() {
    asks_.push_back(std::async(std::launch::async, [this] {
      (void)sessions_->AskForSnapshot("h", ProviderId{Uuid{4, 2}});
    }));
    return asks_.back().wait_for(std::chrono::seconds(10)) == std::future_status::ready;
  }

  ReportSessions* const sessions_;
  const Liveness::Key key_;
  std::atomic<bool> touched_{false};
  std::atomic<bool> ended_{false};
  std::list<std::future<void>> asks_;
};

TEST_F(ReportSessionTest, StreamsAreToldWithoutTheLockOfAll) {
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_);
  const Settled settled(this);
  const auto stream = std::make_shared<AskingStream>(&sessions, "h1");
  sessions.Opened(stream);
  ASSERT_EQ(sessions.Attach(stream, {}), absl::OkStatus());
  placement::ImportLedger import;  // of a service with another process
  placement::ImportedService& service = import.services.emplace_back();
  service.record = 1;
  service.service.host = "h1";
  service.service.binary = std::string(placement::kTrackerBinary);
  service.service.id = Uuid{4, 3};
  runner_.Must(import);
  EXPECT_TRUE(LedgerRunner::Eventually(
      [&] { return sessions.dispatched() == runner_.ledger().Newest()->position().revision; }));
  EXPECT_TRUE(stream->was_touched());
  EXPECT_TRUE(stream->was_ended());
  sessions.Closed(stream);
}

// A command may concern a whole fleet. Nobody looks at all of it for each host.
TEST_F(ReportSessionTest, AHostIsToldOfItsOwnPartOfAnImport) {
  constexpr int kHosts = 6;
  constexpr int kInstances = 20;  // on each host
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_);
  const Settled settled(this);
  std::vector<std::unique_ptr<PlayedTracker>> trackers;
  placement::ImportLedger import;
  for (int host = 0; host < kHosts; ++host) {
    const std::string name = absl::StrCat("h", host);
    trackers.push_back(
        std::make_unique<PlayedTracker>(&sessions, name, ProviderId{Uuid::Random()}));
    ASSERT_TRUE(trackers.back()->Introduce());
    ASSERT_TRUE(trackers.back()->GetsAll());
    for (int i = 0; i < kInstances; ++i) {
      placement::ImportedInstance& record = import.instances.emplace_back();
      record.record = static_cast<int64_t>(import.instances.size());
      const auto first_half = static_cast<uint64_t>(host + 1);
      record.instance.id = InstanceId{Uuid{first_half, static_cast<uint64_t>(i + 1)}};
      record.instance.project = record.instance.user = record.instance.vm_state = "any";
      record.instance.host = name;
    }
  }
  const auto visited = [&] {
    EXPECT_TRUE(LedgerRunner::Eventually(
        [&] { return sessions.dispatched() == runner_.ledger().Newest()->position().revision; }));
    Measured measured;
    sessions.Measure(&measured);
    return measured.values["report_changes_visited_total"];
  };
  const double before = visited();
  runner_.Must(import);
  // Each change is looked at for its host, and once for the services among them.
  const double visits = visited() - before;
  EXPECT_GE(visits, kHosts * kInstances);
  EXPECT_LE(visits, 2 * kHosts * kInstances);
  for (int host = 0; host < kHosts; ++host) {
    EXPECT_TRUE(trackers[host]->AwaitPush([&](const pb::Push& push) {
      if (push.instances_size() == 0) return false;  // one of before
      EXPECT_EQ(push.instances_size(), kInstances);
      EXPECT_EQ(push.removed_instance_uuids_size(), 0);
      for (const pb::Instance& instance : push.instances()) {
        EXPECT_EQ(Uuid::Parse(instance.uuid())->high, static_cast<uint64_t>(host + 1));
      }
      return true;
    }));
    trackers[host]->Close();
  }
}

}  // namespace
}  // namespace berth::services
