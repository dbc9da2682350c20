#include "services/watch/watcher.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "placement/log/feed.h"
#include "placement/values/refusal.h"

namespace berth::services {
namespace {

using placement::Revision;

// Holds what is sent until the test lets it go.
class HeldSink : public WatchSink {
 public:
  void Send(const WatchMessage& message) override {
    EXPECT_FALSE(in_flight);  // one at a time
    in_flight = true;
    sent.emplace_back();
    EXPECT_TRUE(sent.back().ParseFromString(*message));
  }
  void Finish(const absl::Status& status) override {
    EXPECT_FALSE(end.has_value());
    end = status;
  }

  bool in_flight = false;
  std::vector<pb::WatchResponse> sent;
  std::optional<absl::Status> end;
};

class WatcherTest : public ::testing::Test {
 protected:
  // A revision that brings a class of a name as long as this.
  static ToldRevisionPtr Told(int64_t number, size_t name_length = 10) {
    placement::Position position;
    position.revision = {1, number};
    const placement::Changes changes = {
        placement::ClassPut{placement::ClassId{1}, std::string(name_length, 'A')}};
    const auto batch = placement::FeedBatchOf(
        position, {{"", "", std::make_shared<const placement::Changes>(changes), "", nullptr}});
    return *ToldRevision::Of(*batch, Names());
  }

  void Begin(int64_t number) {
    watcher_.Begin(WatchFilter(), {1, number}, nullptr);
    EXPECT_FALSE(watcher_.IsHungry());  // what it begins with may not be there yet
    watcher_.Start();
    watcher_.SetLive(true);
  }
  void LetGo() {
    sink_.in_flight = false;
    watcher_.Sent(true);
  }

