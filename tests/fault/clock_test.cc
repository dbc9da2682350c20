// Wall clocks that are set an hour forwards or back while a tracker or placement runs: passes,
// orphans, claims, heartbeats and the state of the service go on as before.
#include "absl/time/clock.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "berth/placement/v1/fleet.grpc.pb.h"
#include "berth/placement/v1/instance.grpc.pb.h"
#include "berth/tracker/v1/tracker.grpc.pb.h"
#include "placement/ground/uuid.h"
#include "tests/fault/await.h"
#include "tests/fault/call_within.h"
#include "tests/fault/claim_client.h"
#include "tests/processes/placement_server.h"
#include "tests/processes/scheduled.h"
#include "tests/processes/test_host.h"
#include "tests/processes/wall_clock.h"

namespace berth::fault {
namespace {

namespace pb = ::berth::placement::v1;
namespace tracker_pb = ::berth::tracker::v1;

constexpr absl::Duration kStepMax = absl::Seconds(60);

class SteppedClock : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    host_ = TestHost::Start(&why);
    if (host_ == nullptr) GTEST_SKIP() << "no private libvirt daemon: " << why;
    placement_ = e2e::StartOrDie(directory_.path());
    tracker_ = std::make_unique<e2e::ServiceProcess>(
        directory_.path(), "tracker",
        clock_.Under({BERTH_TRACKER_PROGRAM, "--host=stepped-host",
                      "--state-dir=" + directory_.path() + "/state",
                      "--placement=" + placement_->address(), "--hypervisor=" + host_->uri(),
                      "--instances-path=/proc", "--update-resources-interval=-1",
                      "--orphan-confirmation=1s"}));
    ASSERT_TRUE(tracker_->AwaitAddress().ok()) << tracker_->Log();
    claims_ = tracker_pb::TrackerService::NewStub(ConnectTo(tracker_->address()));
    const auto channel = ConnectTo(placement_->address());
    records_ = pb::InstanceService::NewStub(channel);
    fleet_ = pb::FleetService::NewStub(channel);
    ASSERT_TRUE(AwaitWithin(kStepMax, [this] {
      const tracker_pb::GetNodeViewResponse view = View();
      return view.node().acknowledged_sequence() > 0 && view.providers_size() > 0;
    })) << tracker_->Log();
  }

  tracker_pb::GetNodeViewResponse View() {
    tracker_pb::GetNodeViewResponse view;
    claims_->GetNodeView(CallWithin(kStepMax).get(), {}, &view);
    return view;
  }
  // When the last pass began, by the tracker's clock.
  absl::Time LastPass() {
    return absl::FromUnixSeconds(View().node().audit().started_at().seconds());
  }
  // Orders passes until one begins at such a time. Abseil looks at the kernel's clock only every few
  // seconds, so the first ones may still have the time of before.
  bool AwaitPass(const std::function<bool(absl::Time)>& is_such) {
    return AwaitWithin(kStepMax, [&] {
      tracker_pb::AuditNowResponse audited;
      const grpc::Status status = claims_->AuditNow(CallWithin(kStepMax).get(), {}, &audited);
      EXPECT_TRUE(status.ok()) << status.error_message();
      return is_such(LastPass());
    });
  }
  pb::Service Service() {
    pb::ListServicesResponse listed;
    const grpc::Status status = fleet_->ListServices(CallWithin(kStepMax).get(), {}, &listed);
    EXPECT_EQ(listed.services_size(), 1) << status.error_message();
    return listed.services_size() == 1 ? listed.services(0) : pb::Service();
  }
  // Claims a new instance of 64 MiB; returns the claim's id.
  std::string Claim() {
    pb::SetInstanceRequest set;
    pb::Instance& instance = *set.mutable_instance();
    instance.set_uuid(placement::Uuid::Random().ToString());
    instance.set_project_id("p");
    instance.set_user_id("u");
    instance.set_vm_state("building");
    instance.set_task_state("spawning");
    instance.mutable_flavor()->set_vcpus(1);
    instance.mutable_flavor()->set_memory_mib(64);
    pb::SetInstanceResponse stored;
    EXPECT_TRUE(records_->SetInstance(CallWithin(kStepMax).get(), set, &stored).ok());
    tracker_pb::ClaimInstanceRequest claim;
    claim.set_node_uuid(View().node().node_uuid());
    EXPECT_TRUE(
        e2e::Schedule(ConnectTo(placement_->address()), instance.uuid(), claim.node_uuid()).ok());
    *claim.mutable_instance() = stored.instance();
    tracker_pb::ClaimInstanceResponse claimed;
    const grpc::Status status = claims_->ClaimInstance(CallWithin(kStepMax).get(), claim, &claimed);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return claimed.claim().claim_id();
  }
  bool Abort(const std::string& claim_id) {
    tracker_pb::AbortClaimRequest abort;
    abort.set_node_uuid(View().node().node_uuid());
    abort.set_claim_id(claim_id);
    tracker_pb::AbortClaimResponse aborted;
    return claims_->AbortClaim(CallWithin(kStepMax).get(), abort, &aborted).ok() &&
           aborted.aborted();
  }
  // A guest that nobody recorded starts; two instances are claimed, and one of these claims was
  // made before.
  void ExpectAllGoesOn(const std::string& before, size_t orphans) {
    SCOPED_TRACE(absl::FormatTime(LastPass()));
    const int64_t beats = Service().report_count();
    host_->StartGuest(orphans);
    EXPECT_TRUE(AwaitWithin(kStepMax, [&] {
      const tracker_pb::GetNodeViewResponse view = View();
      return view.orphans_size() == static_cast<int>(orphans) && view.orphans(0).withheld() &&
             view.orphans(view.orphans_size() - 1).withheld();
    }));
    const std::string after = Claim();
    EXPECT_TRUE(Abort(before));
    EXPECT_EQ(View().account().instances().memory_mib(), 64);
    EXPECT_EQ(View().account().claims().memory_mib(), 0);
    EXPECT_TRUE(Abort(after));
    EXPECT_TRUE(AwaitWithin(kStepMax, [&] { return Service().report_count() > beats; }));  // T-382
    EXPECT_EQ(Service().state(), pb::SERVICE_STATE_UP);                                    // T-382
    EXPECT_FALSE(Service().stale_audit());
  }

  const placement::ScratchDirectory directory_;
  const e2e::WallClock clock_;
  std::unique_ptr<TestHost> host_;
  std::unique_ptr<e2e::PlacementServer> placement_;
  std::unique_ptr<e2e::ServiceProcess> tracker_;
  std::unique_ptr<tracker_pb::TrackerService::Stub> claims_;
  std::unique_ptr<pb::InstanceService::Stub> records_;
  std::unique_ptr<pb::FleetService::Stub> fleet_;
};

TEST_F(SteppedClock, OfAHostChangesNothing) {
  const absl::Time began = absl::Now();
  std::string claim = Claim();
  clock_.SetAhead(-absl::Hours(1));
  ASSERT_TRUE(AwaitPass([&](absl::Time at) { return at < began - absl::Minutes(50); }));
  ExpectAllGoesOn(claim, 1);
  claim = Claim();
  clock_.SetAhead(absl::Hours(1));
  ASSERT_TRUE(AwaitPass([&](absl::Time at) { return at > began + absl::Minutes(50); }));
  ExpectAllGoesOn(claim, 2);
  const absl::Time seen = absl::FromUnixSeconds(Service().last_seen_at().seconds());
  EXPECT_GT(seen, began - absl::Minutes(1));
  EXPECT_LT(seen, absl::Now() + absl::Minutes(1));
}

}  // namespace
}  // namespace berth::fault
