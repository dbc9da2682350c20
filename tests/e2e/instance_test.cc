// The records of instances and migrations as a scheduler writes and reads them.
#include <set>
#include <string>
#include <vector>

#include "berth/placement/v1/candidate.pb.h"
#include "berth/placement/v1/instance.pb.h"
#include "berth/placement/v1/ledger.pb.h"
#include "tests/e2e/calls.h"

namespace berth::e2e {
namespace {

class InstanceCalls : public CallsTest {
 protected:
  pb::SetInstanceRequest NewInstance() const {
    pb::SetInstanceRequest request;
    pb::Instance* const instance = request.mutable_instance();
    instance->set_uuid(Random());
    instance->set_name("guest");
    instance->set_project_id("p");
    instance->set_user_id("u");
    instance->set_host(host_);
    instance->set_vm_state("building");
    instance->mutable_flavor()->set_id("small");
    instance->mutable_flavor()->set_vcpus(2);
    instance->add_pci_devices()->set_address("0000:3b:00.1");
    return request;
  }
  static pb::Instance Set(const pb::SetInstanceRequest& request) {
    pb::SetInstanceResponse response;
    Do("InstanceService/SetInstance", request, &response);
    EXPECT_GT(response.revision().number(), 0);
    return response.instance();
  }
  std::vector<std::string> ListedOnHost(int page_size) const {
    std::vector<std::string> uuids;
    pb::ListInstancesRequest request;
    request.set_host(host_);
    request.set_page_size(page_size);
    do {
      pb::ListInstancesResponse response;
      Do("InstanceService/ListInstances", request, &response);
      for (const auto& instance : response.instances()) uuids.push_back(instance.uuid());
      request.set_page_token(response.next_page_token());
    } while (!request.page_token().empty());
    return uuids;
  }

