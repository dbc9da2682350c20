// Instances that do not suit the CPU sets of their node.
#include "tracker/audit/cpu_misfits.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/account/sample_records.h"
#include "tests/tracker/node/node_fixture.h"
#include "tracker/audit/audit.h"

namespace berth::tracker {
namespace {

enum class Has { kNoCells, kShared, kOwn, kMixed };

Instance InstanceThat(Has kind) {
  Instance instance = MakeInstance("a", kHere, MakeFlavor("f", 2, 512, 1));
  if (kind == Has::kNoCells) return instance;
  instance.assigned.topology = MakePinned({0, 1});
  instance.assigned.topology->cells[0].cpu_policy = kind == Has::kShared ? CpuPolicy::kShared
                                                    : kind == Has::kOwn  ? CpuPolicy::kDedicated
                                                                         : CpuPolicy::kMixed;
  return instance;
}

TEST(CpuMisfits, ByKindAndSets) {
  struct Case {
    Has has;
    bool shared_set;
    bool dedicated_set;
    std::string misses;
  };
  const Case cases[] = {
      {Has::kNoCells, false, true, "cpu_shared_set"},   // T-35
      {Has::kShared, false, true, "cpu_shared_set"},    // T-35
      {Has::kOwn, true, false, "cpu_dedicated_set"},    // T-35
      {Has::kMixed, true, false, "cpu_dedicated_set"},  // T-35
      {Has::kMixed, false, true, "cpu_shared_set"},     // T-35
      {Has::kNoCells, true, false, ""},
      {Has::kOwn, false, true, ""},
      {Has::kMixed, true, true, ""},
      {Has::kOwn, false, false, ""},  // without sets guests may have any CPU
  };
  for (const Case& one : cases) {
    NodeAccount account(kHere, NodeResources());
    account.PutInstance(InstanceThat(one.has));
    account.PutInstance(MakeInstance("b", kThere, MakeFlavor("f", 2, 512, 1)));
    NodeConfiguration configuration;
    if (one.shared_set) configuration.cpu_shared_set = CpuSet::Range(0, 3);
    if (one.dedicated_set) configuration.cpu_dedicated_set = CpuSet::Range(4, 7);
    const std::vector<std::string> found = FindCpuMisfits(account, configuration);
    ASSERT_EQ(found.size(), one.misses.empty() ? 0u : 1u) << one.misses;  // T-35
    if (found.empty()) continue;
    EXPECT_THAT(found[0], testing::HasSubstr("instance " + "a"_uuid.ToString()));  // T-35
    EXPECT_THAT(found[0], testing::HasSubstr("no " + one.misses));                 // T-35
    configuration.vcpu_pin_set = CpuSet::Range(0, 7);
    EXPECT_TRUE(FindCpuMisfits(account, configuration).empty());
  }
}

TEST(CpuMisfits, AreFindings) {
  NodeAccount account(kHere, NodeResources());
  account.PutInstance(InstanceThat(Has::kNoCells));
  NodeConfiguration configuration;
  configuration.cpu_dedicated_set = CpuSet::Range(4, 7);
  const Audit audit = *RunAudit({.facts = std::make_shared<const Facts>(OrdinaryFacts()),
                                 .configuration = configuration,
                                 .node_uuid = "node-1"_uuid,
                                 .node_name = "n",
                                 .wall_now = absl::UnixEpoch(),
                                 .orphan_confirmation = std::chrono::seconds(5),
                                 .account = &account});
  EXPECT_THAT(audit.findings, testing::Contains(testing::Field(
                                  &Finding::text, testing::HasSubstr("cpu_shared_set"))));  // T-35
}

}  // namespace
}  // namespace berth::tracker
