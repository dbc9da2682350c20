// A tracker that is killed while it makes and ends claims. Whatever step a claim has reached, no
// CPU is given away twice (T-395), and what was granted stays granted (T-399).
//
// Real programs over libvirt's QEMU driver, without guests. BERTH_KILLS says how often the tracker is
// killed (default 6).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/placement/v1/instance.grpc.pb.h"
#include "berth/tracker/v1/tracker.grpc.pb.h"
#include "placement/ground/uuid.h"
#include "tests/fault/await.h"
#include "tests/fault/call_within.h"
#include "tests/fault/claim_client.h"
#include "tests/processes/libvirt_daemon.h"
#include "tests/processes/placement_server.h"
#include "tests/processes/scheduled.h"
#include "tests/processes/tracker_process.h"
#include "tests/worlds/seed.h"

namespace berth::fault {
namespace {

namespace pb = ::berth::placement::v1;
namespace tracker_pb = ::berth::tracker::v1;

constexpr char kClaimedHost[] = "claimed-host";
constexpr int kClients = 2;
constexpr int kInstances = 3;  // of each client
constexpr absl::Duration kClaimCallMax = absl::Seconds(20);
constexpr absl::Duration kStartMax = absl::Seconds(60);
constexpr absl::Duration kRunMax = absl::Milliseconds(120);  // of the tracker, once claims begin

// One caller with instances of its own. Each wants one dedicated CPU. One thread at a time.
struct Caller {
  std::mt19937_64 random;
  std::vector<std::string> instances;
  std::map<std::string, int> granted;  // the CPUs that the tracker's answers gave to instances
  std::string refusal;                 // the last one
};

class ClaimKill : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    daemon_ = tracker::LibvirtDaemon::Start(&why);
    if (daemon_ == nullptr) GTEST_SKIP() << "no private libvirt daemon: " << why;
    placement_ = e2e::StartOrDie(directory_.path());
    records_ = pb::InstanceService::NewStub(ConnectTo(placement_->address()));
    for (Caller& caller : callers_) {
      caller.random.seed(random_());
      for (int i = 0; i < kInstances; ++i) caller.instances.push_back(Create());
    }
  }

