// One hypervisor becomes two and back: the tracker is restarted with other hypervisors, and the
// nodes stay the nodes that they were.
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/fleet.grpc.pb.h"
#include "grpcpp/client_context.h"
#include "placement/store/child_process.h"
#include "tests/processes/identity.h"
#include "tests/processes/placement_server.h"
#include "tests/processes/tracker_process.h"

namespace berth::e2e {
namespace {

namespace pb = ::berth::placement::v1;

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kNodeA[] = "--hypervisor=a=test:///default";

// A host of libvirt's test driver without guests.
constexpr char kHostXml[] =
    "<node><cpu><mhz>2600</mhz><model>x86_64</model><active>4</active><nodes>1</nodes>"
    "<sockets>1</sockets><cores>4</cores><threads>1</threads></cpu><memory>8388608</memory></node>";

// The uuids of placement's nodes by name. A retired node has the name "NAME, retired".
using NodeUuids = std::map<std::string, std::string>;

class HypervisorsTest : public ::testing::Test {
 protected:
  HypervisorsTest()
      : placement_(StartOrDie(scratch_.path())),
        stub_(pb::FleetService::NewStub(
            grpc::CreateChannel(placement_->address(), CredentialsOf()))) {
    std::ofstream(scratch_.path() + "/host.xml") << kHostXml;
  }

  std::string NodeB() const {
    return absl::StrCat("--hypervisor=b=test://", scratch_.path(), "/host.xml");
  }
  // Runs a tracker with these hypervisors until placement knows its session and `names`, and no
  // other names. Returns the nodes.
  NodeUuids Run(std::vector<std::string> hypervisors, const std::vector<std::string>& names) {
    hypervisors.insert(hypervisors.begin(), {"--placement=" + placement_->address(), "--host=h",
                                             "--orphans=report", "--log-format=text"});
    const std::string before = Incarnation();
    TrackerProcess tracker(scratch_.path(), std::move(hypervisors));
    NodeUuids nodes;
    const absl::Time deadline = absl::Now() + absl::Seconds(40);
    bool known = false;
    while (!known && absl::Now() < deadline && placement::IsRunning(tracker.pid())) {
      const bool is_new = Incarnation() != before;
      nodes = Nodes();  // read after the session is known
      known = is_new && names.size() == nodes.size();
      for (const std::string& name : names) known = known && nodes.count(name) == 1;
    }
    EXPECT_TRUE(known) << tracker.Log();
    EXPECT_THAT(tracker.Log(), Not(HasSubstr("contradicts")));
    tracker.Signal(SIGTERM);
    EXPECT_EQ(tracker.AwaitEnd(absl::Seconds(40)), 0);
    return nodes;
  }

 private:
  // The tracker process that had the last session; empty: there was none.
  std::string Incarnation() {
    grpc::ClientContext context;
    pb::ListServicesResponse response;
    EXPECT_TRUE(stub_->ListServices(&context, {}, &response).ok());
    return response.services().empty() ? "" : response.services(0).incarnation();
  }
  NodeUuids Nodes() {
    grpc::ClientContext context;
    pb::ListNodesResponse response;
    EXPECT_TRUE(stub_->ListNodes(&context, {}, &response).ok());
    NodeUuids nodes;
    for (const pb::Node& node : response.nodes()) {
      nodes[node.name() + (node.retired() ? ", retired" : "")] = node.uuid();
    }
    return nodes;
  }

  placement::ScratchDirectory scratch_;
  const std::unique_ptr<PlacementServer> placement_;
  const std::unique_ptr<pb::FleetService::Stub> stub_;
};

TEST_F(HypervisorsTest, OneBecomesTwoAndBack) {
  const std::string a = Run({kNodeA}, {"a"})["a"];
  NodeUuids two = Run({kNodeA, NodeB()}, {"a", "b"});
  EXPECT_EQ(two["a"], a);  // T-15
  const std::string b = two["b"];
  EXPECT_NE(b, a);
  NodeUuids one = Run({kNodeA}, {"a", "b, retired"});  // T-40: and not a
  EXPECT_EQ(one["a"], a);
  EXPECT_EQ(one["b, retired"], b);
  two = Run({kNodeA, NodeB()}, {"a", "b"});
  EXPECT_EQ(two["a"], a);
  EXPECT_EQ(two["b"], b);
  one = Run({NodeB()}, {"a, retired", "b"});  // T-40: and not b
  EXPECT_EQ(one["a, retired"], a);
  EXPECT_EQ(one["b"], b);
  two = Run({NodeB(), kNodeA}, {"a", "b"});
  EXPECT_EQ(two["a"], a);
  EXPECT_EQ(two["b"], b);
}

}  // namespace
}  // namespace berth::e2e
