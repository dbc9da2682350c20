// A tracker that is killed, and a placement that is away: one pass later placement knows what the host
// has, and of a host that did not change it hears nothing (T-393, T-399).
//
// Real programs over a real libvirt; the trackers run no passes but those that a start, an event or an
// order causes. BERTH_KILLS says how often the tracker is killed (default 4), BERTH_AWAY_SECONDS how
// long placement is away each time (default 1).
#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/fleet.grpc.pb.h"
#include "berth/placement/v1/inventory.grpc.pb.h"
#include "berth/placement/v1/provider.grpc.pb.h"
#include "berth/tracker/v1/tracker.grpc.pb.h"
#include "tests/fault/await.h"
#include "tests/fault/claim_client.h"
#include "tests/processes/placement_server.h"
#include "tests/processes/test_host.h"
#include "tests/processes/tracker_process.h"
#include "tests/worlds/seed.h"

namespace berth::fault {
namespace {

namespace pb = ::berth::placement::v1;

constexpr char kHost[] = "killed-host";
constexpr absl::Duration kReturnMax =
    absl::Seconds(90);  // the longest pause between two tries is 60 s
constexpr absl::Duration kCallMax = absl::Seconds(20);
constexpr int64_t kReservedMemoryMib = 512;  // the tracker's default
constexpr double kCpuRatio = 4;              // as well
constexpr size_t kGuestsMax = 5;

int FromEnvironment(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::max(1, std::atoi(text));
}

bool AwaitReturn(const std::function<bool()>& condition) {
  return AwaitWithin(kReturnMax, condition);
}

std::string InventoryText(const std::string& name, int64_t total, int64_t reserved, double ratio) {
  return absl::StrCat(name, " total ", total, " reserved ", reserved, " ratio ", ratio);
}

// What placement holds of all hosts, and what it should hold, as text to compare.
std::string Text(std::vector<std::string> providers, std::vector<std::string> inventories,
                 const std::vector<std::string>& traits, const std::vector<std::string>& orphans) {
  return absl::StrCat("providers ", absl::StrJoin(providers, ", "), "\n",
                      absl::StrJoin(inventories, "\n"), "\ntraits ", absl::StrJoin(traits, " "),
                      "\norphans\n", absl::StrJoin(orphans, "\n"));
}

class TrackerFault : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    host_ = TestHost::Start(&why);
    if (host_ == nullptr) GTEST_SKIP() << "no private libvirt daemon: " << why;
    url_ = placement::NewDatabase();
    StartPlacement();
  }

  void StartPlacement() {
    placement_ = std::make_unique<e2e::PlacementServer>(
        directory_.path(), std::vector<std::string>{"--database=" + url_, "--listen=" + address(),
                                                    "--drain-delay=0s"});
    const absl::Status started = placement_->AwaitAddress();
    ASSERT_TRUE(started.ok()) << started.message();
    channel_ = ConnectTo(address());
  }
  void StartTracker() {
    tracker_ = std::make_unique<e2e::TrackerProcess>(
        directory_.path(),
        std::vector<std::string>{"--placement=" + address(), "--hypervisor=" + host_->uri(),
                                 std::string("--host=") + kHost, "--update-resources-interval=-1",
                                 "--orphan-confirmation=0s",
                                 "--instances-path=/proc",  // on which no disk fills up
                                 "--log-level=debug"});
  }
  void KillTracker() {
    tracker_->Signal(SIGKILL);
    EXPECT_EQ(tracker_->AwaitEnd(kCallMax), 128 + SIGKILL) << tracker_->Log();
  }
  // One that was not long connected waits long before it tries again: a new one does not.
  void RestartTracker() {
    KillTracker();
    StartTracker();
  }
  // A moment in which the tracker does what it likes, but does not end.
  void LetTrackerRun(absl::Duration moment) {
    EXPECT_EQ(tracker_->AwaitEnd(moment), -1) << tracker_->Log();
  }
  void ChangeHost() {
    const size_t guests = host_->Running().size();
    const bool more = guests == 0 || (guests < kGuestsMax && random_() % 2 == 0);
    more ? host_->StartGuest(random_()) : host_->StopGuest(random_());
  }
  absl::Duration Moment(absl::Duration limit) {
    return limit * (static_cast<double>(random_() % 1000) / 1000);
  }

