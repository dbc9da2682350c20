// The wall clock of a placement process is set an hour back or forwards while the process runs. A
// host that has died is found, a host that lives stays up, calls are answered, leases end when they
// should, and the writer comes back with its database. A limit is three times what is promised.
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/allocation.grpc.pb.h"
#include "berth/placement/v1/fleet.grpc.pb.h"
#include "berth/placement/v1/inventory.grpc.pb.h"
#include "berth/placement/v1/ledger.grpc.pb.h"
#include "berth/placement/v1/provider.grpc.pb.h"
#include "placement/ground/uuid.h"
#include "tests/fault/await.h"
#include "tests/fault/claim_client.h"
#include "tests/processes/service_process.h"
#include "tests/processes/test_host.h"
#include "tests/processes/tracker_process.h"
#include "tests/processes/wall_clock.h"

namespace berth::fault {
namespace {

namespace pb = ::berth::placement::v1;

constexpr absl::Duration kDownTime = absl::Seconds(6);
constexpr absl::Duration kCounted = absl::Seconds(6);  // until Abseil goes by the counter
constexpr absl::Duration kLease = absl::Seconds(3);
constexpr absl::Duration kWriteMax = absl::Seconds(30);
constexpr absl::Duration kDatabaseReturnMax =
    absl::Seconds(15);  // after the database has come back
constexpr absl::Duration kWaitMax = absl::Seconds(60);
constexpr int kTimesPromised = 3;

bool Await(const std::function<bool()>& condition) { return AwaitWithin(kWaitMax, condition); }

// Sends a request with a deadline of `limit`.
template <typename Stub, typename Request, typename Response>
grpc::Status Call(Stub* stub,
                  grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                  const Request& request, Response* response, absl::Duration limit = kWriteMax) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + limit));
  return (stub->*method)(&context, request, response);
}

class PlacementClock : public testing::Test {
 protected:
  void SetUp() override {
    placement_ = std::make_unique<e2e::ServiceProcess>(
        directory_.path(), "placement",
        clock_.Under({BERTH_PLACEMENT_PROGRAM, "--database=" + url_ + "&connect_timeout=60",
                      "--staleness-max=60s",
                      absl::StrCat("--service-down-time=", absl::FormatDuration(kDownTime))}));
    ASSERT_TRUE(placement_->AwaitAddress().ok()) << placement_->Log();
    const auto channel = ConnectTo(placement_->address());
    allocations_ = pb::AllocationService::NewStub(channel);
    fleet_ = pb::FleetService::NewStub(channel);
    ledger_ = pb::LedgerService::NewStub(channel);
    const auto providers = pb::ProviderService::NewStub(channel);
    pb::CreateProviderRequest create;
    create.set_name("host");
    pb::CreateProviderResponse created;
    ASSERT_TRUE(
        Call(providers.get(), &pb::ProviderService::Stub::CreateProvider, create, &created).ok());
    provider_ = created.provider().uuid();
    pb::SetInventoriesRequest set;
    set.set_provider_uuid(provider_);
    set.set_expected_generation(created.provider().generation());
    (*set.mutable_inventories())["VCPU"].set_total(1'000'000);
    pb::SetInventoriesResponse answer;
    const auto inventories = pb::InventoryService::NewStub(channel);
    ASSERT_TRUE(
        Call(inventories.get(), &pb::InventoryService::Stub::SetInventories, set, &answer).ok());
  }

