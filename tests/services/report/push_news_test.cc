// What a tracker is told that comes back.
#include "services/report/push_news.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace berth::services {
namespace {

using placement::ConsumerId;
using placement::ProviderId;
using placement::Revision;
using placement::Uuid;

const ProviderId kNode{Uuid{1, 1}};
const ProviderId kOther{Uuid{1, 2}};

// A feed that begins after revision 10 of epoch 2 and in which each batch lets one consumer of
// `kNode`, numbered as the batch, and one of another node go.
class MissedChangesTest : public ::testing::Test {
 protected:
  static placement::FeedCommand CommandOf(placement::Changes changes,
                                          std::shared_ptr<const placement::Scope> scope) {
    const auto made = std::make_shared<const placement::Changes>(std::move(changes));
    return {.actor = "tracker/h (unverified)",
            .request_id = "",
            .changes = made,
            .scope = scope,
            .concerned = ConcernedBy(*made, *scope)};
  }
  void Append(int64_t last) {
    for (int64_t number = next_; number <= last; ++number) {
      auto batch = std::make_shared<placement::FeedBatch>();
      batch->revision = {2, number, static_cast<uint64_t>(10 * number)};
      for (const ProviderId root : {kNode, kOther}) {
        const uint64_t high = root == kNode ? 7 : 8;
        const ConsumerId consumer{Uuid{high, static_cast<uint64_t>(number)}};
        auto scope = std::make_shared<placement::Scope>();
        scope->gave_up = {{consumer, {root}}};
        batch->commands.push_back(
            CommandOf({placement::ConsumerRemoved{consumer}}, std::move(scope)));
      }
      feed_.Append(batch);
    }
    next_ = last + 1;
  }
  // Numbers of the consumers that a tracker is told which has heard up to `heard`; -1: everything.
  std::vector<int64_t> Told(std::optional<Revision> heard, Revision now) {
    MissedChanges missed = FindMissed(feed_, now, "h", {{kNode, "n", "", heard}});
    const PushScope& scope = missed.scopes[kNode];
    if (scope.complete) return {-1};
    std::vector<int64_t> numbers;
    for (const ConsumerId& id : scope.consumers) {
      EXPECT_EQ(id.uuid.high, 7U);  // nothing of another node
      numbers.push_back(static_cast<int64_t>(id.uuid.low));
    }
    return numbers;
  }

  MissedChangesTest() { feed_.Restart({2, 10}); }
  placement::Feed feed_{{.batches = 1000}};
  int64_t next_ = 11;
};

TEST_F(MissedChangesTest, AreThoseSinceItHeard) {  // T-228
  using Numbers = std::vector<int64_t>;
  EXPECT_EQ(Told(Revision{2, 10}, {2, 10}), Numbers());
  Append(14);
  EXPECT_EQ(Told(Revision{2, 14}, {2, 14}), Numbers());
  EXPECT_EQ(Told(Revision{2, 12}, {2, 14}), (Numbers{13, 14}));
  EXPECT_EQ(Told(Revision{2, 10}, {2, 14}), (Numbers{11, 12, 13, 14}));
  EXPECT_EQ(Told(std::nullopt, {2, 14}), Numbers{-1});
  EXPECT_EQ(Told(Revision{2, 9}, {2, 14}), Numbers{-1});   // no longer in memory
  EXPECT_EQ(Told(Revision{1, 14}, {2, 14}), Numbers{-1});  // of an epoch that ended
  EXPECT_EQ(Told(Revision{3, 1}, {2, 14}), Numbers{-1});   // of one that is none
  // A peer may send any number.
  EXPECT_EQ(Told(Revision{2, std::numeric_limits<int64_t>::min()}, {2, 14}), Numbers{-1});
  EXPECT_EQ(Told(Revision{2, 12, 120}, {2, 14}), (Numbers{13, 14}));
  testing::internal::CaptureStderr();
  EXPECT_EQ(Told(Revision{2, 15}, {2, 14}), Numbers{-1});       // of a future that was lost
  EXPECT_EQ(Told(Revision{2, 12, 121}, {2, 14}), Numbers{-1});  // another batch had that number
  const std::string log = testing::internal::GetCapturedStderr();
  const size_t at = log.find("a tracker has seen a revision that this ledger does not have");
  EXPECT_NE(at, std::string::npos) << log;
  EXPECT_EQ(log.rfind("a tracker has seen"), at) << log;  // one line in 10 s
}

TEST_F(MissedChangesTest, AreBounded) {
  Append(10 + 250);
  EXPECT_EQ(Told(Revision{2, 10}, {2, 260}).size(), 250U);
  Append(10 + 260);
  EXPECT_EQ(Told(Revision{2, 10}, {2, 270}), std::vector<int64_t>{-1});
}

// A tracker may have as many nodes, each with a push of its own.
TEST_F(MissedChangesTest, AreFoundInOneWalkForAllNodes) {
  constexpr uint64_t kNodes = 256;
  Append(10 + 250);  // two commands each
  std::vector<HelloNode> nodes;
  for (uint64_t i = 0; i < kNodes; ++i) {
    // Those that heard most come first, and each fifth heard nothing.
    std::optional<Revision> heard = Revision{2, 260 - static_cast<int64_t>(i % 250)};
    if (i % 5 == 4) heard.reset();
    nodes.push_back({i == 0 ? kOther : ProviderId{Uuid{1, 10 + i}}, "n", "", heard});
  }
  nodes.push_back({kNode, "n", "", Revision{2, 10}});
  MissedChanges missed = FindMissed(feed_, {2, 260}, "h", nodes);
  EXPECT_EQ(missed.commands, 2 * 250);
  EXPECT_EQ(missed.scopes[kNode].consumers.size(), 250U);
  EXPECT_TRUE(missed.scopes[kOther].empty());  // it had heard all
  for (uint64_t i = 1; i < kNodes; ++i) {
    const PushScope& scope = missed.scopes[ProviderId{Uuid{1, 10 + i}}];
    EXPECT_EQ(scope.complete, i % 5 == 4) << i;
    EXPECT_EQ(scope.size(), 0U) << i;
  }
}

// The records of a host are in no tree.
TEST_F(MissedChangesTest, IncludeTheRecordsOfTheHost) {
  const auto missed = [this](const placement::Change& change, bool renewed) {
    auto scope = std::make_shared<placement::Scope>();
    if (renewed) scope->renewed = {kNode};
    auto batch = std::make_shared<placement::FeedBatch>();
    batch->revision = {2, next_++};
    batch->commands.push_back(CommandOf({change}, std::move(scope)));
    feed_.Append(batch);
    const Revision before{2, batch->revision.number - 1};
    return FindMissed(feed_, batch->revision, "h", {{kNode, "n", "", before}}).scopes[kNode];
  };
  const auto service = [](const std::string& host) -> placement::Change {
    auto record = std::make_shared<placement::ServiceRecord>();
    record->host = host;
    return placement::ServicePut{std::move(record)};
  };
  EXPECT_TRUE(missed(service("h"), false).service);
  EXPECT_TRUE(missed(service("other"), false).empty());
  const auto node = [](ProviderId id, const std::string& host) -> placement::Change {
    auto record = std::make_shared<placement::NodeRecord>();
    record->id = id;
    record->host = host;
    return placement::NodePut{std::move(record)};
  };
  EXPECT_TRUE(missed(node(kNode, "h"), false).empty());
  EXPECT_TRUE(missed(node(kNode, "h"), true).complete);  // it comes from another host
  EXPECT_TRUE(missed(node(kOther, "h"), false).empty());
}

}  // namespace
}  // namespace berth::services
