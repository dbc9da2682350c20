// The views that a scheduler keeps by a mirror, against what placement answers at the same revision,
// and what it takes from them.
#include <gmock/gmock.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/placement/v1/aggregate.grpc.pb.h"
#include "berth/placement/v1/association.grpc.pb.h"
#include "berth/placement/v1/fleet.grpc.pb.h"
#include "berth/placement/v1/provider.grpc.pb.h"
#include "placement/ground/uuid.h"
#include "tests/e2e/scheduling/site.h"
#include "tests/e2e/stub_call.h"

namespace berth::e2e {
namespace {

using ::testing::ElementsAre;

using FleetCalls = pb::FleetService;

// Everything that the view says, but for what its service says in heartbeats, which are no part of
// the ledger.
std::string TextOf(const client::HostView& view) {
  pb::Node node = *view.node;
  // The service is a part of the view of its own, and counters are its stats.
  node.clear_service_uuid();
  node.clear_state();
  node.clear_disabled();
  node.clear_disabled_reason();
  node.mutable_account()->clear_counters();
  pb::Service service;
  if (view.service != nullptr) service = *view.service;
  service.clear_last_seen_at();
  service.clear_report_count();
  service.clear_stale_audit();
  std::string text = absl::StrCat(
      "node {\n", node.DebugString(), "}\n", view.service == nullptr ? "no " : "", "service {\n",
      service.DebugString(), "}\nstats ", absl::StrJoin(view.stats, " ", absl::PairFormatter("=")),
      "\ninstances ", absl::StrJoin(view.instances, " "), "\nstale ", view.stale, "\nfree memory ",
      view.free_memory_mib, " free disk ", view.free_disk_mib, " used disk ", view.used_disk_mib,
      " used vcpus ", view.used_vcpus, " instances ", view.instance_count, " operations ",
      view.io_operation_count, " failed builds ", view.failed_build_count, "\n");
  for (const auto& aggregate : view.aggregates) {
    absl::StrAppend(&text, "aggregate {\n", aggregate->DebugString(), "}\n");
  }
  return text;
}

// By the names of their nodes.
using Texts = std::map<std::string, std::string>;

class HostViews : public Site {
 protected:
  // The views and the answer of placement at the same revision, not before `revision`.
  struct Both {
    pb::ListHostStatesResponse told;
    client::Hosts::Views followed;
  };
  Both BothAt(pb::Revision revision) {
    Both both;
    for (int tries = 0; tries < 100; ++tries) {
      both.told = StatesAt(revision);
      for (const pb::HostState& state : both.told.states()) nodes_.insert(state.node().uuid());
      both.followed = views_.ViewsAt(both.told.revision(), {nodes_.begin(), nodes_.end()});
      revision = both.followed.revision;
      if (client::Compare(revision, both.told.revision()) == 0) return both;
    }
    ADD_FAILURE() << "the ledger does not come to rest";
    return both;
  }

  // Placement's answer and the views must say the same, but for nodes without a service.
  void ExpectSame(const pb::Revision& revision, const std::string& when) {
    SCOPED_TRACE(when);
    const Both both = BothAt(revision);
    Texts followed, told;
    for (const client::Hosts::Host& host : both.followed.hosts) {
      followed[host->node->name()] = TextOf(*host);
    }
    for (const pb::HostState& state : both.told.states()) {
      if (!state.has_service()) continue;
      client::HostView view;
      client::UpdateHostView(client::PartsOf(state), &view);
      told[state.node().name()] = TextOf(view);
    }
    EXPECT_EQ(followed, told);  // T-338, T-341
  }

