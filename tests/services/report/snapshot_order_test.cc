// When the nodes of a tracker may send their snapshots.
#include <gtest/gtest.h>

#include <list>
#include <optional>

#include "absl/strings/str_cat.h"
#include "tests/services/report/session_fixture.h"

namespace berth::services {
namespace {

using placement::ProviderId;
using placement::Uuid;

// The node's host is down. The node's new tracker has to wait with the snapshot, because other
// trackers are sending as many snapshots as may be sent at a time.
TEST_F(ReportSessionTest, ANodeThatIsTakenOverIsToldWhenItsSnapshotMayCome) {  // T-230
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_);
  const Settled settled(this);
  int64_t generation = 0;
  {
    PlayedTracker first(&sessions, "h1", node_);
    ASSERT_TRUE(first.SayHello());
    ASSERT_TRUE(first.Next().has_welcome());
    ASSERT_TRUE(first.SayReport(1, 8, std::nullopt, true));
    const pb::Ack ack = first.Next().ack();
    ASSERT_EQ(ack.generations_size(), 1);
    generation = ack.generations(0).generation();
  }
  runner_.Must(placement::UpdateService{"h1", "berth-tracker", std::nullopt, "", true});
  std::list<PlayedTracker> crowd;
  for (int host = 0; host < 32; ++host) {
    crowd.emplace_back(&sessions, absl::StrCat("crowd", host), ProviderId{Uuid::Random()});
    ASSERT_TRUE(crowd.back().SayHello("", 7));
    const pb::Welcome crowded = crowd.back().Next().welcome();
    ASSERT_EQ(crowded.nodes_size(), 8);
    EXPECT_EQ(crowded.nodes(7).standing(), pb::NODE_STANDING_SEND_ALL);
  }

  PlayedTracker second(&sessions, "h2", node_);
  ASSERT_TRUE(second.SayHello());
  const pb::Welcome welcome = second.Next().welcome();
  ASSERT_EQ(welcome.nodes_size(), 1);
  EXPECT_EQ(welcome.nodes(0).standing(), pb::NODE_STANDING_WAIT);
  crowd.back().Close();
  sessions.Tick(placement::BootNow());
  EXPECT_EQ(second.Next().snapshot_order().node_uuid(), node_.ToString());
  EXPECT_TRUE(second.GetsAll());  // T-230: before that, its tracker reports nothing
  ASSERT_TRUE(second.SayReport(1, 16, generation, true));
  EXPECT_EQ(second.Next().ack().sequence(), 1);
  EXPECT_EQ((*runner_.ledger().Newest()->nodes().Find(node_))->host, "h2");
}

// A tracker that announces nodes that nobody knows gets eight slots, so others need not wait.
TEST_F(ReportSessionTest, InventedNodesDoNotTakeTheSlotsOfOthers) {  // T-230
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_);
  const Settled settled(this);
  PlayedTracker crowd(&sessions, "crowd", ProviderId{Uuid::Random()});
  ASSERT_TRUE(crowd.SayHello("", 255));
  const pb::Welcome crowded = crowd.Next().welcome();
  int may_send = 0;
  for (const pb::NodeWelcome& node : crowded.nodes()) {
    if (node.standing() == pb::NODE_STANDING_SEND_ALL) ++may_send;
  }
  EXPECT_EQ(may_send, 8);
  PlayedTracker other(&sessions, "other", node_);
  ASSERT_TRUE(other.SayHello());
  const pb::Welcome welcome = other.Next().welcome();
  ASSERT_EQ(welcome.nodes_size(), 1);
  EXPECT_EQ(welcome.nodes(0).standing(), pb::NODE_STANDING_SEND_ALL);
}

}  // namespace
}  // namespace berth::services
