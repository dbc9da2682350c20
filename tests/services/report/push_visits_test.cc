// How often changes and records are looked at to tell trackers of a fleet of 10,000 hosts with
// 200,000 instances.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "placement/log/codec.h"
#include "services/report/push_news.h"
#include "services/report/push_slice.h"
#include "tests/worlds/counted_fleet.h"
#include "tests/worlds/seed.h"
#include "tests/worlds/world.h"

namespace berth::services {
namespace {

using placement::Changes;
using placement::CountedFleet;
using placement::FeedBatchPtr;
using placement::FeedCommand;
using placement::Revision;
using placement::State;

constexpr int kVisitedHosts = kSanitized ? 500 : 10'000;
constexpr int kVisitedInstances = 20;  // on each host
constexpr int kReadMax = 3;            // the service, the node, and the instance that is watched
constexpr size_t kNamesOfAHost = 1 + 2 * kVisitedInstances;  // provider, consumers, instances

// The batch of a command with `changes`, which it applies to `state`.
FeedBatchPtr BatchOf(Changes changes, State* state) {
  const auto made = std::make_shared<const Changes>(std::move(changes));
  placement::ScopeMaker maker(*state, *made);
  state->Apply(*made);
  auto scope = std::make_shared<const placement::Scope>(std::move(maker).Finish(*state));
  placement::Position position = state->position();
  position.revision = {1, position.revision.number + 1};
  state->set_position(position);
  return placement::FeedBatchOf(position, {{"importer", "", made, "", scope}});
}

PushScopes ScopeOf(int host) {
  PushScopes scopes;
  scopes.try_emplace(CountedFleet::NodeOf(host));
  return scopes;
}

// If each stream looked at all changes, for its node and for its host, it would be 8,800,000,000
// times.
TEST(PushVisits, AnImportOfAFleetIsLookedAtOnce) {
  placement::TouchedRecords records(size_t{kVisitedHosts} * 3);
  State state = placement::World().state();
  Changes imported =
      CountedFleet::ChangesOf(CountedFleet::Import(kVisitedHosts, kVisitedInstances));
  CountedFleet::Watch(&records, &imported);
  const FeedBatchPtr batch = BatchOf(std::move(imported), &state);
  const FeedCommand& command = batch->commands[0];
  const auto changes = static_cast<int64_t>(command.changes->size());
  EXPECT_EQ(changes, kVisitedHosts * (4 + 2 * kVisitedInstances));
  int64_t visits = 0;
  for (int host = 1; host <= kVisitedHosts; ++host) {
    PushScopes scopes = ScopeOf(host);
    visits += AddNews(command, CountedFleet::HostOf(host), false, &scopes);
    const PushScope& scope = scopes[CountedFleet::NodeOf(host)];
    EXPECT_FALSE(scope.complete);
    ASSERT_EQ(scope.size(), kNamesOfAHost);
  }
  PushScopes scopes = ScopeOf(77);
  const int64_t read =
      records.Count([&] { AddNews(command, CountedFleet::HostOf(77), false, &scopes); });
  EXPECT_LE(read, kReadMax);
  // What is used of a provider follows from the consumers.
  EXPECT_EQ(visits, changes - kVisitedHosts);
  // So do those look at their parts alone that come back after it.
  const Revision before{1, batch->revision.number - 1};
  placement::Feed feed({.batches = 10});
  feed.Restart(before);
  feed.Append(batch);
  const HelloNode node{CountedFleet::NodeOf(77), "", "", before};
  MissedChanges missed = FindMissed(feed, batch->revision, CountedFleet::HostOf(77), {node});
  EXPECT_EQ(missed.scopes[node.id].size(), kNamesOfAHost);
  EXPECT_EQ(missed.commands, 1);
}

// An import puts a provider below each root that is there already.
TEST(PushVisits, AnImportBelowAFleetIsLookedAtOnce) {
  State state = placement::World().state();
  BatchOf(CountedFleet::ChangesOf(CountedFleet::Import(kVisitedHosts, 0)), &state);
  Changes changes;
  for (int host = 1; host <= kVisitedHosts; ++host) {
    auto config = std::make_shared<placement::ProviderConfig>();
    config->id = placement::ProviderId{placement::Uuid{70, static_cast<uint64_t>(host)}};
    config->name = CountedFleet::NodeNameOf(host) + " device";
    config->parent = CountedFleet::NodeOf(host);
    config->generation = placement::Generation{2};
    changes.push_back(placement::ProviderPut{std::move(config)});
  }
  const FeedBatchPtr batch = BatchOf(std::move(changes), &state);
  int64_t visits = 0;
  for (int host = 1; host <= kVisitedHosts; ++host) {
    PushScopes scopes = ScopeOf(host);
    visits += AddNews(batch->commands[0], CountedFleet::HostOf(host), false, &scopes);
    ASSERT_EQ(scopes[CountedFleet::NodeOf(host)].providers.size(), 1u);
  }
  EXPECT_EQ(visits, kVisitedHosts);
}

class PushOfAFleet : public ::testing::Test {
 protected:
  PushOfAFleet() : fleet_(kVisitedHosts, kVisitedInstances) {}

  // How many records it takes to tell the tracker of host 77 of what `scope` names.
  int64_t RecordsReadFor(PushScope scope, pb::Push* push) {
    const std::string host = CountedFleet::HostOf(77);
    return fleet_.Count([&] {
      if (scope.complete) NameAll(fleet_.state(), host, CountedFleet::NodeOf(77), &scope);
      FillSlice(fleet_.state(), host, CountedFleet::NodeOf(77), &scope, push);
    });
  }

  CountedFleet fleet_;
};

TEST_F(PushOfAFleet, ReadsTheRecordsOfItsHostAlone) {
  PushScope all;
  all.complete = true;
  pb::Push push;
  EXPECT_LE(RecordsReadFor(all, &push), kReadMax);
  EXPECT_EQ(push.instances_size(), kVisitedInstances);
  EXPECT_EQ(push.consumers_size(), kVisitedInstances);
  PushScope one;
  one.instances.insert(CountedFleet::InstanceOf(77, 0));
  one.consumers.insert(placement::ConsumerId{CountedFleet::InstanceOf(77, 0).uuid});
  push.Clear();
  EXPECT_LE(RecordsReadFor(one, &push), kReadMax);
  EXPECT_EQ(push.instances_size(), 1);
}

}  // namespace
}  // namespace berth::services
