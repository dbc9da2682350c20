// Claims on one node while another node of the host is busy.
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "berth/tracker/v1/tracker.grpc.pb.h"
#include "services/process/server.h"
#include "services/tracker/host.h"
#include "services/tracker/service.h"
#include "tests/tracker/facts/test_data.h"
#include "tracker/ground/boot_clock.h"

namespace berth::services {
namespace {

namespace tracker_pb = berth::tracker::v1;

grpc::StatusCode ClaimOn(const tracker::Node& node, tracker_pb::TrackerService::Stub* stub,
                         std::chrono::seconds patience = std::chrono::seconds(20)) {
  tracker_pb::ClaimInstanceRequest request;
  request.set_node_uuid(node.identity()->uuid.ToString());
  placement::v1::Instance& instance = *request.mutable_instance();
  instance.set_uuid(tracker::Uuid::Random().ToString());
  instance.set_generation(1);
  instance.set_project_id("p");
  instance.set_user_id("u");
  instance.set_vm_state("building");
  instance.mutable_flavor()->set_vcpus(1);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + patience);
  tracker_pb::ClaimInstanceResponse response;
  return stub->ClaimInstance(&context, request, &response).error_code();
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
  release.set_value();
  holder.join();
  EXPECT_EQ(ClaimOn(*busy, stub.get()),
            grpc::StatusCode::UNAVAILABLE);  // it has records now, and no session
  (*server)->Drain([&host] { host.Stop(); });
  std::filesystem::remove_all(configuration.state_path);
}

}  // namespace
}  // namespace berth::services