  pb::Revision CreateNode(const std::string& name, const std::string& host, std::string* uuid) {
    pb::CreateNodeRequest request;
    request.set_node_uuid(placement::Uuid::Random().ToString());
    request.set_name(name);
    request.set_host(host);
    *uuid = request.node_uuid();
    return MustCall<FleetCalls>(channel(), &FleetCalls::Stub::CreateNode, request).revision();
  }
  pb::Revision ForceDown(const Host& host) {
    pb::ForceServiceDownRequest request;
    request.set_service_uuid(ServiceOf(host).uuid());
    request.set_forced_down(true);
    return MustCall<FleetCalls>(channel(), &FleetCalls::Stub::ForceServiceDown, request).revision();
  }
  pb::Revision Retire(const Host& host) {
    pb::UpdateNodeRequest request;
    request.set_node_uuid(host.node);
    request.set_expected_host(host.name);
    request.set_retired(true);
    return MustCall<FleetCalls>(channel(), &FleetCalls::Stub::UpdateNode, request).revision();
  }
  // Makes an aggregate with a value, and the host its member.
  pb::Revision Aggregate(const Host& host, const std::string& value) {
    pb::GetProviderRequest get;
    get.set_provider_uuid(host.node);
    pb::SetProviderAggregatesRequest join;
    join.set_provider_uuid(host.node);
    join.set_expected_generation(
        MustCall<pb::ProviderService>(channel(), &pb::ProviderService::Stub::GetProvider, get)
            .provider()
            .generation());
    join.add_aggregate_uuids(rack_);
    MustCall<pb::AssociationService>(channel(),
                                     &pb::AssociationService::Stub::SetProviderAggregates, join);
    pb::SetAggregateRequest name;
    name.mutable_aggregate()->set_uuid(rack_);
    name.mutable_aggregate()->set_name("rack");
    (*name.mutable_aggregate()->mutable_metadata())["ssd"] = value;
    return MustCall<pb::AggregateService>(channel(), &pb::AggregateService::Stub::SetAggregate,
                                          name)
        .revision();
  }
  // An instance that the host's tracker has claimed, and the revision with the report of that.
  pb::Instance Build(const Host& host, const pb::Flavor& flavor, pb::Revision* revision) {
    pb::Instance instance = NewInstance(flavor);
    const client::Failure placed = Place(host, &instance);
    EXPECT_TRUE(placed.ok()) << InWords(placed);
    const grpc::Status claimed = ClaimOn(host, instance);
    EXPECT_TRUE(claimed.ok()) << claimed.error_message();
    *revision = Audit(host);
    return Read(instance);
  }

