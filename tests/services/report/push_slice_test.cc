// Pushes of more bytes than one message may have.
#include "services/report/push_slice.h"

#include <future>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "services/report/session.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"
#include "tests/services/report/played_tracker.h"

namespace berth::services {
namespace {

using placement::InstanceId;
using placement::LedgerRunner;
using placement::ProviderId;
using placement::Uuid;

constexpr int kGuests = 60;
constexpr size_t kGuestBytes = 60 << 10;  // together about three and a half slices

// A node with records of 60 instances.
class PushSliceTest : public ::testing::Test {
 protected:
  PushSliceTest() {
    pb::Instance body;
    body.mutable_fault()->set_message(std::string(kGuestBytes, 'x'));
    placement::InstanceRecord record;
    record.project = record.user = record.vm_state = "any";
    record.host = "h1";
    record.body = body.SerializeAsString();
    for (uint64_t number = 1; number <= kGuests; ++number) {
      record.id = GuestOf(number);
      runner_.Must(placement::SetInstance{record, std::nullopt});
    }
  }

  // Waits until the ledger and the worker no longer use the sessions.
  ~PushSliceTest() override {
    // Commands, and work, of different owners have no order.
    placement::LedgerRunner::Eventually(
        [this] { return runner_.ledger().health().queue_length == 0; });
    runner_.Do(placement::FindRequest{"tester", "none"});
    for (int i = 0; i < 3; ++i) {  // work may submit more work
      placement::LedgerRunner::Eventually([this] { return workers_.queue_length() == 0; });
      std::promise<void> reached;
      EXPECT_TRUE(workers_.Submit(
          {"", placement::Priority::kBulk}, [&reached] { reached.set_value(); }, [] {}));
      reached.get_future().wait();
    }
  }

  static InstanceId GuestOf(uint64_t number) { return InstanceId{Uuid{11, number}}; }

  // Makes the node known to placement, and returns the generation of its root provider.
  int64_t Report(PlayedTracker* tracker) {
    EXPECT_TRUE(tracker->SayReport(1, 8, std::nullopt, true));
    const pb::Ack ack = tracker->Next().ack();
    EXPECT_EQ(ack.generations_size(), 1);
    return ack.generations_size() == 0 ? 0 : ack.generations(0).generation();
  }
  // Waits for the first slice of a complete push.
  static pb::Push FirstSlice(PlayedTracker* tracker) {
    pb::Push first;
    EXPECT_TRUE(tracker->AwaitPush([&first](const pb::Push& slice) {
      first = slice;
      return slice.complete();
    }));
    EXPECT_TRUE(first.more());
    return first;
  }
  // Waits for the other slices of the push; returns how many.
  static int OtherSlices(PlayedTracker* tracker, pb::Push* joined) {
    int slices = 0;
    EXPECT_TRUE(tracker->AwaitPush([&](const pb::Push& slice) {
      EXPECT_TRUE(slice.complete());
      EXPECT_LE(slice.ByteSizeLong(), kSliceBytesMax + 100);
      joined->MergeFrom(slice);
      ++slices;
      return !slice.more();
    }));
    return slices;
  }

  const std::string url_ = placement::NewDatabase();
  LedgerRunner runner_{placement::OptionsFor(url_)};
  LivenessRecorder recorder_{&runner_.ledger(), url_, absl::Seconds(60)};
  Workers workers_{1, 1000};
  ReportSessions sessions_{&runner_.ledger(), &workers_, &recorder_};
  const ProviderId node_{Uuid::Random()};
};

TEST_F(PushSliceTest, TheSlicesTogetherHoldAllAndTheNextPushWhatChangedMeanwhile) {
  PlayedTracker tracker(&sessions_, "h1", node_);
  ASSERT_TRUE(tracker.SayHello());
  ASSERT_TRUE(tracker.Next().has_welcome());
  Report(&tracker);
  pb::Push joined = FirstSlice(&tracker);
  EXPECT_LE(joined.ByteSizeLong(), kSliceBytesMax + 100);
  // The first slice contains guest 1, and a later one would contain the last guest.
  for (const uint64_t number : {1, kGuests}) {
    const auto record = runner_.ledger().Newest()->records().FindInstance(GuestOf(number));
    runner_.Must(placement::DeleteInstance{record->id, record->generation});
  }
  EXPECT_EQ(OtherSlices(&tracker, &joined), 3);
  std::set<std::string> uuids;
  for (const auto& instance : joined.instances()) uuids.insert(instance.uuid());
  EXPECT_EQ(static_cast<int>(uuids.size()), joined.instances_size());  // none twice
  EXPECT_EQ(joined.instances_size(), kGuests - 1);
  EXPECT_EQ(joined.removed_instance_uuids_size(), 0);
  EXPECT_EQ(joined.providers_size(), 1);
  EXPECT_TRUE(tracker.AwaitPush([](const pb::Push& push) {
    EXPECT_FALSE(push.complete());
    for (const auto& uuid : push.removed_instance_uuids()) {
      if (uuid == GuestOf(1).ToString()) return true;
    }
    return false;
  }));
  tracker.Close();
}

// The tracker takes in the first slice, which has the providers, after the Ack.
TEST_F(PushSliceTest, AReportBetweenSlicesIsFollowedByAnotherCompletePush) {
  int64_t generation = 0;
  {
    PlayedTracker before(&sessions_, "h1", node_);
    ASSERT_TRUE(before.SayHello());
    ASSERT_TRUE(before.Next().has_welcome());
    generation = Report(&before);
  }
  PlayedTracker tracker(&sessions_, "h1", node_);
  ASSERT_TRUE(tracker.SayHello());
  pb::Push joined = FirstSlice(&tracker);
  ASSERT_TRUE(tracker.SayReport(1, 16, generation, true));
  pb::SessionRequest heartbeat;
  heartbeat.mutable_heartbeat()->set_count(1);
  ASSERT_TRUE(tracker.Say(heartbeat));  // is read when the report is settled
  EXPECT_EQ(OtherSlices(&tracker, &joined), 3);
  EXPECT_EQ(joined.providers(0).inventories().at("CUSTOM_SLOT").total(), 8);
  joined = FirstSlice(&tracker);
  EXPECT_EQ(joined.providers(0).inventories().at("CUSTOM_SLOT").total(), 16);
  tracker.Close();
}

}  // namespace
}  // namespace berth::services
