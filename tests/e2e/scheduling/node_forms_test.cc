// One node in its three forms: the record in placement, the tracker's account, and the view of a
// scheduler.
#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "berth/placement/v1/fleet.grpc.pb.h"
#include "tests/e2e/scheduling/site.h"
#include "tests/e2e/stub_call.h"

namespace berth::e2e {
namespace {

using ::google::protobuf::util::MessageDifferencer;

// What the forms have in common.
using NodeForm = std::map<std::string, std::string>;

// The values of facts and account as a scheduler counts them.
NodeForm FormOf(const pb::NodeFacts& facts, const pb::NodeAccount& account) {
  const int64_t free_disk_gib = facts.disk_gib() - account.used().disk_gib();
  const int64_t left_gib = account.has_disk_available_least_gib()
                               ? std::min(free_disk_gib, account.disk_available_least_gib())
                               : free_disk_gib;
  const auto count = [&account](const char* name) -> int64_t {
    const auto found = account.counters().find(name);
    return found == account.counters().end() ? 0 : found->second;
  };
  return {{"memory_mib", absl::StrCat(facts.memory_mib())},
          {"memory used", absl::StrCat(account.used().memory_mib())},
          {"memory free", absl::StrCat(facts.memory_mib() - account.used().memory_mib())},
          {"disk_gib", absl::StrCat(facts.disk_gib())},
          {"disk used", absl::StrCat(account.used().disk_gib())},
          {"disk free", absl::StrCat(left_gib * 1024)},
          {"vcpus", absl::StrCat(facts.vcpus())},
          {"vcpus used", absl::StrCat(account.used().vcpus())},
          {"num_instances", absl::StrCat(count("num_instances"))},
          {"io_workload", absl::StrCat(count("io_workload"))},
          {"failed_builds", absl::StrCat(count("failed_builds"))}};
}

NodeForm FormOf(const pb::Node& record) {
  NodeForm form = FormOf(record.facts(), record.account());
  form.insert({{"uuid", record.uuid()}, {"host", record.host()}, {"name", record.name()}});
  return form;
}

NodeForm FormOf(const std::string& host, const tracker_pb::GetNodeViewResponse& view) {
  NodeForm form = FormOf(view.facts(), view.account());
  form.insert({{"uuid", view.node().node_uuid()}, {"host", host}, {"name", view.node().name()}});
  return form;
}

NodeForm FormOf(const client::HostView& view) {
  const auto text = [&view](const char* name) {
    return client::AttributeOf(view, name).value_or("none");
  };
  const int64_t memory_mib = view.node->facts().memory_mib();
  return {{"uuid", text("uuid")},
          {"host", text("host")},
          {"name", text("nodename")},
          {"memory_mib", text("total_usable_ram_mb")},
          {"memory used", absl::StrCat(memory_mib - view.free_memory_mib)},
          {"memory free", text("free_ram_mb")},
          {"disk_gib", text("total_usable_disk_gb")},
          {"disk used", absl::StrCat(view.used_disk_mib / 1024)},
          {"disk free", text("free_disk_mb")},
          {"vcpus", text("vcpus_total")},
          {"vcpus used", text("vcpus_used")},
          {"num_instances", text("num_instances")},
          {"io_workload", text("num_io_ops")},
          {"failed_builds", text("failed_builds")}};
}

class NodeForms : public Site {
 protected:
  struct Forms {
    pb::Node record;
    std::string host;  // as the tracker says
    tracker_pb::GetNodeViewResponse tracker;
    client::Hosts::Host followed = std::make_shared<const client::HostView>();
    client::HostView listed;  // made of the answer of ListHostStates
  };