  const std::string rack_ = placement::Uuid::Random().ToString();
  std::set<std::string> nodes_;  // that placement has ever told
  FollowedHosts views_{endpoints()};
};

TEST_F(HostViews, AreWhatPlacementAnswersAtTheSameRevision) {
  const Host& first = *AddHost("h1", 4096);
  const Host& second = *AddHost("h2", 2048);
  ExpectSame(Audit(second), "two hosts");
  pb::Revision revision;
  pb::Instance built = Build(first, FlavorOf(256, 2), &revision);
  ExpectSame(revision, "an instance is being built");
  built.set_vm_state("active");
  built.clear_task_state();
  Store(built);
  ExpectSame(Audit(first), "it is active");
  ExpectSame(Aggregate(first, "true"), "a rack has a name");
  ExpectSame(Disable(second), "a host is disabled");
  EXPECT_EQ(views_.ViewAt(revision, second.node)->service->disabled_reason(), "new disks");
  const pb::Revision down = ForceDown(second);
  ExpectSame(down, "a host is down");
  EXPECT_TRUE(views_.ViewAt(down, second.node)->stale);  // T-341
  std::string uuid;
  ExpectSame(CreateNode("promised", "h1", &uuid), "a node was never reported");
  ExpectSame(Retire(second), "a node is retired");
  EXPECT_EQ(BothAt(revision).told.states_size(), 2);
  built.set_vm_state("deleted");
  built.set_generation(Read(built).generation());
  Store(built);
  ExpectSame(Audit(first), "the instance is deleted");
}

TEST_F(HostViews, LeaveOutNodesWithoutAServiceAndSayWhichAreStale) {
  const Host& host = *AddHost("h1", 4096);
  std::string lonely, promised;
  CreateNode("lonely", "nowhere", &lonely);
  const pb::Revision revision = CreateNode("promised", "h1", &promised);
  const Both both = BothAt(revision);
  EXPECT_EQ(both.told.states_size(), 3);
  const std::string unknown = placement::Uuid::Random().ToString();
  const client::Hosts::Views views =
      views_.ViewsAt(revision, {lonely, unknown, promised, host.node});
  std::vector<std::string> names;
  for (const auto& one : views.hosts) names.push_back(one->node->name());
  EXPECT_THAT(names, ElementsAre("promised", "node-of-h1"));                // T-338
  EXPECT_THAT(views.warnings, ElementsAre("nowhere:lonely has no service",  // T-338
                                          "h1:promised is stale"));         // T-341
  ASSERT_EQ(views.hosts.size(), 2U);
  EXPECT_EQ(views.hosts[0]->node->uuid(), promised);
  EXPECT_EQ(views.hosts[0]->updated_at, std::nullopt);  // T-334: it was never audited
  EXPECT_EQ(views.hosts[0]->free_memory_mib, 0);        // T-334
  const client::HostView& audited = *views.hosts[1];
  EXPECT_NE(audited.updated_at, std::nullopt);
  EXPECT_EQ(client::AttributeOf(audited, "vcpus_total"), "3");             // T-334: not 12
  EXPECT_EQ(client::AttributeOf(audited, "cpu_allocation_ratio"), "4.0");  // T-334
  EXPECT_EQ(audited.free_memory_mib, 3584);
}

TEST_F(HostViews, KeepWhatWasTakenUntilTheNextReport) {
  const Host& host = *AddHost("h1", 4096);
  // Placement allocates it for the scheduler after this report.
  pb::Instance promised = NewInstance(FlavorOf(300, 2, 3));
  const pb::Revision before = Audit(host);
  const std::string untouched = TextOf(*views_.ViewAt(before, host.node));
  const auto no_cells = [](const client::HostView&) {
    return absl::ResourceExhaustedError("no cells");
  };
  EXPECT_EQ(views_.hosts().Consume(host.node, promised, no_cells).message(), "no cells");
  EXPECT_EQ(TextOf(*views_.ViewAt(before, host.node)), untouched);  // T-336: nothing was taken
  int64_t seen_mib = 0;                                             // by whoever takes cells
  const auto cells = [&seen_mib](const client::HostView& view) {
    seen_mib = view.free_memory_mib;
    return absl::OkStatus();
  };
  ASSERT_TRUE(views_.hosts().Consume(host.node, promised, cells).ok());
  EXPECT_EQ(seen_mib, 3584);
  // A second instance needs nothing of which there are amounts, and nobody has a record of it.
  ASSERT_TRUE(views_.hosts().Consume(host.node, NewInstance(pb::Flavor()), cells).ok());
  const auto expect_taken = [&](const client::HostView& view) {
    EXPECT_EQ(view.free_memory_mib, 3284);     // T-336
    EXPECT_EQ(view.free_disk_mib, -3 * 1024);  // T-336: /proc has no disk
    EXPECT_EQ(view.used_vcpus, 2);             // T-336
    EXPECT_EQ(view.instance_count, 2);         // T-336
    EXPECT_EQ(view.io_operation_count, 2);     // T-336
  };
  expect_taken(*views_.ViewAt(before, host.node));
  // A change that is no report of the node comes into the view, and takes no amount back.
  const auto disabled = views_.ViewAt(Disable(host), host.node);
  EXPECT_TRUE(disabled->service->disabled());  // T-335
  {
    SCOPED_TRACE("the service was disabled");
    expect_taken(*disabled);  // T-334: the view is newer than the record
  }
  pb::Revision reported;
  Build(host, FlavorOf(256, 1), &reported);
  const auto after = views_.ViewAt(reported, host.node);
  EXPECT_EQ(after->free_memory_mib, 3328);  // T-336: the report replaces the estimate
  EXPECT_EQ(after->free_disk_mib, 0);       // T-336
  EXPECT_EQ(after->used_vcpus, 1);          // T-336
  EXPECT_EQ(after->instance_count, 1);      // T-336
  EXPECT_EQ(after->io_operation_count, 1);  // T-336
}

// An instance that was taken is there for filters and its group, whoever reports what, until its
// tracker says so itself.
TEST_F(HostViews, HaveAnInstanceThatWasTakenBeforeItHasAHost) {
  const Host& host = *AddHost("h1", 4096);
  const std::string group = NewGroup(pb::SERVER_GROUP_POLICY_AFFINITY);
  pb::Instance promised = NewInstance(FlavorOf(300, 2), group);
  ASSERT_TRUE(Place(host, &promised).ok());
  const auto hosts_of_group = [&](const pb::Revision& revision) {
    views_.ViewAt(revision, host.node);
    return views_.hosts().ViewsOf({}, group).group->hosts;
  };
  EXPECT_THAT(hosts_of_group(Audit(host)), IsEmpty());
  ASSERT_TRUE(views_.hosts().Consume(host.node, promised).ok());
  pb::Revision reported;
  Build(host, FlavorOf(256, 1), &reported);
  EXPECT_THAT(hosts_of_group(reported), ElementsAre("h1"));
  const auto view = views_.ViewAt(reported, host.node);
  EXPECT_TRUE(view->instances.contains(promised.uuid()));
  // The tracker counts what placement has allocated.
  EXPECT_EQ(view->free_memory_mib, 4096 - 512 - 300 - 256);
  ASSERT_TRUE(ClaimOn(host, promised).ok());
  const pb::Revision claimed = Audit(host);
  EXPECT_THAT(hosts_of_group(claimed), ElementsAre("h1"));
  EXPECT_TRUE(views_.ViewAt(claimed, host.node)->instances.contains(promised.uuid()));
  Abort(host, promised);
  Release(promised);
  EXPECT_THAT(hosts_of_group(Audit(host)), IsEmpty());
}

}  // namespace
}  // namespace berth::e2e
