// What a scheduler sees and keeps together: the states of nodes, aggregates that have a name, and
// server groups.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/placement/v1/aggregate.pb.h"
#include "berth/placement/v1/association.pb.h"
#include "berth/placement/v1/candidate.pb.h"
#include "berth/placement/v1/host_state.pb.h"
#include "berth/placement/v1/provider.pb.h"
#include "berth/placement/v1/server_group.pb.h"
#include "tests/e2e/calls.h"
#include "tests/e2e/host_calls.h"
#include "tests/fault/await.h"

namespace berth::e2e {
namespace {

class SchedulerView : public HostCalls {
 protected:
  static pb::ListHostStatesResponse States(const pb::ListHostStatesRequest& request) {
    pb::ListHostStatesResponse response;
    Do("HostStateService/ListHostStates", request, &response);
    return response;
  }
  // A query that only the node of this test serves.
  pb::CandidateQuery HereQuery() const {
    pb::CandidateQuery query;
    pb::RequestGroup& group = *query.add_groups();
    (*group.mutable_resources())["VCPU"] = 1;
    group.set_in_tree(node_);
    return query;
  }
};

TEST_F(SchedulerView, TheStateOfANodeIsItsRecordItsServiceAndItsInstances) {
  Tracker tracker(TrackerChannel(host_), host_, node_);
  tracker.Hello("");
  tracker.Next();
  pb::ListHostStatesRequest request;
  request.add_root_uuids(node_);
  request.add_root_uuids(Random());  // of no node
  EXPECT_EQ(States(request).states_size(), 0);
  tracker.stream().Write(Report(tracker, 1, 1536));
  ASSERT_TRUE(tracker.Next().has_ack());
  AddInstance("project");
  pb::SetAggregateRequest rack;
  rack.mutable_aggregate()->set_uuid(Random());
  rack.mutable_aggregate()->set_name("rack " + Random());
  (*rack.mutable_aggregate()->mutable_metadata())["ram_weight_multiplier"] = "2";
  pb::SetAggregateResponse stored;
  Do("AggregateService/SetAggregate", rack, &stored);
  pb::GetProviderRequest get;
  get.set_provider_uuid(node_);
  pb::GetProviderResponse root;
  Do("ProviderService/GetProvider", get, &root);
  pb::SetProviderAggregatesRequest join;
  join.set_provider_uuid(node_);
  join.set_expected_generation(root.provider().generation());
  join.add_aggregate_uuids(rack.aggregate().uuid());
  pb::SetProviderAggregatesResponse joined;
  Do("AssociationService/SetProviderAggregates", join, &joined);
  const pb::ListHostStatesResponse states = States(request);
  ASSERT_EQ(states.states_size(), 1);  // T-338: an unknown root is left out
  const pb::HostState& state = states.states(0);
  EXPECT_EQ(state.node().uuid(), node_);
  EXPECT_EQ(state.node().host(), host_);               // T-332
  EXPECT_EQ(state.node().facts().memory_mib(), 4096);  // T-332
  EXPECT_EQ(state.node().account().used().memory_mib(), 1536);
  EXPECT_TRUE(state.node().account().counters().empty());
  EXPECT_EQ(state.stats().at("num_instances"), "3");
  EXPECT_TRUE(state.node().service_uuid().empty());
  EXPECT_EQ(state.service().uuid(), Service().uuid());  // T-335
  EXPECT_EQ(state.service().state(), pb::SERVICE_STATE_UP);
  EXPECT_EQ(state.instance_uuids_size(), 1);  // T-335
  EXPECT_FALSE(state.stale());
  ASSERT_EQ(state.aggregates_size(), 1);
  EXPECT_EQ(state.aggregates(0).name(), rack.aggregate().name());  // T-335
  EXPECT_EQ(state.aggregates(0).metadata().at("ram_weight_multiplier"), "2");
  EXPECT_EQ(states.revision().number() > 0, true);
  request.clear_root_uuids();
  *request.mutable_query() = HereQuery();
  EXPECT_EQ(States(request).states_size(), 1);
  (*request.mutable_query()->mutable_groups(0)->mutable_resources())["VCPU"] = 1000;
  EXPECT_EQ(States(request).states_size(), 0);
  tracker.End();
}

// A provider may name a thousand aggregates, each with 64 KiB of metadata.
TEST_F(SchedulerView, AStateHasAMebibyteOfMetadata) {
  pb::CreateNodeRequest create;
  create.set_node_uuid(Random());
  create.set_name("node-" + create.node_uuid());
  create.set_host(host_);
  pb::CreateNodeResponse created;
  Do("FleetService/CreateNode", create, &created);
  pb::SetAggregateRequest set;
  for (int i = 0; i < 64; ++i) {
    (*set.mutable_aggregate()->mutable_metadata())[absl::StrCat("key", i)] = std::string(1000, 'v');
  }
  pb::SetProviderAggregatesRequest join;
  join.set_provider_uuid(create.node_uuid());
  constexpr int kAggregates = 20;
  for (int i = 0; i < kAggregates; ++i) {
    set.mutable_aggregate()->set_uuid(Random());
    set.mutable_aggregate()->set_name("rack " + set.aggregate().uuid());
    pb::SetAggregateResponse stored;
    Do("AggregateService/SetAggregate", set, &stored);
    join.add_aggregate_uuids(set.aggregate().uuid());
  }
  pb::GetProviderRequest get;
  get.set_provider_uuid(create.node_uuid());
  pb::GetProviderResponse root;
  Do("ProviderService/GetProvider", get, &root);
  join.set_expected_generation(root.provider().generation());
  pb::SetProviderAggregatesResponse joined;
  Do("AssociationService/SetProviderAggregates", join, &joined);
  pb::ListHostStatesRequest request;
  request.add_root_uuids(create.node_uuid());
  const pb::ListHostStatesResponse states = States(request);
  ASSERT_EQ(states.states_size(), 1);
  ASSERT_EQ(states.states(0).aggregates_size(), kAggregates);
  for (int i = 0; i < kAggregates; ++i) {
    const pb::HostAggregate& aggregate = states.states(0).aggregates(i);
    EXPECT_EQ(aggregate.metadata_cut(), i > 16) << i;  // 17 have more than 1 MiB
    EXPECT_EQ(aggregate.metadata_size(), i > 16 ? 0 : 64) << i;
    EXPECT_FALSE(aggregate.name().empty());
  }
}

TEST_F(SchedulerView, AStateIsStaleWhileAnAuditIsOverdueForThreeIntervals) {
  Tracker tracker(TrackerChannel(host_), host_, node_);
  tracker.Hello("");
  tracker.Next();
  tracker.stream().Write(Report(tracker, 1, 1536));
  ASSERT_TRUE(tracker.Next().has_ack());
  pb::ListHostStatesRequest request;
  request.add_root_uuids(node_);
  // The state after this heartbeat.
  const auto state_at = [&](int64_t beat) {
    pb::HostState state;
    EXPECT_TRUE(fault::AwaitWithin(absl::Minutes(1), [&] {
      const pb::ListHostStatesResponse states = States(request);
      if (states.states_size() == 1) state = states.states(0);
      return state.service().report_count() == beat;
    }));
    EXPECT_EQ(state.service().state(), pb::SERVICE_STATE_UP);
    return state;
  };
  tracker.Beat(1, /*audit_overdue=*/true);
  EXPECT_TRUE(state_at(1).stale());  // T-341
  tracker.Beat(2, /*audit_overdue=*/false);
  EXPECT_FALSE(state_at(2).stale());  // T-341
  tracker.End();
}

TEST_F(SchedulerView, StatesComeInPages) {
  std::vector<std::string> nodes;
  pb::ListHostStatesRequest request;
  for (int i = 0; i < 5; ++i) {
    pb::CreateNodeRequest create;
    create.set_node_uuid(Random());
    create.set_name("node-" + create.node_uuid());
    create.set_host(host_);
    pb::CreateNodeResponse created;
    Do("FleetService/CreateNode", create, &created);
    nodes.push_back(create.node_uuid());
    request.add_root_uuids(create.node_uuid());
  }
  request.add_root_uuids(nodes[0]);  // each once
  std::sort(nodes.begin(), nodes.end());
  request.set_page_size(2);
  std::vector<std::string> seen;
  for (int pages = 1; pages <= 3; ++pages) {
    const pb::ListHostStatesResponse page = States(request);
    for (const pb::HostState& state : page.states()) {
      seen.push_back(state.node().uuid());
      EXPECT_TRUE(state.stale()) << "nobody has reported it";  // T-341
    }
    EXPECT_EQ(page.next_page_token().empty(), pages == 3);
    request.set_page_token(page.next_page_token());
  }
  EXPECT_EQ(seen, nodes);
}

TEST_F(SchedulerView, AWrongRequestIsRefused) {
  pb::ListHostStatesResponse none;
  pb::ListHostStatesRequest request;
  request.add_root_uuids("junk");
  EXPECT_EQ(Refusal("HostStateService/ListHostStates", request, &none),
            "INVALID_FIELD root_uuids[0]");
  *request.mutable_query() = HereQuery();
  EXPECT_EQ(Refusal("HostStateService/ListHostStates", request, &none), "INVALID_FIELD root_uuids");
  request.clear_root_uuids();
  request.mutable_query()->clear_groups();
  EXPECT_EQ(Refusal("HostStateService/ListHostStates", request, &none),
            "NO_RESOURCES_REQUESTED groups");
  request.clear_query();
  for (int i = 0; i <= 100'000; ++i) request.add_root_uuids(node_);
  EXPECT_EQ(Refusal("HostStateService/ListHostStates", request, &none), "INVALID_FIELD root_uuids");
}

TEST_F(SchedulerView, AGroupKeepsItsMembersApart) {
  Tracker tracker(TrackerChannel(host_), host_, node_);
  tracker.Appear(16);
  pb::SetServerGroupRequest set;
  set.mutable_group()->set_uuid(Random());
  set.mutable_group()->set_project_id("p");
  set.mutable_group()->set_user_id("u");
  set.mutable_group()->set_policy(pb::SERVER_GROUP_POLICY_ANTI_AFFINITY);
  pb::SetServerGroupResponse stored;
  Do("ServerGroupService/SetServerGroup", set, &stored);
  EXPECT_EQ(stored.group().project_id(), "p");
  EXPECT_GT(stored.group().generation(), 0);
  const auto claim = [&] {
    pb::ClaimRequest request;
    *request.mutable_query() = HereQuery();
    pb::ClaimConsumer& consumer = *request.mutable_consumer();
    consumer.set_consumer_uuid(Random());
    consumer.mutable_new_consumer();
    consumer.set_project_id("p");
    consumer.set_user_id("u");
    consumer.set_consumer_type("INSTANCE");
    pb::Instance& instance = *consumer.mutable_instance();
    instance.set_uuid(consumer.consumer_uuid());
    instance.set_project_id("p");
    instance.set_user_id("u");
    instance.set_vm_state("building");
    instance.mutable_flavor();
    instance.set_group_uuid(set.group().uuid());
    return request;
  };
  const pb::ClaimRequest first = claim();
  pb::ClaimResponse claimed;
  Do("CandidateService/Claim", first, &claimed);
  pb::ClaimResponse refused;
  EXPECT_EQ(Refusal("CandidateService/Claim", claim(), &refused), "NO_CANDIDATE");  // T-320
  pb::GetServerGroupRequest get;
  get.set_group_uuid(set.group().uuid());
  pb::GetServerGroupResponse group;
  Do("ServerGroupService/GetServerGroup", get, &group);
  ASSERT_EQ(group.members_size(), 1);
  EXPECT_EQ(group.members(0).instance_uuid(), first.consumer().consumer_uuid());
  ASSERT_EQ(group.members(0).hosts_size(), 1);
  EXPECT_EQ(group.members(0).hosts(0), host_);
  pb::ListServerGroupsRequest list;
  list.set_project_id("p");
  pb::ListServerGroupsResponse listed;
  Do("ServerGroupService/ListServerGroups", list, &listed);
  EXPECT_GE(listed.groups_size(), 1);
  pb::DeleteServerGroupRequest remove;
  remove.set_group_uuid(set.group().uuid());
  pb::DeleteServerGroupResponse removed;
  EXPECT_EQ(Refusal("ServerGroupService/DeleteServerGroup", remove, &removed),
            "SERVER_GROUP_IN_USE");
  pb::UpdateServerGroupMembersRequest leave;
  leave.set_group_uuid(set.group().uuid());
  leave.add_remove_instance_uuids(first.consumer().consumer_uuid());
  pb::UpdateServerGroupMembersResponse left;
  Do("ServerGroupService/UpdateServerGroupMembers", leave, &left);
  Do("ServerGroupService/DeleteServerGroup", remove, &removed);
  EXPECT_EQ(Refusal("ServerGroupService/GetServerGroup", get, &group),
            "SERVER_GROUP_NOT_FOUND group_uuid");
  tracker.End();
}

class AggregateCalls : public CallsTest {
 protected:
  static pb::SetAggregateRequest Named(const std::string& name) {
    pb::SetAggregateRequest request;
    request.mutable_aggregate()->set_uuid(Random());
    request.mutable_aggregate()->set_name(name);
    return request;
  }
  static pb::Aggregate Made(const pb::SetAggregateRequest& request) {
    pb::SetAggregateResponse response;
    Do("AggregateService/SetAggregate", request, &response);
    return response.aggregate();
  }
  // The code, the reason and the field with which the write is refused.
  static std::string Refused(const pb::SetAggregateRequest& request) {
    pb::SetAggregateResponse response;
    const grpc::Status status = Invoke("AggregateService/SetAggregate", request, &response);
    const auto infos = InfosOf(status);
    if (infos.empty()) return absl::StrCat(status.error_code(), " ", status.error_message());
    const auto& metadata = infos[0].metadata();
    const auto field = metadata.find("field");
    return absl::StrCat(status.error_code(), " ", infos[0].reason(), " ",
                        field == metadata.end() ? "" : field->second);
  }
  static pb::ListAggregatesResponse Listed(const pb::ListAggregatesRequest& request) {
    pb::ListAggregatesResponse response;
    Do("AggregateService/ListAggregates", request, &response);
    return response;
  }
};

TEST_F(AggregateCalls, AreListedByPageAndByName) {
  std::map<std::string, std::string> made;  // names by uuid
  for (int i = 0; i < 5; ++i) {
    const pb::Aggregate aggregate = Made(Named(absl::StrCat("paged ", i, " ", Random())));
    EXPECT_GT(aggregate.generation(), 0);
    EXPECT_TRUE(aggregate.has_created_at());
    made[aggregate.uuid()] = aggregate.name();
  }
  pb::ListAggregatesRequest request;
  request.set_page_size(2);
  std::string last;
  std::map<std::string, std::string> seen;
  do {
    const pb::ListAggregatesResponse page = Listed(request);
    ASSERT_LE(page.aggregates_size(), 2);
    for (const pb::Aggregate& aggregate : page.aggregates()) {
      EXPECT_LT(last, aggregate.uuid());
      last = aggregate.uuid();
      if (made.contains(last)) seen[last] = aggregate.name();
    }
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  EXPECT_EQ(seen, made);
  pb::ListAggregatesRequest by_name;
  by_name.set_name(made.begin()->second);
  ASSERT_EQ(Listed(by_name).aggregates_size(), 1);
  EXPECT_EQ(Listed(by_name).aggregates(0).uuid(), made.begin()->first);
  by_name.set_name("of nobody");
  EXPECT_EQ(Listed(by_name).aggregates_size(), 0);
}

TEST_F(AggregateCalls, WhatIsWrongIsRefusedWithItsField) {
  pb::SetAggregateRequest request = Named(Random());
  auto& metadata = *request.mutable_aggregate()->mutable_metadata();
  metadata["k"] = std::string(1 << 20, 'v');
  EXPECT_EQ(Refused(request), "3 INVALID_FIELD aggregate.metadata");
  metadata["k"] = std::string("a\0b", 3);
  EXPECT_EQ(Refused(request), "3 INVALID_FIELD aggregate.metadata[0].value");
  metadata["k"] = "v";
  request.mutable_aggregate()->set_uuid("rack");
  EXPECT_EQ(Refused(request), "3 INVALID_FIELD aggregate.uuid");
  request.clear_aggregate();
  EXPECT_EQ(Refused(request), "3 INVALID_FIELD aggregate");
}

TEST_F(AggregateCalls, AWriteIsComparedAndARepeatGetsTheSameAnswer) {
  pb::SetAggregateRequest request = Named(Random());
  request.set_request_id(Random());
  (*request.mutable_aggregate()->mutable_metadata())["ssd"] = "true";
  const pb::Aggregate made = Made(request);
  EXPECT_EQ(Made(request).generation(), made.generation());
  request.set_request_id("");
  EXPECT_EQ(Refused(request), "10 RECORD_CONFLICT ");
  pb::SetAggregateRequest other = Named(made.name());
  EXPECT_EQ(Refused(other), "6 DUPLICATE_AGGREGATE aggregate.name");
  request.set_expected_generation(made.generation());
  request.mutable_aggregate()->clear_metadata();
  EXPECT_EQ(Made(request).metadata_size(), 0);
  pb::GetAggregateRequest get;
  get.set_aggregate_uuid(made.uuid());
  pb::GetAggregateResponse got;
  Do("AggregateService/GetAggregate", get, &got);
  EXPECT_EQ(got.aggregate().name(), made.name());
  EXPECT_NE(got.aggregate().generation(), made.generation());
  pb::DeleteAggregateRequest erase;
  erase.set_aggregate_uuid(made.uuid());
  pb::DeleteAggregateResponse erased;
  Do("AggregateService/DeleteAggregate", erase, &erased);
  EXPECT_GT(erased.revision().number(), 0);
  EXPECT_EQ(ReasonOf(Invoke("AggregateService/GetAggregate", get, &got)), "AGGREGATE_NOT_FOUND");
  Made(other);  // the name is free
}

}  // namespace
}  // namespace berth::e2e
