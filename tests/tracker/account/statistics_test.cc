// What instances do, and builds that failed, counted (T-118 to T-122).
#include "tracker/account/statistics.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tracker/account/sample_records.h"
#include "tracker/account/account.h"

namespace berth::tracker {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TEST(Statistics, CountersHaveTheirNames) {
  Statistics statistics;
  statistics.Add({"active", "", "red", {}});
  statistics.Add({"active", "rescuing", "red", {}});
  statistics.Add({"building", "spawning", "blue", {}});
  EXPECT_THAT(statistics.Counters(),
              UnorderedElementsAre(Pair("num_instances", 3), Pair("num_vm_active", 2),
                                   Pair("num_vm_building", 1), Pair("num_task_None", 1),
                                   Pair("num_task_rescuing", 1), Pair("num_task_spawning", 1),
                                   Pair("num_proj_red", 2), Pair("num_proj_blue", 1),
                                   Pair("io_workload", 2)));  // T-119
  EXPECT_EQ(statistics.current_workload(), 2);                // T-120: None does not count
}

TEST(Statistics, TasksWithMuchInputAndOutput) {
  const char* tasks[] = {"rebuilding",   "resize_prep", "resize_migrating", "image_snapshot",
                         "image_backup", "rescuing",    "unshelving"};
  for (const char* task : tasks) {
    Statistics statistics;
    statistics.Add({"active", task, "p", {}});
    EXPECT_EQ(statistics.io_workload(), 1) << task;  // T-120
  }
  for (const char* task : {"", "spawning", "migrating", "deleting"}) {
    Statistics statistics;
    statistics.Add({"active", task, "p", {}});
    EXPECT_EQ(statistics.io_workload(), 0) << task;
  }
  Statistics both;
  both.Add({"building", "rebuilding", "p", {}});
  EXPECT_EQ(both.io_workload(), 2);
}

TEST(Statistics, WhatWasAddedCanBeRemoved) {
  const Statistics::Snapshot small = {"active", "", "p", {1, 512, 1024}};
  const Statistics::Snapshot large = {"stopped", "deleting", "p", {8, 4096, 0}};
  Statistics one;
  one.Add(small);
  Statistics both = one;
  both.Add(large);
  EXPECT_THAT(both.by_project(), ElementsAre(Pair("p", ProjectUsage{2, {9, 4608, 1024}})));
  both.Remove(large);
  EXPECT_EQ(both, one);
  both.Remove(small);
  EXPECT_EQ(both, Statistics());
}

TEST(NodeAccount, FailedBuildsStayUntilOneSucceeds) {
  NodeAccount account(kHere, NodeResources());
  account.CountFailedBuild();
  account.CountFailedBuild();
  EXPECT_EQ(account.failed_builds(), 2);
  EXPECT_EQ(account.Rebuilt().failed_builds(), 2);  // T-118: except failed_builds
  account.ForgetFailedBuilds();
  EXPECT_EQ(account.failed_builds(), 0);
}

Instance InState(const HostAndNode& on, const std::string& vm_state) {
  Instance instance = MakeInstance("a", on, MakeFlavor("f", 1, 512, 1));
  instance.vm_state = vm_state;
  return instance;
}

TEST(NodeAccount, ABuildHasSucceededWhenItsInstanceIsActiveHere) {
  const struct {
    Instance before, after;
    int64_t failed_builds;
  } kCases[] = {
      {InState(kHere, "building"), InState(kHere, "active"), 0},
      {InState({}, "building"), InState(kHere, "active"), 0},  // the record was claimed in between
      {InState(kHere, "building"), InState(kHere, "error"), 1},
      {InState(kHere, "building"), InState(kHere, "deleted"), 1},
      {InState(kHere, "building"), InState(kThere, "active"), 1},
      {InState(kHere, "shelved_offloaded"), InState(kHere, "active"), 1},
      {InState(kThere, "active"), InState(kHere, "active"), 1},
      {InState(kHere, "active"), InState(kHere, "active"), 1},
  };
  for (const auto& [before, after, failed_builds] : kCases) {
    NodeAccount account(kHere, NodeResources());
    account.PutInstance(before);
    account.CountFailedBuild();
    NodeAccount replaced = account;
    account.PutInstance(after);
    EXPECT_EQ(account.failed_builds(), failed_builds) << after.vm_state;  // T-122
    replaced.ReplaceRecords({after}, {});
    EXPECT_EQ(replaced.failed_builds(), failed_builds) << after.vm_state;  // T-122
  }
  NodeAccount account(kHere, NodeResources());
  account.CountFailedBuild();
  account.PutInstance(InState(kHere, "active"));
  EXPECT_EQ(account.failed_builds(), 1) << "nobody knows that it was built";
}

// The session ended before the record of the claim came, and the next one tells only its outcome.
TEST(NodeAccount, ABuildThatWasOnlyClaimedCanSucceed) {
  NodeAccount account(kHere, NodeResources());
  account.CountFailedBuild();
  account.Open({"c", InState(kHere, "building"), std::nullopt});
  account.PutInstance(InState(kHere, "active"));
  EXPECT_EQ(account.failed_builds(), 0);  // T-122
}

}  // namespace
}  // namespace berth::tracker
