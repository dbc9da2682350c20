// The feed may be given to the streams late: a stream is judged by the newest record of its service.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>

#include "services/report/sessions.h"
#include "tests/services/report/session_fixture.h"

namespace berth::services {
namespace {

using placement::ProviderId;
using placement::RegisterService;
using placement::Uuid;

RegisterService ServiceOn(const std::string& host, uint64_t process,
                          const std::string& version = "") {
  return {host,
          std::string(placement::kTrackerBinary),
          Uuid{4, process},
          "machine of " + host,
          version,
          Uuid{5, process}};
}

class HeldStream : public TrackerStream {
 public:
  HeldStream(const std::string& host, uint64_t process)
      : key_(host, placement::kTrackerBinary), process_{4, process} {}
  const Liveness::Key& key() const override { return key_; }
  Uuid incarnation() const override { return process_; }
  bool ended() const override { return ended_; }
  int64_t Touch(const placement::FeedCommand&) override {
    if (hold_.exchange(false)) {
      touched_.set_value();
      released_.get_future().wait();
    }
    return 0;
  }
  void TouchAll() override {}
  void Tick() override {}
  void OrderSnapshot(ProviderId) override {}
  void OrderAudit(const std::string&, ProviderId) override {}
  void End(const absl::Status&) override { ended_ = true; }

  // Makes the next call of Touch wait for Release.
  void HoldNext() { hold_ = true; }
  void AwaitTouch() { touched_.get_future().wait(); }
  void Release() { released_.set_value(); }

 private:
  const Liveness::Key key_;
  const Uuid process_;
  std::atomic<bool> ended_{false}, hold_{false};
  std::promise<void> touched_, released_;
};

TEST_F(ReportSessionTest, AnOldRegistrationDoesNotEndTheStreamOfANewerProcess) {
  Workers workers(2, 1000);
  ReportSessions sessions(&runner_.ledger(), &workers, &recorder_);
  const auto open = [&](const std::string& host, uint64_t process) {
    runner_.Must(ServiceOn(host, process));
    auto stream = std::make_shared<HeldStream>(host, process);
    sessions.Opened(stream);
    EXPECT_EQ(sessions.Attach(stream, {}), absl::OkStatus());
    return stream;
  };
  const auto dispatched = [&] {
    return sessions.dispatched() == runner_.ledger().Newest()->position().revision;
  };
  const auto slow = open("slow", 1);
  const auto fenced = open("other", 2);
  placement::LedgerRunner::Eventually(dispatched);
  slow->HoldNext();
  runner_.Must(ServiceOn("slow", 1, "2.0"));
  slow->AwaitTouch();
  runner_.Must(ServiceOn("host", 3));
  const auto newer = open("host", 4);
  runner_.Must(ServiceOn("other", 5));
  slow->Release();
  placement::LedgerRunner::Eventually(dispatched);
  EXPECT_FALSE(newer->ended());
  EXPECT_TRUE(fenced->ended());
  for (const auto& stream : {slow, fenced, newer}) sessions.Closed(stream);
}

}  // namespace
}  // namespace berth::services