  HeldSink sink_;
  WatchLimits limits_{.messages_max = 3, .bytes_max = 1000};
  Watcher watcher_{&sink_, limits_};
};

TEST_F(WatcherTest, TellsEachRevisionOnceAndInOrder) {
  Begin(5);
  for (const int64_t number : {5, 6, 6, 7}) watcher_.Tell(*Told(number));
  ASSERT_EQ(sink_.sent.size(), 1U);
  LetGo();
  LetGo();
  ASSERT_EQ(sink_.sent.size(), 2U);
  EXPECT_EQ(sink_.sent[0].revision().number(), 6);
  EXPECT_TRUE(sink_.sent[0].complete());
  EXPECT_EQ(sink_.sent[1].revision().number(), 7);
  EXPECT_EQ(watcher_.position(), (Revision{1, 7}));
}

TEST_F(WatcherTest, WhoDoesNotReadIsCutOff) {
  Begin(0);
  for (int64_t number = 1; number <= 4; ++number) watcher_.Tell(*Told(number));
  EXPECT_FALSE(sink_.end.has_value());  // one on its way, three that wait
  watcher_.Tell(*Told(5));
  ASSERT_TRUE(sink_.end.has_value());
  EXPECT_EQ(sink_.end->code(), absl::StatusCode::kAborted);
  EXPECT_EQ(placement::RefusalOf(*sink_.end)->reason, "WATCHER_TOO_SLOW");
  LetGo();
  EXPECT_EQ(sink_.sent.size(), 1U);  // what waited is gone
  watcher_.Tell(*Told(6));
  EXPECT_EQ(sink_.sent.size(), 1U);
}

TEST_F(WatcherTest, ALargeRevisionIsToldToWhoWaitsForIt) {
  Begin(0);
  watcher_.Tell(*Told(1, 5000));
  EXPECT_FALSE(sink_.end.has_value());
  LetGo();
  watcher_.Tell(*Told(2));
  watcher_.Tell(*Told(3));
  watcher_.Tell(*Told(4, 5000));  // too much besides what waits
  EXPECT_TRUE(sink_.end.has_value());
}

TEST_F(WatcherTest, SaysThatNothingHappensAndNoticesWhoIsStuck) {
  Begin(5);
  const placement::BootTime now = placement::BootNow();
  watcher_.Beat({1, 8}, now + absl::Seconds(1));
  EXPECT_TRUE(sink_.sent.empty());
  watcher_.Beat({1, 8}, now + absl::Seconds(5));
  ASSERT_EQ(sink_.sent.size(), 1U);
  EXPECT_EQ(sink_.sent[0].revision().number(), 8);
  EXPECT_TRUE(sink_.sent[0].complete());
  watcher_.Tell(*Told(8));  // it has been told that nothing of 8 is for it
  watcher_.Beat({1, 9}, now + absl::Seconds(60));
  ASSERT_TRUE(sink_.end.has_value());
  EXPECT_EQ(placement::RefusalOf(*sink_.end)->reason, "WATCHER_TOO_SLOW");
}

// Whoever tells it what it asks for looks whether there is room.
TEST_F(WatcherTest, WhoIsBroughtUpIsNotCutOff) {
  watcher_.Begin(WatchFilter(), {1, 0}, nullptr);
  watcher_.Start();
  int64_t number = 0;
  while (watcher_.HasRoom() && number < 100) watcher_.Tell(*Told(++number, 5000));
  EXPECT_EQ(number, 2);  // one on its way, one that waits
  EXPECT_FALSE(watcher_.IsHungry());
  watcher_.Tell(*Told(++number, 5000));
  LetGo();
  LetGo();
  LetGo();
  EXPECT_FALSE(sink_.end.has_value());
  EXPECT_EQ(sink_.sent.size(), 3U);
  EXPECT_TRUE(watcher_.IsHungry());
}

// Only what it has been told itself: the others may be ahead.
TEST_F(WatcherTest, WhoIsBroughtUpHearsHowFarItIs) {
  watcher_.Begin(WatchFilter(), {1, 5}, nullptr);
  watcher_.Beat({1, 8}, placement::BootNow() + absl::Seconds(4));
  EXPECT_TRUE(sink_.sent.empty());  // what it begins with may not be there
  watcher_.Start();
  watcher_.Beat({1, 8}, placement::BootNow() + absl::Seconds(4));
  ASSERT_EQ(sink_.sent.size(), 1U);
  EXPECT_EQ(sink_.sent[0].revision().number(), 5);
  EXPECT_TRUE(sink_.sent[0].complete());
}

TEST_F(WatcherTest, WhoBeginsNowIsToldWhere) {
  watcher_.Begin(WatchFilter(), {1, 5}, nullptr);
  watcher_.SayWhere();
  watcher_.Start();
  ASSERT_EQ(sink_.sent.size(), 1U);
  EXPECT_EQ(sink_.sent[0].revision().number(), 5);
  EXPECT_TRUE(sink_.sent[0].complete());
}

TEST_F(WatcherTest, ASnapshotHasItsTime) {
  auto state = std::make_shared<placement::State>();
  placement::Changes changes;
  for (uint32_t id = 1; id <= 3000; ++id) {
    changes.push_back(placement::ClassPut{placement::ClassId{id},
                                          absl::StrCat("CUSTOM_", std::string(200, 'N'), id)});
  }
  state->Apply(changes);
  watcher_.Begin(WatchFilter(), {1, 5}, std::make_unique<WatchSnapshot>(state, WatchFilter()));
  watcher_.Start();
  EXPECT_TRUE(watcher_.TellSnapshot());
  LetGo();
  const placement::BootTime begun = placement::BootNow();
  watcher_.Beat({1, 8}, begun + absl::Minutes(4));
  ASSERT_EQ(sink_.sent.size(), 1U);  // an empty message would end it
  EXPECT_FALSE(sink_.sent[0].complete());
  EXPECT_FALSE(sink_.end.has_value());
  watcher_.Beat({1, 8}, begun + absl::Minutes(6));
  ASSERT_TRUE(sink_.end.has_value());
  EXPECT_EQ(placement::RefusalOf(*sink_.end)->reason, "WATCHER_TOO_SLOW");
}

TEST_F(WatcherTest, EndsOnce) {
  Begin(5);
  watcher_.End(absl::CancelledError());
  watcher_.End(absl::InternalError(""));
  EXPECT_EQ(sink_.end->code(), absl::StatusCode::kCancelled);
  EXPECT_FALSE(watcher_.IsHungry());
}

}  // namespace
}  // namespace berth::services
