// What is read and sent, in which order, and how a stream ends.
#include "services/report/traffic.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "tests/worlds/seed.h"

namespace berth::services {
namespace {

// Fails the test if the Traffic asks for what the owner of a stream cannot do.
class WatchedSink : public ReportSink {
 public:
  void Read(pb::SessionRequest*) override {
    EXPECT_FALSE(is_reading || end);
    is_reading = true;
  }
  void Send(const pb::SessionResponse& message) override {
    EXPECT_FALSE(is_sending || end);
    is_sending = true;
    sent.push_back(static_cast<int>(message.revision().number()));
  }
  void Finish(const absl::Status& status) override {
    EXPECT_FALSE(is_sending || end);
    end = status;
  }

  bool is_reading = false;
  bool is_sending = false;
  std::vector<int> sent;
  std::optional<absl::Status> end;
};

pb::SessionResponse Numbered(int number) {
  pb::SessionResponse message;
  message.mutable_revision()->set_number(number);
  return message;
}

class TrafficTest : public ::testing::Test {
 protected:
  void Sent(bool ok = true) {
    sink_.is_sending = false;
    traffic_.HandleSent(ok);
  }

  WatchedSink sink_;
  Traffic traffic_{&sink_};
};

TEST_F(TrafficTest, MessagesLeaveOneAtATimeInOrder) {
  EXPECT_TRUE(traffic_.is_free());
  for (int i = 1; i <= 3; ++i) traffic_.Send(Numbered(i));
  EXPECT_FALSE(traffic_.is_free());
  EXPECT_EQ(sink_.sent, std::vector<int>{1});
  for (int i = 1; i <= 3; ++i) Sent();
  EXPECT_TRUE(traffic_.is_free());
  EXPECT_EQ(sink_.sent, (std::vector<int>{1, 2, 3}));
}

TEST_F(TrafficTest, NothingIsReadWhileManyMessagesWait) {
  traffic_.Send(Numbered(0));  // is being sent, and does not wait
  for (size_t i = 0; i < 3; ++i) traffic_.Promise();
  for (size_t i = 3; i < Traffic::kOutboxMax; ++i) traffic_.Send(Numbered(1));
  traffic_.ReadNext();
  EXPECT_FALSE(sink_.is_reading);
  traffic_.SendPromised(Numbered(2));  // waits as before
  EXPECT_FALSE(sink_.is_reading);
  Sent();
  EXPECT_TRUE(sink_.is_reading);
}

TEST_F(TrafficTest, TheStreamEndsAfterTheMessageThatIsBeingSent) {
  traffic_.Send(Numbered(1));
  traffic_.Send(Numbered(2));
  traffic_.End(absl::AbortedError("first"));
  traffic_.End(absl::InternalError("second"));
  EXPECT_TRUE(traffic_.ended());
  EXPECT_FALSE(sink_.end);
  Sent();
  ASSERT_TRUE(sink_.end);
  EXPECT_EQ(*sink_.end, absl::AbortedError("first"));
  EXPECT_EQ(sink_.sent, std::vector<int>{1});
  traffic_.CheckClosed();
}

TEST_F(TrafficTest, ATrackerThatHasGoneEndsTheStream) {
  traffic_.Send(Numbered(1));
  traffic_.Send(Numbered(2));
  Sent(false);
  EXPECT_TRUE(traffic_.ended());
  EXPECT_EQ(sink_.end, absl::OkStatus());
}

// The sink watches whether each call may come.
TEST_F(TrafficTest, NoOrderOfCallsOverlapsReadsOrWrites) {
  std::mt19937_64 random(placement::Seed());
  for (int round = 0; round < 200; ++round) {
    WatchedSink sink;
    Traffic traffic(&sink);
    int sent = 0;
    for (int step = 0; step < 60; ++step) {
      const uint64_t choice = random() % 16;
      if (choice < 4) traffic.Send(Numbered(++sent));
      if (choice == 4) {
        traffic.Promise();
        traffic.SendPromised(Numbered(++sent));
      }
      if (choice % 2 == 0 && sink.is_sending) {
        sink.is_sending = false;
        traffic.HandleSent(true);
      }
      if (choice > 9 && !sink.is_reading) traffic.ReadNext();
      if (choice > 12) sink.is_reading = false;  // the message has come
      if (choice == 15 && random() % 4 == 0) traffic.End(absl::OkStatus());
    }
    for (size_t i = 0; i < sink.sent.size(); ++i) EXPECT_EQ(sink.sent[i], static_cast<int>(i) + 1);
  }
}

}  // namespace
}  // namespace berth::services
