// What instances do, and builds that failed, counted (T-118 to T-121).
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

// No part of the product counts builds yet.
TEST(NodeAccount, FailedBuildsStayUntilOneSucceeds) {
  NodeAccount account(kHere, NodeResources());
  account.CountFailedBuild();
  account.CountFailedBuild();
  EXPECT_EQ(account.failed_builds(), 2);
  EXPECT_EQ(account.Rebuilt().failed_builds(), 2);  // T-118: except failed_builds
  account.ForgetFailedBuilds();
  EXPECT_EQ(account.failed_builds(), 0);
}

}  // namespace
}  // namespace berth::tracker
