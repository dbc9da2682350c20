// What the log says when placement's pushes bring something to warn of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "services/tracker/host.h"
#include "tests/processes/fake_placement.h"
#include "tests/tracker/facts/test_data.h"
#include "tracker/ground/uuid.h"

namespace berth::services {
namespace {

using ::testing::HasSubstr;
using tracker::FakePlacement;

class PushWarningsTest : public ::testing::Test {
 protected:
  PushWarningsTest() {
    char path[] = "/tmp/berth-push-XXXXXX";
    configuration_.host = "h";
    configuration_.my_address = "127.0.0.1";
    configuration_.state_path = mkdtemp(path);
    configuration_.update_resources_interval_seconds = -1;
    configuration_.nodes.emplace_back();
    configuration_.nodes[0].name = "n1";
    configuration_.nodes[0].uri = "test://" + tracker::TestDataPath("three_guests.xml");
  }
  ~PushWarningsTest() override { std::filesystem::remove_all(configuration_.state_path); }

  tracker::Configuration configuration_;
};

TEST_F(PushWarningsTest, AreLoggedWhenThePushComes) {
  FakePlacement placement;
  TrackerHost host(configuration_);
  ASSERT_TRUE(host.Start([] { return false; }).ok());
  tracker::Uplink::Options options;
  options.target = placement.target();
  options.host = "h";
  options.incarnation = tracker::Uuid::Random().ToString();
  host.Connect(options, [](const absl::Status&) {});
  ASSERT_TRUE(placement.WaitForReports(1));
  testing::internal::CaptureStderr();
  FakePlacement::Response push;
  const std::string uuid = host.runners()[0]->node()->identity()->uuid.ToString();
  push.mutable_push()->set_node_uuid(uuid);
  placement::v1::Instance* const instance = push.mutable_push()->add_instances();
  instance->set_uuid("aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa");
  instance->set_generation(1);
  instance->set_host("h");
  instance->set_node_uuid(uuid);
  instance->add_numa_cells()->add_pinned_cpus(-1);
  placement.Say(push);
  // The order is heard after the push.
  FakePlacement::Response order;
  order.mutable_audit_order()->set_order_id("o1");
  placement.Say(order);
  EXPECT_TRUE(placement.WaitForAuditDone("o1"));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("it names CPU -1"));  // T-61
}

}  // namespace
}  // namespace berth::services
