// The limits that a scheduler chooses for a claim, at the tracker that takes the claim.
#include <gmock/gmock.h>

#include <string>

#include "services/client/cpp/host_view.h"
#include "services/client/sample/scheduler.h"
#include "tests/e2e/scheduling/site.h"
#include "tests/e2e/stub_call.h"

namespace berth::e2e {
namespace {

using ::testing::ElementsAre;

class ClaimLimits : public Site {
 protected:
  // An instance whose scheduler has allocated a CPU on the host and nothing else, so that placement
  // does not refuse what is too much.
  pb::Instance Placed(const Host& host, const pb::Flavor& flavor) {
    pb::Instance instance = NewInstance(flavor);
    const client::Failure placed = Place(host, FlavorOf(0, 1), &instance);
    EXPECT_TRUE(placed.ok()) << InWords(placed);
    return instance;
  }

  FollowedHosts views_{endpoints()};
};

TEST_F(ClaimLimits, AreReachedAndNotExceeded) {
  const placement::ScratchDirectory disk;
  const Host& host = *AddHost("h1", 4096, disk.path());
  const auto view = views_.ViewAt(Audit(host), host.node);
  const tracker_pb::Limits limits = client::LimitsOf(*view);
  const int64_t disk_gib = view->node->facts().disk_gib();
  EXPECT_EQ(limits.memory_mib(), 4096);    // T-337
  EXPECT_EQ(limits.vcpus(), 12);           // T-337
  EXPECT_EQ(limits.disk_gib(), disk_gib);  // T-337
  ASSERT_GT(disk_gib, 0);
  struct Case {
    const char* resource;
    pb::Flavor up_to, beyond;
  };
  // The host itself uses 512 MiB.
  const Case cases[] = {
      {"memory", FlavorOf(3584), FlavorOf(3585)},
      {"vcpu", FlavorOf(64, 12), FlavorOf(64, 13)},
      {"disk", FlavorOf(64, 1, disk_gib), FlavorOf(64, 1, disk_gib + 1)},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.resource);
    const pb::Instance beyond = Placed(host, one.beyond);
    EXPECT_THAT(Reasons(ClaimOn(host, beyond, &limits), "test"),
                ElementsAre(std::string("RESOURCES_UNAVAILABLE ") + one.resource));  // T-337, T-161
    EXPECT_FALSE(AccountOf(host).account().has_claims());
    EXPECT_FALSE(AccountOf(host).account().has_instances());
    EXPECT_EQ(Read(beyond).host(), "");
    const grpc::Status unlimited = ClaimOn(host, beyond);
    EXPECT_TRUE(unlimited.ok()) << unlimited.error_message();  // T-161: an absent limit is none
    Abort(host, beyond);
    const pb::Instance up_to = Placed(host, one.up_to);
    const grpc::Status reached = ClaimOn(host, up_to, &limits);
    EXPECT_TRUE(reached.ok()) << reached.error_message();  // T-161
    Abort(host, up_to);
    for (const pb::Instance& placed : {beyond, up_to}) Release(placed);
  }
}

TEST_F(ClaimLimits, OfASchedulerGoWithItsRequest) {
  const Host& host = *AddHost("h1", 4096);
  sample::Scheduler scheduler(endpoints());
  ASSERT_TRUE(scheduler.AwaitHosts(absl::Minutes(1)));
  const pb::Instance instance = Store(NewInstance(FlavorOf(3584)));
  const absl::StatusOr<sample::Place> place = scheduler.PlaceInstance(instance);
  ASSERT_TRUE(place.ok()) << place.status();
  EXPECT_EQ(place->node_uuid, host.node);
  // Meanwhile a guest takes memory of which placement knows nothing.
  const pb::Instance other = Placed(host, FlavorOf(1));
  const grpc::Status taken = ClaimOn(host, other);
  ASSERT_TRUE(taken.ok()) << taken.error_message();
  EXPECT_THAT(Reasons(ClaimOn(host, instance, &place->limits), "test"),
              ElementsAre("RESOURCES_UNAVAILABLE memory"));  // T-337
  Abort(host, other);
  const grpc::Status claimed = ClaimOn(host, instance, &place->limits);
  EXPECT_TRUE(claimed.ok()) << claimed.error_message();  // T-161
}

}  // namespace
}  // namespace berth::e2e
