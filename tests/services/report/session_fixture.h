// What tests of tracker sessions over a real ledger, without gRPC, share.
#ifndef BERTH_TESTS_SERVICES_REPORT_SESSION_FIXTURE_H_
#define BERTH_TESTS_SERVICES_REPORT_SESSION_FIXTURE_H_

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <map>
#include <string>

#include "services/report/session.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"
#include "tests/services/report/played_tracker.h"

namespace berth::services {

class Measured : public Samples {
 public:
  void Histogram(const std::string&, const std::string&, absl::Span<const double>,
                 absl::Span<const uint64_t>, double, const Labels&) override {}
  void Gauge(const std::string& name, const std::string&, double value, const Labels&) override {
    values[name] = value;
  }
  void Counter(const std::string& name, const std::string&, double value, const Labels&) override {
    values[name] = value;
  }
  std::map<std::string, double> values;
};

// Allocates a slot of the node to the instance, as a scheduler does before a claim. REQUIRES: the
// node was reported.
inline void Allocate(placement::LedgerRunner& runner, placement::InstanceId instance,
                     placement::ProviderId node) {
  placement::ConsumerAllocations wanted;
  wanted.consumer = placement::ConsumerId{instance.uuid};
  wanted.project = wanted.user = "any";
  wanted.type = "INSTANCE";
  wanted.allocations = {{node, {{"CUSTOM_SLOT", 1}}}};
  runner.Must(placement::SetAllocations{{wanted}, false});
}

class ReportSessionTest : public ::testing::Test {
 protected:
  // `set` may change the options of the ledger.
  explicit ReportSessionTest(const std::function<void(placement::LedgerOptions*)>& set = nullptr)
      : runner_(OptionsWith(url_, set)) {}

  static placement::LedgerOptions OptionsWith(
      const std::string& url, const std::function<void(placement::LedgerOptions*)>& set) {
    placement::LedgerOptions options = placement::OptionsFor(url);
    if (set) set(&options);
    return options;
  }
  double Attached(const ReportSessions& sessions) {
    Measured measured;
    sessions.Measure(&measured);
    return measured.values["report_streams"];
  }
  // Keeps the only worker busy until the promise is kept.
  void BlockWorker(std::promise<void>* until) {
    std::promise<void> busy;
    const auto wait = [&busy, until] {
      busy.set_value();
      until->get_future().wait();
    };
    ASSERT_TRUE(workers_.Submit({}, wait, [] {}));
    busy.get_future().wait();
  }
  // Waits until the only worker has done all that it was given before.
  void AwaitWorker() {
    placement::LedgerRunner::Eventually([this] { return workers_.queue_length() == 0; });
    std::promise<void> reached;
    ASSERT_TRUE(workers_.Submit(
        {"", placement::Priority::kBulk}, [&reached] { reached.set_value(); }, [] {}));
    reached.get_future().wait();
  }

  // Waits, when it is destroyed, until the ledger has answered all commands and the worker has
  // nothing left to do: both use the sessions, which are declared before this.
  class Settled {
   public:
    explicit Settled(ReportSessionTest* test) : test_(test) {}
    ~Settled() {
      // Commands of different actors have no order, so this look-up comes when none waits.
      placement::LedgerRunner::Eventually(
          [this] { return test_->runner_.ledger().health().queue_length == 0; });
      test_->runner_.Do(placement::FindRequest{"tester", "none"});
      for (int i = 0; i < 3; ++i) test_->AwaitWorker();  // work may submit more work
    }

   private:
    ReportSessionTest* const test_;
  };

  const std::string url_ = placement::NewDatabase();
  placement::LedgerRunner runner_;
  LivenessRecorder recorder_{&runner_.ledger(), url_, absl::Seconds(60)};
  Workers workers_{1, 1000};
  const placement::ProviderId node_{placement::Uuid::Random()};
};

}  // namespace berth::services

#endif  // BERTH_TESTS_SERVICES_REPORT_SESSION_FIXTURE_H_