  std::string address() const { return "unix:" + directory_.path() + "/socket"; }

  template <typename Service, typename Request, typename Response>
  grpc::Status Call(grpc::Status (Service::Stub::*method)(grpc::ClientContext*, const Request&,
                                                          Response*),
                    const Request& request, Response* response) {
    const auto stub = Service::NewStub(channel_);
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + kCallMax));
    return (stub.get()->*method)(&context, request, response);
  }

  // The only node there is; nothing where there is none.
  std::optional<pb::Node> FindNode() {
    pb::ListNodesRequest request;
    request.set_view(pb::NODE_VIEW_FULL);
    pb::ListNodesResponse response;
    const grpc::Status status =
        Call<pb::FleetService>(&pb::FleetService::Stub::ListNodes, request, &response);
    if (!status.ok() || response.nodes().empty()) return std::nullopt;
    EXPECT_EQ(response.nodes_size(), 1) << response.DebugString();
    return response.nodes(0);
  }
  std::vector<pb::Provider> Providers() {
    pb::ListProvidersRequest request;
    request.set_view(pb::PROVIDER_VIEW_FULL);
    pb::ListProvidersResponse response;
    Call<pb::ProviderService>(&pb::ProviderService::Stub::ListProviders, request, &response);
    return {response.providers().begin(), response.providers().end()};
  }

  std::string Held() {
    std::vector<std::string> providers, inventories, traits, orphans;
    for (const pb::Provider& provider : Providers()) {
      providers.push_back(absl::StrCat(provider.uuid(), provider.parent_uuid(), " of ",
                                       provider.owner().host(), " named ", provider.name()));
      for (const auto& [name, one] : std::map<std::string, pb::Inventory>(
               provider.inventories().begin(), provider.inventories().end())) {
        inventories.push_back(
            InventoryText(name, one.total(), one.reserved(), one.allocation_ratio()));
      }
      for (const std::string& trait : provider.traits()) traits.push_back(trait);
    }
    const std::optional<pb::Node> node = FindNode();
    if (!node) return "no node";
    for (const pb::Orphan& orphan : node->orphans()) {
      orphans.push_back(absl::StrCat(orphan.uuid(), " ", orphan.vcpus(), " ", orphan.memory_mib(),
                                     orphan.withheld() ? " withheld" : ""));
    }
    return Text(providers, inventories, traits, orphans);
  }

  // What libvirt says, by the rules of the report: guests that nobody claims are withheld.
  std::string Real() {
    int64_t vcpus = 0, memory_mib = kReservedMemoryMib;
    std::vector<std::string> orphans;
    for (const RunningGuest& guest : host_->Running()) {
      vcpus += guest.vcpus;
      memory_mib += guest.memory_mib;
      orphans.push_back(
          absl::StrCat(guest.uuid, " ", guest.vcpus, " ", guest.memory_mib, " withheld"));
    }
    const int64_t cpus_withheld =
        std::min(host_->cpus(), static_cast<int64_t>(std::ceil(vcpus / kCpuRatio)));
    return Text({absl::StrCat(Identity(), " of ", kHost, " named ", host_->name())},
                {InventoryText("MEMORY_MB", host_->memory_mib(), memory_mib, 1),
                 InventoryText("VCPU", host_->cpus(), cpus_withheld, kCpuRatio)},
                traits_, orphans);
  }
  // The node's uuid, as the tracker's state directory has it.
  std::string Identity() {
    std::ifstream file(directory_.path() + "/state/compute_id");
    std::string text;
    std::getline(file, text);
    return std::string(absl::StripAsciiWhitespace(text));
  }

  // The tracker comes up, and what it has to tell is told: what the host has at its first sight.
  void LearnTraits() {
    StartTracker();
    ASSERT_TRUE(AwaitReturn([this] {
      const std::vector<pb::Provider> providers = Providers();
      if (providers.empty()) return false;
      traits_.assign(providers[0].traits().begin(), providers[0].traits().end());
      return !traits_.empty();
    })) << tracker_->Log();
    EXPECT_THAT(traits_, testing::Contains("COMPUTE_NODE"));
  }

  // Without any order: the start, the events and the stream's own return bring it.
  void AwaitRight(const std::string& when) {
    ASSERT_TRUE(AwaitReturn([this] { return Held() == Real(); })) << when << "\nheld:\n"
                                                                  << Held() << "\nreal:\n"
                                                                  << Real() << "\n"
                                                                  << tracker_->Log();
  }

  // Has the node audited through placement, which answers once it has what the pass caused.
  void Audit() {
    grpc::Status status;
    EXPECT_TRUE(AwaitReturn([&] {
      pb::AuditNodeRequest request;
      request.set_node_uuid(Identity());
      pb::AuditNodeResponse response;
      status = Call<pb::FleetService>(&pb::FleetService::Stub::AuditNode, request, &response);
      if (status.ok()) {
        EXPECT_EQ(response.audit().result(), pb::AUDIT_RESULT_COMPLETE);
      }
      return status.ok();
    })) << status.error_message();
  }
  // How many reports the tracker has sent in its life.
  int64_t ReportsSent() {
    EXPECT_TRUE(tracker_->AwaitAddress().ok());
    const auto stub = tracker::v1::TrackerService::NewStub(ConnectTo(tracker_->address()));
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + kCallMax));
    tracker::v1::ListNodesResponse response;
    const grpc::Status status = stub->ListNodes(&context, {}, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.nodes_size() == 1 ? response.nodes(0).sequence() : -1;
  }
  // Once one pass has told what there is to tell, `passes` more have nothing to add.
  void ExpectSilence(int passes) {
    Audit();
    const int64_t sent = ReportsSent();
    for (int pass = 0; pass < passes; ++pass) Audit();
    EXPECT_EQ(ReportsSent(), sent);  // T-393
    EXPECT_EQ(Held(), Real());
  }

  // Somebody else changes what the tracker answers for. A report of the tracker may come between.
  void Meddle() {
    pb::UpdateInventoryRequest request;
    request.set_resource_class("MEMORY_MB");
    request.mutable_inventory()->set_total(1 + static_cast<int64_t>(random_() % 100000));
    pb::UpdateInventoryResponse response;
    grpc::Status status;
    EXPECT_TRUE(AwaitReturn([&] {
      const pb::Provider provider = Providers().at(0);
      request.set_provider_uuid(provider.uuid());
      request.set_expected_generation(provider.generation());
      status = Call<pb::InventoryService>(&pb::InventoryService::Stub::UpdateInventory, request,
                                          &response);
      return status.ok();
    })) << status.error_message();
  }
  void StopPlacement(int signal) {
    placement_->Signal(signal);
    EXPECT_EQ(placement_->AwaitEnd(absl::Seconds(60)), signal == SIGKILL ? 128 + SIGKILL : 0)
        << placement_->Log();
  }

  std::mt19937_64 random_{placement::Seed()};
  const placement::ScratchDirectory directory_;
  std::string url_;
  std::unique_ptr<TestHost> host_;
  std::unique_ptr<e2e::PlacementServer> placement_;
  std::unique_ptr<e2e::TrackerProcess> tracker_;
  std::shared_ptr<grpc::Channel> channel_;
  std::vector<std::string> traits_;
};