  // Starts a tracker, and waits until its service is up. Returns false if there is no host.
  bool StartTracker(std::string* why) {
    host_ = TestHost::Start(why);
    if (host_ == nullptr) return false;
    tracker_ = std::make_unique<e2e::TrackerProcess>(
        directory_.path(),
        std::vector<std::string>{"--placement=" + placement_->address(),
                                 "--hypervisor=" + host_->uri(), "--host=stepped-host"});
    EXPECT_TRUE(Await([this] { return Is(pb::SERVICE_STATE_UP); })) << tracker_->Log();
    return true;
  }
  // Whether the only service has this state.
  bool Is(pb::ServiceState state) {
    pb::ListServicesResponse listed;
    const grpc::Status status =
        Call(fleet_.get(), &pb::FleetService::Stub::ListServices, {}, &listed);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return listed.services_size() == 1 && listed.services(0).state() == state;
  }
  // Claims for a new consumer, with a lease if `lease` is above zero.
  grpc::Status Claim(absl::Duration lease = absl::ZeroDuration()) {
    pb::SetAllocationsRequest request;
    pb::ConsumerAllocations& consumer = *request.add_consumers();
    consumer.set_consumer_uuid(placement::Uuid::Random().ToString());
    consumer.mutable_new_consumer();
    consumer.set_project_id("p");
    consumer.set_user_id("u");
    consumer.set_consumer_type("INSTANCE");
    if (lease > absl::ZeroDuration()) {
      consumer.mutable_lease()->set_seconds(absl::ToInt64Seconds(lease));
    }
    pb::ProviderAllocation& allocation = *consumer.add_allocations();
    allocation.set_provider_uuid(provider_);
    (*allocation.mutable_resources())["VCPU"] = 1;
    pb::SetAllocationsResponse response;
    return Call(allocations_.get(), &pb::AllocationService::Stub::SetAllocations, request,
                &response);
  }
  void ExpectClaim() {
    const grpc::Status status = Claim();
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  pb::Revision Newest() {
    pb::GetRevisionResponse response;
    EXPECT_TRUE(Call(ledger_.get(), &pb::LedgerService::Stub::GetRevision, {}, &response).ok());
    return response.revision();
  }
  // A read that waits for the revision after the newest one. When this returns, placement has begun
  // it: calls on the same connection that came later have been answered.
  std::future<grpc::Status> ReadOfNext() {
    pb::GetAllocationsRequest request;
    *request.mutable_minimum_revision() = Newest();
    request.mutable_minimum_revision()->set_number(request.minimum_revision().number() + 1);
    request.mutable_minimum_revision()->clear_batch();
    request.set_consumer_uuid(placement::Uuid::Random().ToString());
    auto read = std::async(std::launch::async, [this, request] {
      pb::GetAllocationsResponse response;
      return Call(allocations_.get(), &pb::AllocationService::Stub::GetAllocations, request,
                  &response, kWaitMax);
    });
    for (int i = 0; i < 100; ++i) Newest();
    return read;
  }
  int64_t Consumers() {
    const auto database = placement::ConnectOrDie(url_);
    return std::stoll(placement::QueryOne(*database, "SELECT count(*) FROM consumer"));
  }

  const placement::ScratchDirectory directory_;
  const e2e::WallClock clock_;
  const std::string url_ = placement::NewDatabase();
  std::unique_ptr<e2e::ServiceProcess> placement_;
  std::unique_ptr<TestHost> host_;
  std::unique_ptr<e2e::TrackerProcess> tracker_;
  std::unique_ptr<pb::AllocationService::Stub> allocations_;
  std::unique_ptr<pb::FleetService::Stub> fleet_;
  std::unique_ptr<pb::LedgerService::Stub> ledger_;
  std::string provider_;
};

TEST_F(PlacementClock, SetBackHidesNoDeadHost) {
  std::string why;
  if (!StartTracker(&why)) GTEST_SKIP() << "no private libvirt daemon: " << why;
  tracker_->Signal(SIGKILL);
  const absl::Time killed = absl::Now();
  clock_.SetAhead(-absl::Hours(1));
  ExpectClaim();
  EXPECT_TRUE(Await([this] { return Is(pb::SERVICE_STATE_DOWN); })) << placement_->Log();
  EXPECT_LT(absl::Now() - killed, kTimesPromised * kDownTime);  // T-292
}

TEST_F(PlacementClock, SetForwardsTakesNoLivingHostDown) {
  std::string why;
  if (!StartTracker(&why)) GTEST_SKIP() << "no private libvirt daemon: " << why;
  const absl::Time until = absl::Now() + kTimesPromised * kDownTime;
  // Again and again, so that some judgement comes after a step and before the next heartbeat.
  for (int hours = 1; absl::Now() < until; ++hours) {
    clock_.SetAhead(absl::Hours(hours));
    ASSERT_TRUE(Is(pb::SERVICE_STATE_UP)) << placement_->Log();  // T-292
    ExpectClaim();
  }
  EXPECT_FALSE(absl::StrContains(placement_->Log(), "a service is down")) << placement_->Log();
}

TEST_F(PlacementClock, CallsKeepTheirDeadlines) {
  for (const absl::Duration ahead : {absl::Hours(1), -absl::Hours(1)}) {
    std::future<grpc::Status> read = ReadOfNext();
    clock_.SetAhead(ahead);
    // Meanwhile the timer, which looks at deadlines, has its turn.
    EXPECT_EQ(read.wait_for(std::chrono::milliseconds(500)), std::future_status::timeout);
    ExpectClaim();
    const grpc::Status status = read.get();
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
}

// Abseil goes by the processor's counter for seconds, once it has compared it with the wall clock.
TEST_F(PlacementClock, SetBackTakesNoTimeFromACall) {
  const absl::Time until = absl::Now() + kCounted;
  while (absl::Now() < until) ExpectClaim();
  clock_.SetAhead(-absl::Hours(1));
  for (int i = 0; i < 10; ++i) ExpectClaim();
}

TEST_F(PlacementClock, LeasesEndWhenTheyShould) {
  for (const absl::Duration ahead : {absl::Hours(1), -absl::Hours(1)}) {
    ASSERT_EQ(Consumers(), 0);
    const absl::Time asked = absl::Now();
    ASSERT_TRUE(Claim(kLease).ok());
    const absl::Time claimed = absl::Now();
    clock_.SetAhead(ahead);
    EXPECT_TRUE(Await([this] { return Consumers() == 0; }));
    EXPECT_GE(absl::Now() - asked, kLease);
    EXPECT_LT(absl::Now() - claimed, kTimesPromised * kLease);
  }
}

// While the database is away, the writer rests between its attempts to connect.
TEST_F(PlacementClock, SetBackStopsNoWriter) {
  placement::KillServer(placement::PrivateCluster());
  ASSERT_TRUE(Await([this] { return !Claim().ok(); }));
  clock_.SetAhead(-absl::Hours(1));
  placement::RestartServer(placement::PrivateCluster());
  const absl::Time restarted = absl::Now();
  EXPECT_TRUE(Await([this] { return Claim().ok(); })) << placement_->Log();
  EXPECT_LT(absl::Now() - restarted, kDatabaseReturnMax);
}

}  // namespace
}  // namespace berth::fault
