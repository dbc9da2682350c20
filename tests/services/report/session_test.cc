// Sessions of trackers over a real ledger, without gRPC: what happens when a stream ends at the wrong
// moment, and when the database does.
#include "services/report/session.h"

#include <cstring>
#include <future>
#include <map>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "placement/values/refusal.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"
#include "tests/services/report/played_tracker.h"

namespace berth::services {
namespace {

using placement::LedgerRunner;
using placement::ProviderId;
using placement::Uuid;

class Measured : public Samples {
 public:
  void Gauge(const std::string& name, const std::string&, double value, const Labels&) override {
    values[name] = value;
  }
  void Counter(const std::string& name, const std::string&, double value, const Labels&) override {
    values[name] = value;
  }
  std::map<std::string, double> values;
};

class ReportSessionTest : public ::testing::Test {
 protected:
  double Attached(const ReportSessions& sessions) {
    Measured measured;
    sessions.Measure(&measured);
    return measured.values["report_streams"];
  }
  // Keeps the only worker busy until the promise is kept.
  void BlockWorker(std::promise<void>* until) {
    std::promise<void> busy;
    ASSERT_TRUE(workers_.Submit([&busy, until] {
      busy.set_value();
      until->get_future().wait();
    }));
    busy.get_future().wait();
  }
  void AwaitWorker() {
    std::promise<void> reached;
    ASSERT_TRUE(workers_.Submit([&reached] { reached.set_value(); }));
    reached.get_future().wait();
  }

  const std::string url_ = placement::NewDatabase();
  LedgerRunner runner_{placement::OptionsFor(url_)};
  Workers workers_{1, 1000};
  const ProviderId node_{Uuid::Random()};
};

// The Welcome of a stream waits for a worker, and placement stops meanwhile: gRPC is done with the
// stream while the worker looks at its Hello.
TEST_F(ReportSessionTest, AStreamThatEndedBeforeItsWelcomeOwnsNothing) {
  std::string incarnation;
  {
    ReportSessions sessions(&runner_.ledger(), &workers_, url_, absl::Seconds(60));
    PlayedTracker tracker(&sessions, "h1", node_);
    incarnation = tracker.incarnation;
    ASSERT_TRUE(tracker.SayHello());
    EXPECT_TRUE(tracker.Next().has_welcome());
  }
  AwaitWorker();
  for (int round = 0; round < 20; ++round) {
    ReportSessions sessions(&runner_.ledger(), &workers_, url_, absl::Seconds(60));
    std::promise<void> go_on;
    BlockWorker(&go_on);
    PlayedTracker tracker(&sessions, "h1", node_);
    tracker.incarnation = incarnation;  // is registered: no commit, so nothing else for the worker
    ASSERT_TRUE(tracker.SayHello());
    ASSERT_TRUE(LedgerRunner::Eventually([this] { return workers_.queue_length() == 1; }));
    std::promise<void> welcomed;
    ASSERT_TRUE(workers_.Submit([&welcomed] { welcomed.set_value(); }));
    sessions.EndAll();
    // From here on nothing orders the two threads but what the session and its registry do.
    std::thread release([&go_on] { go_on.set_value(); });
    tracker.Close();
    release.join();
    welcomed.get_future().wait();
    EXPECT_EQ(Attached(sessions), 0);
    absl::Status audited;
    sessions.Audit(node_, absl::InfiniteFuture(),
                   [&audited](const auto& answer) { audited = answer.status(); });
    EXPECT_EQ(audited.code(), absl::StatusCode::kUnavailable);
  }
}

}  // namespace
}  // namespace berth::services