void Print(const char* what, std::vector<absl::Duration> times) {
  std::sort(times.begin(), times.end());
  std::printf("%s, %zu times: median %.2f s, at most %.2f s\n", what, times.size(),
              absl::ToDoubleSeconds(times[times.size() / 2]), absl::ToDoubleSeconds(times.back()));
}

TEST_F(TrackerFault, AKilledTrackerIsRightAgainAfterOnePass) {
  for (int kill = 0; kill < 3; ++kill) {  // also where its identity is made
    StartTracker();
    LetTrackerRun(Moment(absl::Milliseconds(200)));
    KillTracker();
  }
  ASSERT_NO_FATAL_FAILURE(LearnTraits());
  ASSERT_NO_FATAL_FAILURE(AwaitRight("at first"));
  std::vector<absl::Duration> returns;
  for (int kill = 0; kill < FromEnvironment("BERTH_KILLS", 4); ++kill) {
    ChangeHost();
    LetTrackerRun(Moment(absl::Milliseconds(200)));
    KillTracker();
    if (random_() % 2 == 0) ChangeHost();
    if (random_() % 2 == 0) Meddle();
    if (random_() % 2 == 0) {
      StartTracker();
      LetTrackerRun(Moment(absl::Milliseconds(600)));
      KillTracker();
    }
    const absl::Time started = absl::Now();
    StartTracker();
    ASSERT_NO_FATAL_FAILURE(AwaitRight(absl::StrCat("after kill ", kill)));  // T-399
    returns.push_back(absl::Now() - started);
    ExpectSilence(1);
  }
  ExpectSilence(10);
  // Nobody's guarded write on this host is disturbed by a tracker that comes back to an unchanged one.
  const int64_t generation = Providers().at(0).generation();
  RestartTracker();
  ExpectSilence(1);
  EXPECT_EQ(Providers().at(0).generation(), generation);
  Print("from a tracker's start to the right view of its host", returns);
}

