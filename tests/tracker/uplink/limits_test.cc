// A placement that does not store all that is reported, because its access file limits the tracker.
#include "gtest/gtest.h"
#include "tests/tracker/uplink/fixture.h"
#include "tracker/uplink/uplink.h"

namespace berth::tracker {
namespace {

namespace v1 = placement::v1;

TEST_F(UplinkTest, DoesNotInsistOnWhatPlacementLimits) {
  FakePlacement placement;
  v1::ProviderLimits& limits = placement.limited.emplace_back();
  limits.set_provider_uuid(uuid_);
  limits.add_traits("COMPUTE_NODE");
  v1::LimitedClass* const limited = limits.add_classes();
  limited->set_resource_class("MEMORY_MB");
  limited->set_stored_total(1024);
  const auto uplink = Connect(placement);
  ASSERT_TRUE(placement.WaitForReports(2));  // the second one has the findings
  ASSERT_TRUE(Settles());
  const v1::Report second = placement.reports()[1];
  int findings = 0;
  for (const v1::Finding& finding : second.findings().findings()) {
    if (finding.kind() == v1::FINDING_KIND_LIMITED) ++findings;
  }
  EXPECT_EQ(findings, 2) << second.findings().ShortDebugString();
  // The whole provider again: a ceiling that was raised counts from now on.
  ASSERT_EQ(second.providers_size(), 1);
  EXPECT_GT(second.providers(0).inventories().at("MEMORY_MB").total(), 1024);
  const KnownProvider known = node_->records()->tree[0];
  EXPECT_EQ(known.inventories.at("MEMORY_MB").total, 1024);
  EXPECT_FALSE(known.traits.contains("COMPUTE_NODE"));
  ASSERT_NO_FATAL_FAILURE(PassAfterPush(placement, *uplink, known));
  EXPECT_EQ(placement.reports().size(), 2u);
}

}  // namespace
}  // namespace berth::tracker
