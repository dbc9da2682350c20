// How long a pass holds the lock of a node with 200 instances.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tracker/ground/boot_clock.h"
#include "tracker/hypervisor/events.h"
#include "tracker/node/node.h"

namespace berth::tracker {
namespace {

constexpr int kInstances = 200;
constexpr double kPromisedSeconds = 0.050;

std::string UuidOf(int number) { return absl::StrFormat("aaaaaaaa-aaaa-4aaa-8aaa-%012d", number); }

// A host of libvirt's test driver with a guest for each instance.
void WriteHost(const std::string& path) {
  std::ofstream file(path);
  file
      << "<node><cpu><mhz>2600</mhz><model>x86_64</model><active>3</active><nodes>1</nodes>"
         "<sockets>1</sockets><cores>3</cores><threads>1</threads></cpu><memory>268435456</memory>";
  for (int i = 0; i < kInstances; ++i) {
    file
        << "<domain type='test'><name>guest" << i << "</name><uuid>" << UuidOf(i)
        << "</uuid><memory unit='MiB'>512</memory><vcpu>1</vcpu><os><type>hvm</type></os></domain>";
  }
  file << "</node>";
}

// Gives the node the records and the allocations of all instances.
bool FillRecords(const NodeIdentity& self, Records* records, NodeAccount* account) {
  std::vector<Instance> instances;
  for (int i = 0; i < kInstances; ++i) {
    Instance instance;
    instance.uuid = ShortUuid(UuidOf(i));
    instance.on = {"h", self.uuid};
    instance.project_id = absl::StrCat("project-", i % 10);
    instance.vm_state = "active";
    instance.flavor.vcpus = 1;
    instance.flavor.memory_mib = 512;
    instances.push_back(instance);
    records->allocations.push_back(
        {self.uuid, instance.uuid, Uuid(), {{"MEMORY_MB", 512}, {"VCPU", 1}}});
  }
  account->ReplaceRecords(std::move(instances), {});
  return true;
}

TEST(LockHold, APassOverManyInstancesIsShort) {
  char path[] = "/tmp/berth-hold-XXXXXX";
  const std::string state = mkdtemp(path);
  WriteHost(state + "/host.xml");
  const HypervisorEventLoop loop;
  DeadlinePool pool{DeadlinePool::Options()};
  Node::Options options;
  options.configuration.uri = absl::StrCat("test://", state, "/host.xml");
  options.configuration.name = "n1";
  options.surroundings.state_path = state;
  options.surroundings.host_address = "127.0.0.1";
  options.host = "h";
  Node node(options, &pool, [](const HypervisorEvent&) {});
  const auto now = [] { return BootClock::now(); };
  ASSERT_EQ(node.Pass(now()).result, PassOutcome::Result::kComplete);
  const NodeIdentity self = *node.identity();
  node.ChangeRecords(
      [&](Records* records, NodeAccount* account) { return FillRecords(self, records, account); },
      now());
  ASSERT_EQ(node.accounting()->promised.instances.amounts.vcpus, kInstances);
  // The machine may stop a thread that holds the lock. So the best of some passes counts.
  double best = 1e9;
  for (int pass = 0; pass < 5; ++pass) {
    const double before = node.lock_times().holds.sum_seconds;
    ASSERT_EQ(node.Pass(now()).result, PassOutcome::Result::kComplete);
    best = std::min(best, node.lock_times().holds.sum_seconds - before);
  }
  std::printf("a pass over %d instances held the lock for %.2f ms\n", kInstances, best * 1000);
  EXPECT_LT(best, 3 * kPromisedSeconds);  // T-62
  std::filesystem::remove_all(state);
}

}  // namespace
}  // namespace berth::tracker
