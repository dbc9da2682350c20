// The fleet as an operator asks for it: services and nodes, what they tell and how they are found.
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/placement/v1/fleet.pb.h"
#include "tests/e2e/calls.h"
#include "tests/processes/scripted_tracker.h"

namespace berth::e2e {
namespace {

class Fleet : public CallsTest {
 protected:
  static std::vector<pb::Service> Services(const std::string& host, const std::string& binary) {
    pb::ListServicesRequest list;
    if (!host.empty()) list.set_host(host);
    if (!binary.empty()) list.set_binary(binary);
    pb::ListServicesResponse listed;
    Do("FleetService/ListServices", list, &listed);
    return {listed.services().begin(), listed.services().end()};
  }
  static std::vector<pb::Node> Nodes(const std::string& host, const std::string& part) {
    pb::ListNodesRequest list;
    if (!host.empty()) list.set_host(host);
    list.set_name_contains(part);
    pb::ListNodesResponse listed;
    Do("FleetService/ListNodes", list, &listed);
    return {listed.nodes().begin(), listed.nodes().end()};
  }

  const std::string node_ = Random();
  const std::string host_ = "host-" + Random();
};

TEST_F(Fleet, ServicesAreFoundByHostAndBinary) {
  Tracker tracker(TrackerChannel(host_), host_, node_);
  tracker.Hello("");
  tracker.Next();
  EXPECT_TRUE(Nodes(host_, "").empty());  // T-9: no report yet
  const std::vector<pb::Service> found = Services(host_, "berth-tracker");
  ASSERT_EQ(found.size(), 1u);                        // T-301
  EXPECT_EQ(found[0].host(), host_);                  // T-301
  EXPECT_EQ(found[0].binary(), "berth-tracker");      // T-301
  EXPECT_EQ(found[0].zone(), "zone-1");               // T-301
  EXPECT_EQ(found[0].state(), pb::SERVICE_STATE_UP);  // T-301
  EXPECT_FALSE(found[0].disabled());                  // T-301
  EXPECT_FALSE(found[0].forced_down());               // T-301
  EXPECT_FALSE(found[0].uuid().empty());              // T-301
  EXPECT_TRUE(found[0].has_updated_at());             // T-301
  EXPECT_TRUE(Services(host_, "other").empty());      // T-301
  EXPECT_TRUE(Services(host_ + "x", "").empty());     // T-301
  pb::DisableServiceRequest disable;
  disable.set_service_uuid(found[0].uuid());
  disable.set_reason("new disks");
  pb::DisableServiceResponse disabled;
  Do("FleetService/DisableService", disable, &disabled);
  EXPECT_EQ(Services(host_, "")[0].disabled_reason(), "new disks");  // T-301
  tracker.End();
}

TEST_F(Fleet, ABeatIsCountedAndNothingElseIs) {
  Tracker tracker(TrackerChannel(host_), host_, node_);
  tracker.Appear(16);
  tracker.Beat(3);
  const absl::Time until = absl::Now() + absl::Seconds(30);
  while (Services(host_, "")[0].report_count() < 3 && absl::Now() < until) {
  }
  const pb::Service beaten = Services(host_, "")[0];
  EXPECT_EQ(beaten.report_count(), 3);  // T-288
  pb::DisableServiceRequest disable;
  disable.set_service_uuid(beaten.uuid());
  pb::DisableServiceResponse disabled;
  Do("FleetService/DisableService", disable, &disabled);
  EXPECT_EQ(disabled.service().report_count(), 3);  // T-288
  EXPECT_EQ(disabled.service().last_seen_at().SerializeAsString(),
            beaten.last_seen_at().SerializeAsString());  // T-288: no sign of life
  tracker.End();
}

TEST_F(Fleet, AnOverdueAuditIsToldOfAServiceThatIsUp) {
  Tracker tracker(TrackerChannel(host_), host_, node_);
  tracker.Appear(16);
  const auto after = [this](int64_t count) {
    const absl::Time until = absl::Now() + absl::Seconds(30);
    while (Services(host_, "")[0].report_count() < count && absl::Now() < until) {
    }
    return Services(host_, "")[0];
  };
  tracker.Beat(1, true);
  const pb::Service overdue = after(1);
  EXPECT_TRUE(overdue.stale_audit());                            // T-293, T-383
  EXPECT_EQ(overdue.state(), pb::SERVICE_STATE_UP);              // T-293
  EXPECT_EQ(Nodes(host_, "")[0].state(), pb::SERVICE_STATE_UP);  // T-293
  tracker.Beat(2);
  EXPECT_FALSE(after(2).stale_audit());  // T-293
  tracker.End();
}

TEST_F(Fleet, NodesTellWhatTheyAreAndWhose) {
  Tracker tracker(TrackerChannel(host_), host_, node_);
  tracker.Appear(16);
  const std::vector<pb::Node> found = Nodes(host_, "");
  ASSERT_EQ(found.size(), 1u);                                        // T-310
  EXPECT_EQ(found[0].uuid(), node_);                                  // T-310
  EXPECT_EQ(found[0].name(), host_);                                  // T-309, T-310
  EXPECT_EQ(found[0].host(), host_);                                  // T-309, T-310
  EXPECT_EQ(found[0].state(), pb::SERVICE_STATE_UP);                  // T-310
  EXPECT_FALSE(found[0].disabled());                                  // T-310
  EXPECT_EQ(found[0].facts().vcpus(), 16);                            // T-310
  EXPECT_EQ(found[0].service_uuid(), Services(host_, "")[0].uuid());  // T-310
  EXPECT_EQ(Nodes("", host_.substr(7, 20)).size(), 1u);               // T-310: any part of the name
  EXPECT_TRUE(Nodes("", "host-*").empty());                           // T-310: no pattern
  const pb::ProviderOwner owner = Read(node_).owner();
  EXPECT_EQ(owner.host(), host_);             // T-232
  EXPECT_FALSE(owner.incarnation().empty());  // T-232
  EXPECT_EQ(owner.sequence(), 1);             // T-232
  EXPECT_TRUE(owner.has_reported_at());       // T-232
  tracker.End();
}

TEST_F(Fleet, APageOfLargeNodesEndsAtItsLimitInBytes) {
  constexpr int kNodes = 20;
  for (int i = 0; i < kNodes; ++i) {
    const std::string host = absl::StrCat(host_, "-", i);
    Tracker tracker(TrackerChannel(host), host, Random());
    tracker.Hello("");
    EXPECT_TRUE(tracker.Next().has_welcome());
    pb::SessionRequest report = tracker.MakeSnapshot(1, 16, std::nullopt);
    report.mutable_report()->mutable_facts()->set_host_ip(std::string(60'000, 'x'));
    tracker.stream().Write(report);
    EXPECT_TRUE(tracker.Next().has_ack());
    tracker.End();
  }
  pb::ListNodesRequest list;
  list.set_name_contains(host_);
  pb::ListNodesResponse first, second;
  Do("FleetService/ListNodes", list, &first);
  EXPECT_EQ(first.nodes_size(), 18);  // 1 MiB
  list.set_page_token(first.next_page_token());
  Do("FleetService/ListNodes", list, &second);
  EXPECT_EQ(second.nodes_size(), kNodes - 18);
  EXPECT_TRUE(second.next_page_token().empty());
}

TEST_F(Fleet, ANodeIsDeletedOnlyForTheHostThatItIsOf) {
  Tracker tracker(TrackerChannel(host_), host_, node_);
  tracker.Appear(16);
  tracker.End();
  pb::DeleteNodeRequest drop;
  drop.set_node_uuid(node_);
  drop.set_expected_host("another-host");
  pb::DeleteNodeResponse dropped;
  EXPECT_EQ(ReasonOf(Invoke("FleetService/DeleteNode", drop, &dropped)),
            "RECORD_CONFLICT");          // T-41
  EXPECT_EQ(Read(node_).uuid(), node_);  // T-41: its providers stay
  drop.set_expected_host(host_);
  Do("FleetService/DeleteNode", drop, &dropped);
  EXPECT_TRUE(Nodes(host_, "").empty());
}

}  // namespace
}  // namespace berth::e2e
