// What sessions of trackers are told of nodes that an operator has put below another provider.
#include <memory>
#include <optional>

#include "tests/services/report/session_fixture.h"

namespace berth::services {
namespace {

using placement::InstanceId;
using placement::ProviderId;
using placement::ProviderNumber;
using placement::Uuid;

placement::UpdateProvider PutBelow(ProviderId id, ProviderId parent) {
  placement::UpdateProvider move;
  move.id = id;
  move.parent = std::optional<ProviderId>(parent);
  return move;
}

bool NamesConsumer(const pb::Push& push, InstanceId id) {
  for (const pb::Consumer& consumer : push.consumers()) {
    if (consumer.uuid() == id.ToString()) return true;
  }
  return false;
}

// Only operators put a node's root below another provider, for example below a rack.
TEST_F(ReportSessionTest, ANodeBelowAnotherProviderIsToldOfItsChanges) {
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_);
  const Settled settled(this);
  PlayedTracker tracker(&sessions, "h1", node_);
  ASSERT_TRUE(tracker.Introduce());
  ASSERT_TRUE(tracker.GetsAll());
  runner_.Must(placement::NewProvider(1));
  runner_.Must(PutBelow(node_, ProviderNumber(1)));
  EXPECT_TRUE(tracker.AwaitPush([&](const pb::Push& push) {  // T-228
    return push.providers_size() == 1 && push.providers(0).uuid() == node_.ToString() &&
           push.providers(0).parent_uuid() == ProviderNumber(1).ToString();
  }));
  const InstanceId instance{Uuid::Random()};
  Allocate(runner_, instance, node_);
  EXPECT_TRUE(
      tracker.AwaitPush([&](const pb::Push& push) { return NamesConsumer(push, instance); }));
  // What is above the node is an operator's.
  runner_.Must(placement::NewProvider(2));
  runner_.Must(PutBelow(ProviderNumber(1), ProviderNumber(2)));
  const InstanceId next{Uuid::Random()};
  Allocate(runner_, next, node_);
  EXPECT_TRUE(tracker.AwaitPush([&](const pb::Push& push) {
    EXPECT_EQ(push.providers_size(), 0);
    return NamesConsumer(push, next);
  }));
  tracker.Close();
}

// The root of a node was put below a node of another host. Each tracker is told of its own node.
TEST_F(ReportSessionTest, ANodeAboveAnotherIsNotToldOfWhatTheOtherHas) {
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_);
  const Settled settled(this);
  const ProviderId upper{Uuid::Random()};
  PlayedTracker below(&sessions, "h1", node_);
  auto above = std::make_unique<PlayedTracker>(&sessions, "h2", upper);
  for (PlayedTracker* tracker : {&below, above.get()}) {
    ASSERT_TRUE(tracker->Introduce());
    ASSERT_TRUE(tracker->GetsAll());
  }
  runner_.Must(PutBelow(node_, upper));
  const InstanceId of_below{Uuid::Random()};
  const InstanceId of_above{Uuid::Random()};
  Allocate(runner_, of_below, node_);
  Allocate(runner_, of_above, upper);
  EXPECT_TRUE(above->AwaitPush([&](const pb::Push& push) {
    EXPECT_EQ(push.providers_size(), 0);
    EXPECT_EQ(push.removed_consumer_uuids_size(), 0);
    EXPECT_FALSE(NamesConsumer(push, of_below));
    return NamesConsumer(push, of_above);
  }));
  EXPECT_TRUE(below.AwaitPush([&](const pb::Push& push) {
    EXPECT_FALSE(NamesConsumer(push, of_above));
    return NamesConsumer(push, of_below);
  }));
  above = std::make_unique<PlayedTracker>(&sessions, "h2", upper);
  ASSERT_TRUE(above->SayHello());
  EXPECT_TRUE(above->AwaitPush([&](const pb::Push& push) {
    if (!push.complete()) return false;
    EXPECT_EQ(push.providers_size(), 1);
    EXPECT_EQ(push.consumers_size(), 1);
    EXPECT_TRUE(NamesConsumer(push, of_above));
    return true;
  }));
  above->Close();
  below.Close();
}

}  // namespace
}  // namespace berth::services