  // All forms after an audit.
  Forms ReadAll(const Host& host) {
    Forms forms;
    const pb::Revision revision = Audit(host);
    forms.host = MustCall<tracker_pb::TrackerService>(host.channel,
                                                      &tracker_pb::TrackerService::Stub::ListNodes,
                                                      tracker_pb::ListNodesRequest())
                     .host();
    forms.tracker = AccountOf(host);
    pb::GetNodeRequest get;
    *get.mutable_minimum_revision() = revision;
    get.set_node_uuid(host.node);
    get.set_view(pb::NODE_VIEW_FULL);
    const pb::GetNodeResponse got =
        MustCall<pb::FleetService>(channel(), &pb::FleetService::Stub::GetNode, get);
    forms.record = got.node();
    const pb::ListHostStatesResponse states = StatesAt(got.revision());
    EXPECT_EQ(states.states_size(), 1);
    if (states.states_size() == 1) {
      client::UpdateHostView(client::PartsOf(states.states(0)), &forms.listed);
    }
    forms.followed = views_.ViewAt(states.revision(), host.node);
    return forms;
  }
  // All forms of the same report: the free space of the machine's disk may change between two, and
  // placement may tell the tracker of allocations.
  Forms ReadReport(const Host& host) {
    Forms forms = ReadAll(host);
    for (int tries = 0; tries < 20; ++tries) {
      const int64_t sequence = forms.tracker.node().sequence();
      if (forms.record.sequence() == sequence && forms.listed.node->sequence() == sequence &&
          forms.followed->node->sequence() == sequence &&
          MessageDifferencer::Equals(forms.record.account(), forms.tracker.account())) {
        break;
      }
      forms = ReadAll(host);
    }
    return forms;
  }
  static void ExpectOneNode(const Forms& forms) {
    const auto same = MessageDifferencer::Equals;
    EXPECT_TRUE(same(forms.record.facts(), forms.tracker.facts()));          // T-4
    EXPECT_TRUE(same(forms.record.account(), forms.tracker.account()));      // T-4
    EXPECT_TRUE(same(forms.record.facts(), forms.followed->node->facts()));  // T-4
    EXPECT_TRUE(same(forms.record.facts(), forms.listed.node->facts()));     // T-4
    EXPECT_EQ(FormOf(forms.host, forms.tracker), FormOf(forms.record));      // T-4
    EXPECT_EQ(FormOf(*forms.followed), FormOf(forms.record));                // T-4, T-332, T-333
    EXPECT_EQ(FormOf(forms.listed), FormOf(forms.record));                   // T-4, T-332, T-333
  }

  FollowedHosts views_{endpoints()};
};

TEST_F(NodeForms, AreEqualAfterAnAuditAndAfterAClaim) {
  const placement::ScratchDirectory disk;
  const Host* const host = AddHost("h1", 4096, disk.path());
  Forms forms = ReadReport(*host);
  ExpectOneNode(forms);
  NodeForm wanted = FormOf(forms.record);
  EXPECT_EQ(wanted["uuid"], host->node);
  EXPECT_EQ(wanted["host"], "h1");
  EXPECT_EQ(wanted["name"], "node-of-h1");
  EXPECT_EQ(wanted["memory_mib"], "4096");
  EXPECT_EQ(wanted["memory used"], "512");
  EXPECT_EQ(wanted["vcpus"], "3");
  EXPECT_NE(wanted["disk_gib"], "0");
  // A sparse image or another program may have more of the disk than the account counts.
  EXPECT_TRUE(forms.record.account().has_disk_available_least_gib());

  pb::Instance instance = NewInstance(FlavorOf(256, 2, 1));
  const client::Failure placed = Place(*host, &instance);
  ASSERT_TRUE(placed.ok()) << InWords(placed);
  grpc::Status status = ClaimOn(*host, instance);
  ASSERT_TRUE(status.ok()) << status.error_message();
  Abort(*host, instance);
  instance = Read(instance);
  status = ClaimOn(*host, instance);
  ASSERT_TRUE(status.ok()) << status.error_message();
  forms = ReadReport(*host);
  ExpectOneNode(forms);
  const NodeForm now = FormOf(*forms.followed);
  EXPECT_EQ(now.at("memory used"), "768");                                       // T-332
  EXPECT_EQ(now.at("memory free"), "3328");                                      // T-332
  EXPECT_EQ(now.at("disk used"), "1");                                           // T-332
  EXPECT_EQ(now.at("vcpus used"), "2");                                          // T-332
  EXPECT_EQ(now.at("num_instances"), "1");                                       // T-332
  EXPECT_EQ(now.at("io_workload"), "1");                                         // T-332
  EXPECT_EQ(now.at("failed_builds"), "1");                                       // T-332
  EXPECT_EQ(forms.followed->instances, std::set<std::string>{instance.uuid()});  // T-332
}

}  // namespace
}  // namespace berth::e2e
