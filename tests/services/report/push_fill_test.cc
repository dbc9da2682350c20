// What happens in a session while a worker fills a slice of a push.
#include <atomic>
#include <chrono>
#include <future>

#include "tests/services/report/session_fixture.h"

namespace berth::services {
namespace {

using placement::Uuid;

// The thread that tells all trackers of changes does not wait for the worker.
TEST_F(ReportSessionTest, ChangesAreNotedWhileASliceIsFilled) {
  PlayedTracker* told = nullptr;
  std::future<void> touch;
  bool has_returned = false;
  SessionSettings settings;
  settings.before_fill = [&] {
    if (touch.valid()) return;  // in the first slice only
    touch = std::async(std::launch::async,
                       [&told] { told->session().Touch(placement::FeedCommand()); });
    has_returned = touch.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
  };
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_, settings);
  const Settled settled(this);
  PlayedTracker tracker(&sessions, "h1", node_);
  told = &tracker;
  ASSERT_TRUE(tracker.Introduce());
  ASSERT_TRUE(tracker.GetsAll());
  EXPECT_TRUE(has_returned);
  tracker.Close();
}

// The slice may have values from before the report, and the tracker uses them after the Ack.
TEST_F(ReportSessionTest, AReportWhileASliceIsFilledIsFollowedByACompletePush) {
  std::atomic<bool> stops{false};
  std::atomic<bool> waits{false};
  std::promise<void> go_on;
  SessionSettings settings;
  settings.before_fill = [&] {
    if (!stops.exchange(false)) return;
    waits = true;
    go_on.get_future().wait();
  };
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_, settings);
  const Settled settled(this);
  PlayedTracker tracker(&sessions, "h1", node_);
  ASSERT_TRUE(tracker.SayHello());
  ASSERT_TRUE(tracker.Next().has_welcome());
  ASSERT_TRUE(tracker.SayReport(1, 8, std::nullopt, true));
  const pb::Ack ack = tracker.Next().ack();
  ASSERT_EQ(ack.generations_size(), 1);
  ASSERT_TRUE(tracker.GetsAll());
  stops = true;
  placement::InstanceRecord record;
  record.id = placement::InstanceId{Uuid::Random()};
  record.project = record.user = record.vm_state = "any";
  record.host = "h1";
  runner_.Must(placement::SetInstance{record, std::nullopt});
  EXPECT_TRUE(placement::LedgerRunner::Eventually([&] {
    tracker.GetsAll();  // takes what is sent: the worker fills nothing before
    return waits.load();
  }));
  EXPECT_TRUE(tracker.SayReport(2, 16, ack.generations(0).generation(), false));
  EXPECT_EQ(tracker.Next().ack().sequence(), 2);
  go_on.set_value();
  EXPECT_TRUE(tracker.AwaitPush([](const pb::Push& push) {
    return push.complete() && push.providers_size() == 1 &&
           push.providers(0).inventories().at("CUSTOM_SLOT").total() == 16;
  }));
  tracker.Close();
}

}  // namespace
}  // namespace berth::services
