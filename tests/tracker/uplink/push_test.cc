// What a push leaves in the tracker's copy of a node's providers.
#include "tracker/uplink/push.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/account/sample_records.h"
#include "tests/tracker/node/node_fixture.h"
#include "tracker/audit/audit.h"
#include "tracker/audit/report.h"
#include "tracker/uplink/messages.h"

namespace berth::tracker {
namespace {

namespace v1 = placement::v1;
using ::testing::ElementsAre;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class PushTest : public testing::Test {
 protected:
  // A provider with one unit of its own class and a trait.
  static void Add(const std::string& uuid, const std::string& parent, int64_t generation,
                  v1::Push* push) {
    v1::Provider* const provider = push->add_providers();
    provider->set_uuid(ShortUuid(uuid).ToString());
    provider->set_name(uuid + "-name");
    provider->set_parent_uuid(TextOrEmpty(ShortUuid(parent)));
    provider->set_generation(generation);
    (*provider->mutable_inventories())["CUSTOM_UNIT"].set_total(1);
    provider->add_traits("CUSTOM_MINE");
  }
  bool Apply(const v1::Push& push) { return ApplyPush(push, {}, &records_, &account_); }

  Records records_;
  NodeAccount account_{kHere, NodeResources()};
};

TEST_F(PushTest, EveryProviderIsThereOnceAndAsItWasPushedLast) {
  v1::Push all;
  all.set_complete(true);
  Add("root", "", 5, &all);
  Add("child", "root", 6, &all);
  EXPECT_TRUE(Apply(all));
  EXPECT_TRUE(Apply(all));
  v1::Push change;
  Add("root", "", 7, &change);
  EXPECT_TRUE(Apply(change));
  ASSERT_THAT(records_.tree, SizeIs(2));  // T-186
  const KnownProvider& child = records_.tree[0];
  EXPECT_EQ(child.uuid, "child"_uuid);                    // T-186
  EXPECT_EQ(child.name, "child-name");                    // T-186
  EXPECT_EQ(child.parent_uuid, "root"_uuid);              // T-186
  EXPECT_EQ(child.generation, 6);                         // T-186
  EXPECT_THAT(child.inventories, SizeIs(1));              // T-186
  EXPECT_THAT(child.traits, ElementsAre("CUSTOM_MINE"));  // T-186
  EXPECT_EQ(records_.tree[1].uuid, "root"_uuid);
  EXPECT_EQ(records_.tree[1].generation, 7);  // T-186
  v1::Push gone;
  gone.add_removed_provider_uuids("child"_uuid.ToString());
  EXPECT_TRUE(Apply(gone));
  EXPECT_THAT(records_.tree, SizeIs(1));
}

// While the devices of a host cannot be listed, the providers of devices stay as they are known. A
// provider that went before is not among them.
TEST_F(PushTest, ADeviceProviderThatWentIsNotWantedAgain) {
  v1::Push all;
  all.set_complete(true);
  Add("root", "", 5, &all);
  for (const char* device : {"gone", "kept"}) {
    Add(device, "root", 6, &all);
    all.mutable_providers()->rbegin()->add_traits("COMPUTE_MANAGED_PCI_DEVICE");
  }
  all.mutable_providers(1)->set_name("n1_0000:3B:00.0");
  all.mutable_providers(2)->set_name("n1_0000:5E:00.0");
  EXPECT_TRUE(Apply(all));
  const auto wanted = [this] {
    Facts facts = OrdinaryFacts();
    facts.devices_known = false;
    NodeConfiguration configuration;
    configuration.pci_report_in_placement = true;
    const absl::StatusOr<Audit> audit = RunAudit({.facts = std::make_shared<const Facts>(facts),
                                                  .records = &records_,
                                                  .configuration = configuration,
                                                  .node_uuid = "root"_uuid,
                                                  .node_name = "n1",
                                                  .account = &account_});
    std::vector<Uuid> uuids;
    if (!audit.ok()) return uuids;
    for (const WantedProvider& provider : audit->report.providers) uuids.push_back(provider.uuid);
    return uuids;
  };
  EXPECT_THAT(wanted(), UnorderedElementsAre("root"_uuid, "gone"_uuid, "kept"_uuid));
  v1::Push push;
  push.add_removed_provider_uuids("gone"_uuid.ToString());
  EXPECT_TRUE(Apply(push));
  EXPECT_THAT(wanted(), UnorderedElementsAre("root"_uuid, "kept"_uuid));  // T-260
}

// An operator has put the node below a rack. The tracker does not move it back, in any pass.
TEST_F(PushTest, WhatIsAboveTheNodeIsNotTheTrackersToRepair) {
  v1::Push all;
  all.set_node_uuid("root"_uuid.ToString());
  all.set_complete(true);
  Add("root", "rack", 5, &all);
  Add("child", "root", 6, &all);
  EXPECT_TRUE(Apply(all));
  ASSERT_THAT(records_.tree, SizeIs(2));
  EXPECT_EQ(records_.tree[0].parent_uuid, Uuid());
  EXPECT_EQ(records_.tree[0].generation, 5);
  EXPECT_EQ(records_.tree[1].parent_uuid, "root"_uuid);
  std::vector<WantedProvider> wanted;
  for (const KnownProvider& known : records_.tree) {
    wanted.push_back({known.uuid, known.name, known.parent_uuid, known.inventories, {}});
  }
  wanted[0].parent_uuid = Uuid();
  EXPECT_FALSE(Differs(wanted, records_.tree));  // T-193, T-393
  // A conflict brings the providers once more.
  EXPECT_FALSE(Differs(wanted, ReadProviders(all.providers(), "root"_uuid)));
}

}  // namespace
}  // namespace berth::tracker