  std::string Create() {
    pb::SetInstanceRequest request;
    pb::Instance& instance = *request.mutable_instance();
    instance.set_uuid(placement::Uuid::Random().ToString());
    instance.set_project_id("p");
    instance.set_user_id("u");
    instance.set_vm_state("building");
    instance.set_task_state("spawning");
    instance.mutable_flavor()->set_vcpus(1);
    instance.mutable_flavor()->set_memory_mib(16);
    pb::GuestCell& cell = *instance.add_numa_cells();
    cell.add_pinned_cpus(0);
    cell.set_memory_mib(16);
    cell.set_cpu_policy("dedicated");
    pb::SetInstanceResponse response;
    const grpc::Status status =
        records_->SetInstance(CallWithin(kClaimCallMax).get(), request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return instance.uuid();
  }
  pb::Instance Get(const std::string& uuid) {
    pb::GetInstanceRequest request;
    request.set_instance_uuid(uuid);
    pb::GetInstanceResponse response;
    const grpc::Status status =
        records_->GetInstance(CallWithin(kClaimCallMax).get(), request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.instance();
  }

  void StartTracker() {
    const unsigned cpus = std::thread::hardware_concurrency();
    tracker_ = std::make_unique<e2e::TrackerProcess>(
        directory_.path(),
        std::vector<std::string>{
            "--placement=" + placement_->address(), "--hypervisor=" + daemon_->QemuUri(),
            absl::StrCat("--host=", kClaimedHost), absl::StrCat("--cpu-dedicated-set=0-", cpus - 1),
            "--instances-path=/proc", "--update-resources-interval=-1"});
    ASSERT_TRUE(tracker_->AwaitAddress().ok()) << tracker_->Log();
    claims_ = tracker_pb::TrackerService::NewStub(ConnectTo(tracker_->address()));
    ASSERT_TRUE(Await([this] {
      const tracker_pb::GetNodeViewResponse view = View();
      node_ = view.node().node_uuid();
      return view.node().acknowledged_sequence() > 0 && view.providers_size() > 0;
    })) << tracker_->Log();
  }
  tracker_pb::GetNodeViewResponse View() {
    tracker_pb::GetNodeViewResponse view;
    claims_->GetNodeView(CallWithin(kClaimCallMax).get(), {}, &view);
    return view;
  }
  static bool Await(const std::function<bool()>& holds) { return AwaitWithin(kStartMax, holds); }

  // Claims one of the caller's instances, or gives back what it has.
  void Act(Caller* caller) {
    const pb::Instance record = Get(caller->instances[caller->random() % kInstances]);
    record.host().empty() ? Claim(record, caller) : Abort(record, caller);
  }
  void Claim(const pb::Instance& record, Caller* caller) {
    tracker_pb::ClaimInstanceRequest request;
    request.set_node_uuid(node_);
    *request.mutable_instance() = record;
    tracker_pb::ClaimInstanceResponse response;
    const grpc::Status status =
        claims_->ClaimInstance(CallWithin(kClaimCallMax).get(), request, &response);
    if (!status.ok()) {
      caller->refusal = status.error_message();
      return;
    }
    const int cpu = response.claim().numa_cells(0).pinning().at(0);
    EXPECT_EQ(Get(record.uuid()).host(), kClaimedHost)
        << "a claim was answered before it was recorded";
    caller->granted[record.uuid()] = cpu;
    ++grants_;
  }
  void Abort(const pb::Instance& record, Caller* caller) {
    tracker_pb::AbortClaimRequest request;
    request.set_node_uuid(node_);
    request.set_claim_id(absl::StrCat(record.uuid(), "/", record.claimed_generation()));
    tracker_pb::AbortClaimResponse response;
    caller->granted.erase(record.uuid());
    claims_->AbortClaim(CallWithin(kClaimCallMax).get(), request, &response);
  }

  // Kills the tracker while the callers claim, some time after the first grant.
  void KillUnderClaims() {
    std::atomic<bool> stop = false;
    const int before = grants_;
    std::vector<std::thread> threads;
    for (Caller& caller : callers_) {
      threads.emplace_back([&, one = &caller] {
        while (!stop) Act(one);
      });
    }
    const bool grants = Await([&] { return grants_ > before; });
    const absl::Duration moment = kRunMax * (static_cast<double>(random_() % 1000) / 1000);
    EXPECT_EQ(tracker_->AwaitEnd(moment), -1) << tracker_->Log();
    tracker_->Signal(SIGKILL);
    EXPECT_EQ(tracker_->AwaitEnd(kClaimCallMax), 128 + SIGKILL);
    stop = true;
    for (std::thread& thread : threads) thread.join();
    ASSERT_TRUE(grants) << callers_[0].refusal << "\n" << callers_[1].refusal;
  }
  void CheckOwners() {
    std::map<int, std::string> owners;
    for (const Caller& caller : callers_) {
      for (const std::string& uuid : caller.instances) {
        const pb::Instance record = Get(uuid);
        const bool here = record.host() == kClaimedHost;
        if (const auto granted = caller.granted.find(uuid); granted != caller.granted.end()) {
          ASSERT_TRUE(here) << "a granted claim of " << uuid << " is lost";          // T-399
          EXPECT_EQ(record.numa_cells(0).pinning().at(0), granted->second) << uuid;  // T-399
        }
        if (!here) continue;
        const int cpu = record.numa_cells(0).pinning().at(0);
        const auto [owner, is_first] = owners.emplace(cpu, uuid);
        EXPECT_TRUE(is_first) << cpu << " belongs to " << owner->second << " and "
                              << uuid;  // T-395
      }
    }
    const auto recorded = static_cast<int64_t>(owners.size());
    EXPECT_TRUE(Await([&] { return View().account().instances().pcpus() == recorded; }))
        << View().account().DebugString();  // T-399
    EXPECT_EQ(View().account().claims().pcpus(), 0);
  }

  std::mt19937_64 random_{placement::Seed()};
  const placement::ScratchDirectory directory_;
  std::unique_ptr<tracker::LibvirtDaemon> daemon_;
  std::unique_ptr<e2e::PlacementServer> placement_;
  std::unique_ptr<pb::InstanceService::Stub> records_;
  std::unique_ptr<e2e::TrackerProcess> tracker_;
  std::unique_ptr<tracker_pb::TrackerService::Stub> claims_;
  std::string node_;
  std::atomic<int> grants_ = 0;
  std::vector<Caller> callers_ = std::vector<Caller>(kClients);
};

TEST_F(ClaimKill, GivesNothingAwayTwiceAndLosesNoGrant) {
  const char* const text = std::getenv("BERTH_KILLS");
  const int kills = text == nullptr ? 6 : std::atoi(text);
  ASSERT_NO_FATAL_FAILURE(StartTracker());
  for (const Caller& caller : callers_) {
    for (const std::string& uuid : caller.instances) {
      const grpc::Status status = e2e::Schedule(ConnectTo(placement_->address()), uuid, node_);
      ASSERT_TRUE(status.ok()) << status.error_message();
    }
  }
  for (int kill = 0; kill < kills; ++kill) {
    ASSERT_NO_FATAL_FAILURE(KillUnderClaims());
    ASSERT_NO_FATAL_FAILURE(StartTracker());
    ASSERT_NO_FATAL_FAILURE(CheckOwners());
  }
  std::printf("%d kills, %d granted claims\n", kills, grants_.load());
}

}  // namespace
}  // namespace berth::fault
