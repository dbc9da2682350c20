// Hosts, and the fleet as a whole: what an operator asks, changes and deletes, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/e2e/host_calls.h"

namespace berth::e2e {
namespace {

TEST_F(HostCalls, HostsOfEnabledServicesAreListed) {
  Tracker tracker(TrackerChannel(host_), host_, node_);
  pb::SessionRequest hello = tracker.MakeHello("");
  hello.mutable_hello()->set_zone("zone of " + host_);
  tracker.stream().Write(hello);
  ASSERT_TRUE(tracker.Next().has_welcome());
  EXPECT_TRUE(IsListed());  // T-302
  const std::vector<pb::Host> hosts = Hosts();
  EXPECT_TRUE(std::is_sorted(hosts.begin(), hosts.end(), [](const pb::Host& a, const pb::Host& b) {
    return a.host() < b.host();
  }));
  pb::ListHostsRequest elsewhere;
  elsewhere.set_zone("no such zone");
  pb::ListHostsResponse none;
  Do("HostService/ListHosts", elsewhere, &none);
  EXPECT_EQ(none.hosts_size(), 0);  // T-302: only this zone
  elsewhere.set_zone("zone of " + host_);
  Do("HostService/ListHosts", elsewhere, &none);
  ASSERT_EQ(none.hosts_size(), 1);                      // T-302
  EXPECT_EQ(none.hosts(0).zone(), "zone of " + host_);  // T-302
  EXPECT_EQ(none.hosts(0).binary(), "berth-tracker");   // T-302
  pb::UpdateHostRequest update;
  update.set_host(host_);
  update.set_status(pb::HOST_STATUS_DISABLED);
  update.set_request_id(Random());
  pb::UpdateHostResponse updated, repeated;
  Do("HostService/UpdateHost", update, &updated);
  EXPECT_TRUE(updated.service().disabled());   // T-305
  EXPECT_EQ(updated.service().host(), host_);  // T-305
  EXPECT_TRUE(updated.service().has_last_seen_at());
  EXPECT_FALSE(IsListed());  // T-302: enabled ones only
  Do("HostService/UpdateHost", update, &repeated);
  EXPECT_EQ(repeated.service().uuid(), updated.service().uuid());
  EXPECT_EQ(repeated.revision().number(), updated.revision().number());
  update.set_status(pb::HOST_STATUS_ENABLED);
  update.clear_request_id();
  Do("HostService/UpdateHost", update, &updated);
  EXPECT_FALSE(updated.service().disabled());  // T-305
  EXPECT_TRUE(IsListed());
  tracker.End();
}

TEST_F(HostCalls, AMaintenanceDisablesTheHostUntilItIsOver) {
  Tracker tracker(TrackerChannel(host_), host_, node_);
  tracker.Appear(16);
  const auto maintain = [&](pb::MaintenanceMode mode) {
    pb::UpdateHostRequest update;
    update.set_host(host_);
    update.set_maintenance_mode(mode);
    pb::UpdateHostResponse updated;
    Do("HostService/UpdateHost", update, &updated);
    return updated.service();
  };
  const pb::Service on = maintain(pb::MAINTENANCE_MODE_ON);
  EXPECT_TRUE(on.disabled());                               // T-306
  EXPECT_EQ(on.disabled_reason().substr(0, 7), "MAINT: ");  // T-306
  EXPECT_FALSE(IsListed());
  EXPECT_FALSE(maintain(pb::MAINTENANCE_MODE_OFF).disabled());  // T-306: undone
  pb::DisableServiceRequest disable;
  disable.set_service_uuid(Service().uuid());
  pb::DisableServiceResponse disabled;
  disable.set_reason("MAINT: not by hand");
  EXPECT_EQ(Refusal("FleetService/DisableService", disable, &disabled), "INVALID_FIELD reason");
  disable.set_reason("for another reason");
  Do("FleetService/DisableService", disable, &disabled);
  EXPECT_TRUE(maintain(pb::MAINTENANCE_MODE_OFF).disabled());  // T-306: no maintenance ended
  tracker.End();
}

TEST_F(HostCalls, ANodeIsRecordedBeforeItsTrackerReportsIt) {
  pb::CreateNodeRequest create;
  create.set_node_uuid(node_);
  create.set_name(host_);
  create.set_host(host_);
  create.set_request_id(Random());
  pb::CreateNodeResponse created, repeated;
  Do("FleetService/CreateNode", create, &created);
  EXPECT_EQ(created.node().uuid(), node_);
  EXPECT_EQ(created.node().host(), host_);
  Do("FleetService/CreateNode", create, &repeated);
  EXPECT_EQ(repeated.SerializeAsString(), created.SerializeAsString());
  create.clear_request_id();
  EXPECT_EQ(Refusal("FleetService/CreateNode", create, &created), "DUPLICATE_NODE node_uuid");
  Tracker tracker(TrackerChannel(host_), host_, node_);
  tracker.Hello("");
  const pb::SessionResponse welcome = tracker.Next();
  ASSERT_EQ(welcome.welcome().recorded_nodes_size(), 1);
  EXPECT_EQ(welcome.welcome().nodes(0).standing(), pb::NODE_STANDING_SEND_ALL);
  tracker.End();
}

TEST_F(HostCalls, AHostIsDescribedByWhatItsTrackerReported) {
  Tracker tracker(TrackerChannel(host_), host_, node_);
  tracker.Hello("");
  tracker.Next();
  tracker.stream().Write(Report(tracker, 1, 3072));
  ASSERT_TRUE(tracker.Next().has_ack());
  AddInstance("a");
  AddInstance("b");
  AddInstance("a");
  const pb::DescribeHostResponse host = Describe();
  EXPECT_EQ(host.host(), host_);                     // T-303, T-309
  ASSERT_EQ(host.nodes_size(), 1);                   // T-303
  EXPECT_EQ(host.nodes(0).uuid(), node_);            // T-309: the node has its own name
  EXPECT_EQ(host.total().vcpus(), 16);               // T-303
  EXPECT_EQ(host.total().memory_mib(), 4096);        // T-303
  EXPECT_EQ(host.total().disk_gib(), 100);           // T-303
  EXPECT_EQ(host.used_now().memory_mib(), 3072);     // T-303
  EXPECT_EQ(host.used_max().memory_mib(), 3072);     // T-303
  EXPECT_EQ(host.used_max().disk_gib(), 30);         // T-303: no swap
  ASSERT_EQ(host.projects_size(), 2);                // T-303
  EXPECT_EQ(host.projects(0).project_id(), "a");     // T-303
  EXPECT_EQ(host.projects(0).amounts().vcpus(), 4);  // T-303
  EXPECT_EQ(host.projects(1).amounts().vcpus(), 2);  // T-303
  // A delta without facts changes what is used, and not what the node has.
  pb::SessionRequest delta;
  delta.mutable_report()->set_node_uuid(node_);
  delta.mutable_report()->set_sequence(2);
  delta.mutable_report()->set_kind(pb::REPORT_KIND_DELTA);
  delta.mutable_report()->set_digest("d2");
  delta.mutable_report()->mutable_account()->mutable_used()->set_memory_mib(512);
  tracker.stream().Write(delta);
  ASSERT_TRUE(tracker.Next().has_ack());
  EXPECT_EQ(Describe().total().memory_mib(), 4096);    // T-303
  EXPECT_EQ(Describe().used_now().memory_mib(), 512);  // T-303
  tracker.End();
}

TEST_F(HostCalls, StatisticsCountTheNodesOfEnabledServices) {
  const auto statistics = [] {
    pb::GetNodeStatisticsResponse response;
    Do("FleetService/GetNodeStatistics", pb::GetNodeStatisticsRequest(), &response);
    return response;
  };
  const pb::GetNodeStatisticsResponse before = statistics();
  Tracker tracker(TrackerChannel(host_), host_, node_);
  tracker.Hello("");
  tracker.Next();
  tracker.stream().Write(Report(tracker, 1, 3072));
  ASSERT_TRUE(tracker.Next().has_ack());
  const pb::GetNodeStatisticsResponse with = statistics();
  EXPECT_EQ(with.count() - before.count(), 1);                                         // T-311
  EXPECT_EQ(with.total().memory_mib() - before.total().memory_mib(), 4096);            // T-311
  EXPECT_EQ(with.used().memory_mib() - before.used().memory_mib(), 3072);              // T-311
  EXPECT_EQ(with.free().memory_mib() - before.free().memory_mib(), 1024);              // T-311
  EXPECT_EQ(with.disk_available_least_gib() - before.disk_available_least_gib(), -7);  // T-311
  EXPECT_EQ(with.running_vms() - before.running_vms(), 3);            // T-120, T-311
  EXPECT_EQ(with.current_workload() - before.current_workload(), 2);  // T-120, T-311
  pb::UpdateHostRequest update;
  update.set_host(host_);
  update.set_status(pb::HOST_STATUS_DISABLED);
  pb::UpdateHostResponse updated;
  Do("HostService/UpdateHost", update, &updated);
  EXPECT_EQ(statistics().count(), before.count());  // T-311: enabled ones only
  tracker.End();
}

TEST_F(HostCalls, WhatIsWrongWithARequestIsNamed) {
  Tracker tracker(TrackerChannel(host_), host_, node_);
  tracker.Appear(16);
  pb::DescribeHostRequest describe;
  pb::DescribeHostResponse described;
  const auto describing = [&] { return Refusal("HostService/DescribeHost", describe, &described); };
  EXPECT_EQ(describing(), "INVALID_FIELD host");
  describe.set_host("no such host");
  describe.set_node_uuid("no uuid");
  EXPECT_EQ(describing(), "INVALID_FIELD node_uuid");
  describe.clear_node_uuid();
  EXPECT_EQ(describing(), "HOST_NOT_FOUND host");  // T-303
  describe.set_host(host_);
  describe.set_node_uuid(Random());
  EXPECT_EQ(describing(), "NODE_NOT_FOUND node_uuid");  // T-303
  pb::UpdateHostRequest update;
  pb::UpdateHostResponse updated;
  const auto updating = [&] { return Refusal("HostService/UpdateHost", update, &updated); };
  EXPECT_EQ(updating(), "INVALID_FIELD host");
  update.set_host("no such host");
  EXPECT_EQ(updating(), "INVALID_FIELD status");  // T-305: nothing is asked for
  update.set_status(static_cast<pb::HostStatus>(7));
  EXPECT_EQ(updating(), "INVALID_FIELD status");  // T-305
  update.set_status(pb::HOST_STATUS_DISABLED);
  update.set_maintenance_mode(static_cast<pb::MaintenanceMode>(7));
  EXPECT_EQ(updating(), "INVALID_FIELD maintenance_mode");  // T-305
  update.clear_maintenance_mode();
  EXPECT_EQ(updating(), "HOST_NOT_FOUND host");  // T-305
  update.set_host(host_);
  update.set_maintenance_mode(pb::MAINTENANCE_MODE_ON);
  EXPECT_EQ(updating(), "INVALID_FIELD maintenance_mode");  // T-305: not both
  EXPECT_FALSE(Service().disabled());                       // the status was not changed either
  pb::ListHostsRequest hosts;
  hosts.set_page_size(-1);
  pb::ListHostsResponse listed;
  EXPECT_EQ(Refusal("HostService/ListHosts", hosts, &listed), "INVALID_FIELD page_size");
  pb::ListServicesRequest services;
  services.set_page_size(1);
  pb::ListServicesResponse page;
  Do("FleetService/ListServices", services, &page);
  hosts.set_page_size(1);
  hosts.set_page_token(page.next_page_token().empty() ? "bm9uZQ" : page.next_page_token());
  EXPECT_EQ(Refusal("HostService/ListHosts", hosts, &listed), "PAGE_TOKEN_MISMATCH page_token");
  pb::ActOnHostRequest act;
  act.set_host(host_);
  act.set_action(pb::HOST_ACTION_REBOOT);
  pb::ActOnHostResponse acted;
  const grpc::Status refused = Invoke("HostService/ActOnHost", act, &acted);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNIMPLEMENTED);      // T-307, T-308
  EXPECT_EQ(ReasonOf(refused), "NOT_OFFERED");                           // T-307
  EXPECT_NE(refused.error_message().find("cannot"), std::string::npos);  // T-307
  tracker.End();
}

TEST_F(HostCalls, AnAuditOfAHostThatIsDownIsRefused) {
  Tracker tracker(TrackerChannel(host_), host_, node_);
  tracker.Appear(16);
  tracker.End();
  pb::AuditNodeRequest audit;
  audit.set_node_uuid(node_);
  pb::AuditNodeResponse audited;
  std::string answer;
  const absl::Time until = absl::Now() + absl::Seconds(30);
  while (answer != "NOT_SERVING" && absl::Now() < until) {  // the end of the stream is noticed soon
    answer = ReasonOf(Invoke("FleetService/AuditNode", audit, &audited, absl::Seconds(1)));
  }
  EXPECT_EQ(answer, "NOT_SERVING");
}

TEST_F(HostCalls, AServiceWhoseNodesAreInUseIsDeletedByCascadeOnly) {
  Tracker tracker(TrackerChannel(host_), host_, node_);
  tracker.Appear(16);
  const pb::SetAllocationsRequest claim = ClaimOn(node_, 2);
  pb::SetAllocationsResponse claimed;
  Do("AllocationService/SetAllocations", claim, &claimed);
  const auto is_held = [&] {
    pb::GetAllocationsRequest get;
    get.set_consumer_uuid(claim.consumers(0).consumer_uuid());
    pb::GetAllocationsResponse got;
    Do("AllocationService/GetAllocations", get, &got);
    return got.has_consumer();
  };
  pb::DeleteServiceRequest deletion;
  deletion.set_service_uuid(Service().uuid());
  pb::DeleteServiceResponse deleted;
  const grpc::Status refused = Invoke("FleetService/DeleteService", deletion, &deleted);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);  // T-299
  EXPECT_EQ(ReasonOf(refused), "PROVIDER_IN_USE");                         // T-299
  EXPECT_TRUE(is_held());                                                  // T-299
  EXPECT_EQ(Service().uuid(), deletion.service_uuid());                    // T-299
  deletion.set_cascade(true);
  Do("FleetService/DeleteService", deletion, &deleted);
  EXPECT_FALSE(is_held());                // T-225, T-299
  EXPECT_TRUE(Service().uuid().empty());  // T-299
  tracker.End();
}