  const std::string host_ = "host-" + Random();
};

TEST_F(InstanceCalls, AFilterHasAtMost64Words) {
  pb::ListInstancesRequest instances;
  pb::ListMigrationsRequest migrations;
  pb::ListInstancesResponse no_instances;
  pb::ListMigrationsResponse no_migrations;
  for (int i = 0; i < 64; ++i) {
    instances.add_vm_states("active");
    migrations.add_statuses("running");
  }
  Do("InstanceService/ListInstances", instances, &no_instances);
  Do("InstanceService/ListMigrations", migrations, &no_migrations);
  instances.add_vm_states("");
  migrations.add_statuses("");
  EXPECT_EQ(ReasonOf(Invoke("InstanceService/ListInstances", instances, &no_instances)),
            "INVALID_FIELD");
  EXPECT_EQ(ReasonOf(Invoke("InstanceService/ListMigrations", migrations, &no_migrations)),
            "INVALID_FIELD");
}

TEST_F(InstanceCalls, ARecordIsWrittenReadAndDeleted) {
  pb::SetInstanceRequest set = NewInstance();
  const pb::Instance made = Set(set);
  EXPECT_NE(made.generation(), 0);
  EXPECT_EQ(made.pci_devices(0).address(), "0000:3b:00.1");
  pb::SetInstanceResponse none;
  EXPECT_EQ(ReasonOf(Invoke("InstanceService/SetInstance", set, &none)), "RECORD_CONFLICT");
  set.set_expected_generation(made.generation());
  set.mutable_instance()->set_vm_state("active");
  const pb::Instance changed = Set(set);
  EXPECT_NE(changed.generation(), made.generation());

  pb::GetInstanceRequest get;
  get.set_instance_uuid(made.uuid());
  pb::GetInstanceResponse got;
  Do("InstanceService/GetInstance", get, &got);
  EXPECT_EQ(got.instance().DebugString(), changed.DebugString());

  pb::DeleteInstanceRequest remove;
  remove.set_instance_uuid(made.uuid());
  remove.set_expected_generation(made.generation());
  pb::DeleteInstanceResponse removed;
  EXPECT_EQ(ReasonOf(Invoke("InstanceService/DeleteInstance", remove, &removed)),
            "RECORD_CONFLICT");
  remove.set_expected_generation(changed.generation());
  Do("InstanceService/DeleteInstance", remove, &removed);
  EXPECT_EQ(ReasonOf(Invoke("InstanceService/GetInstance", get, &got)), "INSTANCE_NOT_FOUND");
}

TEST_F(InstanceCalls, ARepeatOfAWriteGetsTheFirstAnswer) {
  pb::SetInstanceRequest set = NewInstance();
  set.set_request_id(Random());
  const pb::Instance first = Set(set);
  EXPECT_EQ(Set(set).DebugString(), first.DebugString());
  pb::GetRequestRequest ask;
  ask.set_request_id(set.request_id());
  pb::GetRequestResponse answer;
  Do("LedgerService/GetRequest", ask, &answer);
  pb::SetInstanceResponse kept;
  ASSERT_TRUE(answer.response().UnpackTo(&kept));
  EXPECT_EQ(kept.instance().DebugString(), first.DebugString());
}

TEST_F(InstanceCalls, AHostsInstancesAreListedPageByPage) {
  std::set<std::string> made;
  for (int i = 0; i < 5; ++i) made.insert(Set(NewInstance()).uuid());
  const std::vector<std::string> all(made.begin(), made.end());
  EXPECT_EQ(ListedOnHost(2), all);
  EXPECT_EQ(ListedOnHost(0), all);
}

TEST_F(InstanceCalls, APageOfLargeRecordsIsShorter) {
  std::set<std::string> made;
  for (int i = 0; i < 70; ++i) {  // more than a gRPC message may have
    pb::SetInstanceRequest set = NewInstance();
    set.mutable_instance()->mutable_fault()->set_message(std::string(64'000, 'x'));
    made.insert(Set(set).uuid());
  }
  EXPECT_EQ(ListedOnHost(1000), std::vector<std::string>(made.begin(), made.end()));
}

TEST_F(InstanceCalls, AMigrationIsMadeAndEnds) {
  const pb::Instance instance = Set(NewInstance());
  pb::CreateMigrationRequest create;
  create.mutable_migration()->set_uuid(Random());
  create.mutable_migration()->set_instance_uuid(instance.uuid());
  create.mutable_migration()->set_source_host(host_);
  pb::CreateMigrationResponse created;
  EXPECT_EQ(ReasonOf(Invoke("InstanceService/CreateMigration", create, &created)),
            "INVALID_FIELD");  // no type
  create.mutable_migration()->set_type(pb::MIGRATION_TYPE_LIVE);
  Do("InstanceService/CreateMigration", create, &created);
  EXPECT_EQ(created.migration().status(), "accepted");  // T-125
  EXPECT_EQ(ReasonOf(Invoke("InstanceService/CreateMigration", create, &created)),
            "DUPLICATE_MIGRATION");

  pb::UpdateMigrationRequest update;
  update.set_migration_uuid(create.migration().uuid());
  update.set_expected_status("accepted");
  update.set_status("running");
  update.set_destination_host("elsewhere");
  update.set_destination_node_uuid(Random());
  pb::UpdateMigrationResponse updated;
  Do("InstanceService/UpdateMigration", update, &updated);
  EXPECT_EQ(updated.migration().destination_node_uuid(), update.destination_node_uuid());
  EXPECT_EQ(ReasonOf(Invoke("InstanceService/UpdateMigration", update, &updated)),
            "RECORD_CONFLICT");

  pb::ListMigrationsRequest list;
  list.set_host("elsewhere");
  list.set_instance_uuid(instance.uuid());
  list.set_in_progress(true);
  pb::ListMigrationsResponse listed;
  Do("InstanceService/ListMigrations", list, &listed);
  ASSERT_EQ(listed.migrations_size(), 1);
  EXPECT_EQ(listed.migrations(0).DebugString(), updated.migration().DebugString());
  update.set_expected_status("running");
  update.set_status("done");
  EXPECT_EQ(ReasonOf(Invoke("InstanceService/UpdateMigration", update, &updated)),
            "WRONG_MOVE_END");
  update.set_status("failed");
  Do("InstanceService/UpdateMigration", update, &updated);
  Do("InstanceService/ListMigrations", list, &listed);
  EXPECT_EQ(listed.migrations_size(), 0);  // T-124

  pb::DeleteInstanceRequest remove;
  remove.set_instance_uuid(instance.uuid());
  pb::DeleteInstanceResponse removed;
  Do("InstanceService/DeleteInstance", remove, &removed);
  pb::GetMigrationRequest get;
  get.set_migration_uuid(create.migration().uuid());
  pb::GetMigrationResponse got;
  EXPECT_EQ(ReasonOf(Invoke("InstanceService/GetMigration", get, &got)), "MIGRATION_NOT_FOUND");
}

// A live migration whose two parts two consumers hold (T-221), from its claims to its end.
TEST_F(InstanceCalls, AMoveEndsInOneStep) {
  const std::string source = NewHost().first;
  const std::string destination = NewHost().first;
  const pb::Instance instance = Set(NewInstance());
  pb::SetAllocationsRequest claim = ClaimOn(destination, 3);
  claim.mutable_consumers(0)->set_consumer_uuid(instance.uuid());
  claim.MergeFrom(ClaimOn(source, 2));
  const std::string migration = claim.consumers(1).consumer_uuid();
  pb::SetAllocationsResponse claimed;
  Do("AllocationService/SetAllocations", claim, &claimed);
  pb::CreateMigrationRequest create;
  create.mutable_migration()->set_uuid(migration);
  create.mutable_migration()->set_instance_uuid(instance.uuid());
  create.mutable_migration()->set_type(pb::MIGRATION_TYPE_LIVE);
  create.mutable_migration()->set_source_host(host_);
  create.mutable_migration()->set_source_node_uuid(source);
  create.mutable_migration()->set_destination_host("elsewhere");
  create.mutable_migration()->set_destination_node_uuid(destination);
  pb::CreateMigrationResponse created;
  Do("InstanceService/CreateMigration", create, &created);

  pb::EndMoveRequest end;
  end.set_request_id(Random());
  end.set_migration_uuid(migration);
  end.set_end(pb::MOVE_END_CANCELLED);
  end.set_expected_generation(created.migration().generation());
  end.set_expected_instance_generation(instance.generation());
  *end.mutable_instance() = instance;
  end.mutable_instance()->set_task_state("none any more");
  pb::EndMoveResponse ended;
  end.mutable_tracker()->set_host(host_);
  end.mutable_tracker()->set_incarnation(Random());
  EXPECT_EQ(ReasonOf(Invoke("InstanceService/EndMove", end, &ended)), "SERVICE_NOT_REGISTERED");
  const pb::TrackerProcess process = end.tracker();
  end.clear_tracker();
  end.set_expected_migration_consumer_generation(0);
  EXPECT_EQ(ReasonOf(Invoke("InstanceService/EndMove", end, &ended)),
            "CONSUMER_GENERATION_CONFLICT");
  end.clear_expected_migration_consumer_generation();
  Do("InstanceService/EndMove", end, &ended);
  EXPECT_EQ(ended.migration().status(), "cancelled");
  EXPECT_EQ(ended.instance().task_state(), "none any more");
  EXPECT_GT(ended.revision().number(), created.revision().number());
  pb::GetAllocationsRequest get;
  pb::GetAllocationsResponse held;
  get.set_consumer_uuid(migration);
  Do("AllocationService/GetAllocations", get, &held);
  EXPECT_FALSE(held.has_consumer());  // T-221
  get.set_consumer_uuid(instance.uuid());
  Do("AllocationService/GetAllocations", get, &held);
  ASSERT_EQ(held.consumer().allocations_size(), 1);
  EXPECT_EQ(held.consumer().allocations(0).provider_uuid(), source);  // T-221
  EXPECT_EQ(held.consumer().allocations(0).resources().at("VCPU"), 2);
  EXPECT_EQ(held.consumer().generation(), ended.instance_consumer_generation());

  pb::EndMoveResponse again;
  // Even from a process that may not write: a tracker may be replaced before it gets the answer.
  *end.mutable_tracker() = process;
  Do("InstanceService/EndMove", end, &again);
  EXPECT_EQ(again.DebugString(), ended.DebugString());
  end.clear_tracker();
  pb::GetRequestRequest ask;
  ask.set_request_id(end.request_id());
  pb::GetRequestResponse answer;
  Do("LedgerService/GetRequest", ask, &answer);
  ASSERT_TRUE(answer.response().UnpackTo(&again));
  EXPECT_EQ(again.DebugString(), ended.DebugString());
  end.clear_request_id();
  EXPECT_EQ(ReasonOf(Invoke("InstanceService/EndMove", end, &again)), "RECORD_CONFLICT");
}

TEST_F(InstanceCalls, AClaimCreatesTheRecord) {
  const std::string host = NewHost().first;
  pb::ClaimRequest claim;
  *claim.mutable_consumer()->mutable_instance() = NewInstance().instance();
  const std::string uuid = claim.consumer().instance().uuid();
  claim.mutable_consumer()->set_consumer_uuid(uuid);
  claim.mutable_consumer()->mutable_new_consumer();
  claim.mutable_consumer()->set_project_id("p");
  claim.mutable_consumer()->set_user_id("u");
  claim.mutable_consumer()->set_consumer_type("INSTANCE");
  (*claim.mutable_query()->add_groups()->mutable_resources())["VCPU"] = 9;
  claim.mutable_query()->mutable_groups(0)->set_in_tree(host);
  claim.mutable_consumer()->mutable_instance()->clear_host();
  pb::GetInstanceRequest get;
  get.set_instance_uuid(uuid);
  pb::GetInstanceResponse got;
  pb::ClaimResponse claimed;
  EXPECT_EQ(ReasonOf(Invoke("CandidateService/Claim", claim, &claimed)), "NO_CANDIDATE");
  EXPECT_EQ(ReasonOf(Invoke("InstanceService/GetInstance", get, &got)), "INSTANCE_NOT_FOUND");
  (*claim.mutable_query()->mutable_groups(0)->mutable_resources())["VCPU"] = 2;
  Do("CandidateService/Claim", claim, &claimed);
  Do("InstanceService/GetInstance", get, &got);
  EXPECT_EQ(got.instance().pci_devices(0).address(), "0000:3b:00.1");
  EXPECT_EQ(got.instance().generation(), claimed.instance_generation());

  // A record that is made with a claim which replaces an older one has a generation of its own.
  // The deletion of the first record has given the consumer another type (T-346).
  claim.mutable_consumer()->set_generation(claimed.generation() + 1);
  pb::DeleteInstanceRequest remove;
  remove.set_instance_uuid(uuid);
  pb::DeleteInstanceResponse removed;
  Do("InstanceService/DeleteInstance", remove, &removed);
  NewHost();  // a new record counts from the commands of the ledger, its consumer from itself
  pb::ClaimManyRequest many;
  *many.add_members()->mutable_consumer() = claim.consumer();
  *many.mutable_members(0)->mutable_query() = claim.query();
  many.set_request_id(Random());
  pb::ClaimManyResponse both, replayed;
  Do("CandidateService/ClaimMany", many, &both);
  Do("InstanceService/GetInstance", get, &got);
  EXPECT_EQ(got.instance().generation(), both.members(0).instance_generation());
  EXPECT_NE(got.instance().generation(), both.members(0).generation());
  Do("CandidateService/ClaimMany", many, &replayed);
  EXPECT_EQ(replayed.DebugString(), both.DebugString());
}

}  // namespace
}  // namespace berth::e2e
