// HostIndex: which nodes the change of an aggregate touches, and what that costs.
#include "services/client/cpp/host_index.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <ctime>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace berth::client {
namespace {

using Keys = std::vector<std::string>;

// An index that follows a ledger.
class Followed {
 public:
  void PutNode(const std::string& uuid) {
    Next()->mutable_present()->mutable_node()->set_uuid(uuid);
  }
  void PutProvider(const std::string& uuid, const Keys& aggregates) {
    pb::Provider& provider = *Next()->mutable_present()->mutable_provider();
    provider.set_uuid(uuid);
    for (const std::string& one : aggregates) provider.add_aggregate_uuids(one);
  }
  void PutAggregate(const std::string& uuid) {
    Next()->mutable_present()->mutable_aggregate()->set_uuid(uuid);
  }
  void Remove(pb::EntityKind kind, const std::string& uuid) {
    Next()->mutable_removed()->set_kind(kind);
    message_.mutable_changes()->rbegin()->mutable_removed()->set_key(uuid);
  }
  // Completes a revision, and returns the nodes that it touches.
  std::set<std::string> Touched(bool snapshot = false) {
    Failure lost;
    lost.reason = "REVISION_LOST";
    if (snapshot && number_ > 0) state_.End(lost);
    if (snapshot) state_.Begin();
    message_.set_snapshot(snapshot);
    message_.mutable_revision()->set_number(++number_);
    message_.set_complete(true);
    const absl::StatusOr<bool> complete = state_.Apply(&message_);
    EXPECT_TRUE(complete.ok()) << complete.status();
    message_ = {};
    const ViewChange change = state_.TakeChange();
    const std::clock_t began = std::clock();
    const HostIndex::Touched touched = index_.Follow(change);
    cost_ = std::clock() - began;
    return {touched.nodes.begin(), touched.nodes.end()};
  }
  std::set<std::string> TouchedBy(const std::string& aggregate) {
    PutAggregate(aggregate);
    return Touched();
  }
  std::clock_t cost() const { return cost_; }  // of the last Touched, in the index

 private:
  pb::Change* Next() { return message_.add_changes(); }

  MirrorState state_;
  HostIndex index_;
  pb::WatchResponse message_;
  int64_t number_ = 0;
  std::clock_t cost_ = 0;
};

using Nodes = std::set<std::string>;

TEST(HostIndexTest, AnAggregateTouchesItsNodes) {
  Followed ledger;
  ledger.PutNode("n1");
  ledger.PutNode("n2");
  ledger.PutProvider("n1", {"a"});
  ledger.PutProvider("n2", {"a", "b"});
  ledger.PutProvider("child", {"a"});
  ledger.Touched(/*snapshot=*/true);
  EXPECT_EQ(ledger.TouchedBy("a"), (Nodes{"n1", "n2"}));
  EXPECT_EQ(ledger.TouchedBy("b"), Nodes{"n2"});
  EXPECT_EQ(ledger.TouchedBy("c"), Nodes());
  ledger.PutProvider("n1", {"b"});
  EXPECT_EQ(ledger.Touched(), Nodes{"n1"});
  EXPECT_EQ(ledger.TouchedBy("a"), Nodes{"n2"});
  EXPECT_EQ(ledger.TouchedBy("b"), (Nodes{"n1", "n2"}));
  ledger.Remove(pb::ENTITY_KIND_NODE, "n2");
  EXPECT_EQ(ledger.Touched(), Nodes{"n2"});
  EXPECT_EQ(ledger.TouchedBy("b"), Nodes{"n1"});
  ledger.PutNode("n2");
  ledger.Touched();
  EXPECT_EQ(ledger.TouchedBy("b"), (Nodes{"n1", "n2"})) << "it came back";
  ledger.Remove(pb::ENTITY_KIND_PROVIDER, "n2");
  ledger.Touched();
  EXPECT_EQ(ledger.TouchedBy("b"), Nodes{"n1"});
  ledger.PutNode("n2");
  ledger.PutProvider("n2", {"b"});
  EXPECT_EQ(ledger.Touched(/*snapshot=*/true), (Nodes{"n1", "n2"}));
  EXPECT_EQ(ledger.TouchedBy("b"), Nodes{"n2"});
}

// In a revision that names an aggregate for each node.
TEST(HostIndexTest, AnAggregateCostsWhatItTouches) {
  constexpr int kNodes = 3000;
  Followed ledger;
  for (int i = 0; i < kNodes; ++i) {
    ledger.PutNode(absl::StrCat("n", i));
    ledger.PutProvider(absl::StrCat("n", i), {absl::StrCat("a", i)});
  }
  ledger.Touched(/*snapshot=*/true);
  const std::clock_t whole = ledger.cost();
  for (int i = 0; i < kNodes; ++i) ledger.PutAggregate(absl::StrCat("a", i));
  EXPECT_EQ(ledger.Touched().size(), size_t{kNodes});
  EXPECT_LT(ledger.cost(), 10 * whole) << "all nodes were read for each aggregate";
}

}  // namespace
}  // namespace berth::client