TEST_F(TrackerFault, APlacementThatWasAwayIsRightAgainAfterOnePass) {
  const absl::Duration away = absl::Seconds(FromEnvironment("BERTH_AWAY_SECONDS", 1));
  ASSERT_NO_FATAL_FAILURE(LearnTraits());
  for (const int signal : {SIGKILL, SIGTERM}) {
    RestartTracker();
    ChangeHost();
    ASSERT_NO_FATAL_FAILURE(AwaitRight("before"));
    ExpectSilence(1);
    const std::string before = Real();
    StopPlacement(signal);
    for (int change = 0; change < 4; ++change) {
      ChangeHost();
      LetTrackerRun(away / 4);
    }
    const int64_t sent = ReportsSent();
    StartPlacement();
    const absl::Time back = absl::Now();
    ASSERT_NO_FATAL_FAILURE(AwaitRight(absl::StrCat("after signal ", signal)));  // T-399
    Print(absl::StrCat("away for ", absl::FormatDuration(away), " by signal ", signal,
                       "; from its return to the right view")
              .c_str(),
          {absl::Now() - back});
    EXPECT_EQ(ReportsSent() - sent, Real() == before ? 0 : 1);  // the newest wins, T-231
    ExpectSilence(1);
  }
  // Known by its digest: back to an unchanged host, nothing is sent.
  RestartTracker();
  ExpectSilence(1);
  const int64_t sent = ReportsSent();
  StopPlacement(SIGKILL);
  StartPlacement();
  ExpectSilence(10);
  EXPECT_EQ(ReportsSent(), sent);
}

TEST_F(TrackerFault, AReportInFlightIsNotLostWithPlacement) {
  ASSERT_NO_FATAL_FAILURE(LearnTraits());
  for (int kill = 0; kill < 2; ++kill) {
    RestartTracker();
    ExpectSilence(1);
    ChangeHost();
    LetTrackerRun(Moment(absl::Milliseconds(100)));  // an event's pass gathers for 50 ms
    StopPlacement(SIGKILL);
    StartPlacement();
    ASSERT_NO_FATAL_FAILURE(AwaitRight(absl::StrCat("after kill ", kill)));
    ExpectSilence(1);
  }
}

}  // namespace
}  // namespace berth::fault
