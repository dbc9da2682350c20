// Claims on one node while another node of the host is busy.
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "berth/tracker/v1/tracker.grpc.pb.h"
#include "services/process/server.h"
#include "services/tracker/host.h"
#include "services/tracker/service.h"
#include "tests/tracker/facts/test_data.h"
#include "tracker/ground/boot_clock.h"

namespace berth::services {
namespace {

namespace tracker_pb = berth::tracker::v1;

tracker_pb::ClaimInstanceRequest ClaimFor(const tracker::Node& node) {
  tracker_pb::ClaimInstanceRequest request;
  request.set_node_uuid(node.identity()->uuid.ToString());
  placement::v1::Instance& instance = *request.mutable_instance();
  instance.set_uuid(tracker::Uuid::Random().ToString());
  instance.set_generation(1);
  instance.set_project_id("p");
  instance.set_user_id("u");
  instance.set_vm_state("building");
  instance.mutable_flavor()->set_vcpus(1);
  return request;
}

grpc::StatusCode ClaimOn(const tracker::Node& node, tracker_pb::TrackerService::Stub* stub,
                         std::chrono::seconds patience = std::chrono::seconds(20)) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + patience);
  tracker_pb::ClaimInstanceResponse response;
  return stub->ClaimInstance(&context, ClaimFor(node), &response).error_code();
}

// Sends more claims at once than may wait for the node. Returns how many of them found no place.
int FloodWithClaims(const tracker::Node& node, const std::string& address) {
  constexpr size_t kClaims = 1100;
  constexpr size_t kConnections = 2;  // of which each has at most 1,024 calls
  struct Claim {
    grpc::ClientContext context;
    tracker_pb::ClaimInstanceResponse response;
  };
  std::vector<std::unique_ptr<tracker_pb::TrackerService::Stub>> stubs;
  for (size_t i = 0; i < kConnections; ++i) {
    grpc::ChannelArguments own;
    own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    stubs.push_back(tracker_pb::TrackerService::NewStub(
        grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), own)));
  }
  const tracker_pb::ClaimInstanceRequest request = ClaimFor(node);
  std::atomic<int> refused{0};
  std::atomic<size_t> open{kClaims};
  std::promise<void> all;
  std::vector<Claim> claims(kClaims);
  for (size_t i = 0; i < kClaims; ++i) {
    claims[i].context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(3));
    stubs[i % kConnections]->async()->ClaimInstance(
        &claims[i].context, &request, &claims[i].response, [&](const grpc::Status& status) {
          if (status.error_code() == grpc::StatusCode::UNAVAILABLE) ++refused;
          if (--open == 0) all.set_value();
        });
  }
  all.get_future().wait();
  return refused;
}

TEST(ClaimThreads, AClaimDoesNotWaitForTheLockOfAnotherNode) {
  char path[] = "/tmp/berth-threads-XXXXXX";
  tracker::Configuration configuration;
  configuration.host = "h";
  configuration.my_address = "127.0.0.1";
  configuration.state_path = mkdtemp(path);
  configuration.update_resources_interval_seconds = -1;
  configuration.nodes.resize(2);
  configuration.nodes[0].name = "busy";
  configuration.nodes[0].uri = "test:///default";
  configuration.nodes[1].name = "idle";
  configuration.nodes[1].uri = "test://" + tracker::TestDataPath("three_guests.xml");
  TrackerHost host(configuration);
  ASSERT_TRUE(host.Start([] { return false; }).ok());
  Metrics metrics("tracker");
  const std::unique_ptr<grpc::Service> service = MakeTrackerService(&host, "i", &metrics);
  ServerOptions options;
  options.listen = {"127.0.0.1:0"};
  auto server = Server::Start(options, {service.get()});
  ASSERT_TRUE(server.ok()) << server.status();
  const auto stub = tracker_pb::TrackerService::NewStub(
      grpc::CreateChannel((*server)->addresses()[0], grpc::InsecureChannelCredentials()));

  tracker::Node* const busy = host.runners()[0]->node();
  std::promise<void> held, release;
  std::thread holder([&] {
    const auto hold = [&](tracker::Records*, tracker::NodeAccount*) {
      held.set_value();
      release.get_future().wait();
      return false;
    };
    busy->ChangeRecords(hold, tracker::BootClock::now());
  });
  held.get_future().wait();
  // Its thread goes on waiting for the lock when the caller has gone.
  EXPECT_EQ(ClaimOn(*busy, stub.get(), std::chrono::seconds(1)),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(ClaimOn(*host.runners()[1]->node(), stub.get()),
            grpc::StatusCode::FAILED_PRECONDITION)  // T-153: placement has sent no records
      << "and was not left to wait";                // T-180
  ::testing::internal::CaptureStderr();
  EXPECT_GT(FloodWithClaims(*busy, (*server)->addresses()[0]), 1);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("a call was refused caller=anonymous "
                     "method=berth.tracker.v1.TrackerService/ClaimInstance reason=OVERLOADED"),
            std::string::npos)
      << log;
  EXPECT_LE(std::count(log.begin(), log.end(), '\n'), 10) << log;
  release.set_value();
  holder.join();
  EXPECT_EQ(ClaimOn(*busy, stub.get()),
            grpc::StatusCode::UNAVAILABLE);  // it has records now, and no session
  (*server)->Drain([&host] { host.Stop(); });
  std::filesystem::remove_all(configuration.state_path);
}

}  // namespace
}  // namespace berth::services