TEST_F(HostCalls, ADeletedServiceEndsItsStreamAndDoesNotComeBack) {
  Tracker tracker(TrackerChannel(host_), host_, node_);
  tracker.Hello("");
  const pb::SessionResponse welcome = tracker.Next();
  tracker.Snapshot(1, 16, std::nullopt);
  ASSERT_TRUE(tracker.Next().has_ack());
  AddInstance("a");
  pb::DeleteServiceRequest deletion;
  deletion.set_service_uuid(Service().uuid());
  pb::DeleteServiceResponse deleted;
  EXPECT_EQ(ReasonOf(Invoke("FleetService/DeleteService", deletion, &deleted)),
            "SERVICE_IN_USE");  // T-299
  pb::ListInstancesRequest list;
  list.set_host(host_);
  pb::ListInstancesResponse listed;
  Do("InstanceService/ListInstances", list, &listed);
  pb::DeleteInstanceRequest gone;
  gone.set_instance_uuid(listed.instances(0).uuid());
  pb::DeleteInstanceResponse removed;
  Do("InstanceService/DeleteInstance", gone, &removed);
  Do("FleetService/DeleteService", deletion, &deleted);
  EXPECT_TRUE(Service().uuid().empty());  // T-299
  pb::GetNodeRequest get;
  get.set_node_uuid(node_);
  pb::GetNodeResponse got;
  EXPECT_EQ(ReasonOf(Invoke("FleetService/GetNode", get, &got)), "NODE_NOT_FOUND");  // T-299
  EXPECT_FALSE(tracker.Next().has_ack());  // waits for the end of the stream
  const grpc::Status end = tracker.End();
  EXPECT_EQ(end.error_code(), grpc::StatusCode::FAILED_PRECONDITION);  // T-384
  EXPECT_EQ(ReasonOf(end), "SERVICE_NOT_REGISTERED");                  // T-384
  EXPECT_EQ(ReasonOf(Invoke("FleetService/DeleteService", deletion, &deleted)),
            "SERVICE_NOT_FOUND");
  // The same process connects again: it says with which record it had registered.
  Tracker again(TrackerChannel(host_), host_, node_);
  pb::SessionRequest hello = again.MakeHello("");
  pb::ServiceRegistration& registered = *hello.mutable_hello()->mutable_registered();
  registered.set_service_uuid(welcome.welcome().service().uuid());
  *registered.mutable_revision() = welcome.revision();
  again.stream().Write(hello);
  EXPECT_FALSE(again.Next().has_welcome());                    // T-299
  EXPECT_EQ(ReasonOf(again.End()), "SERVICE_NOT_REGISTERED");  // T-299, T-384
  EXPECT_TRUE(Service().uuid().empty());                       // T-384
  Tracker restarted(TrackerChannel(host_), host_, node_);
  restarted.Appear(16);
  EXPECT_NE(Service().uuid(), welcome.welcome().service().uuid());  // T-299: a new record
  restarted.End();
}

}  // namespace
}  // namespace berth::e2e
