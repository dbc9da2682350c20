// The audit of allocations, stale migrations and evacuated hosts, as an operator asks for them.
#include <gtest/gtest.h>

#include <functional>

#include "berth/placement/v1/audit.pb.h"
#include "tests/e2e/host_calls.h"

namespace berth::e2e {
namespace {

class AuditCalls : public HostCalls {
 protected:
  // The first finding of the audit that `is_wanted` accepts; an empty one if there is none.
  pb::AllocationFinding Find(const std::function<bool(const pb::AllocationFinding&)>& is_wanted) {
    pb::AuditAllocationsRequest audit;
    audit.set_page_size(1000);
    pb::AuditAllocationsResponse audited;
    Do("AuditService/AuditAllocations", audit, &audited);
    for (const pb::AllocationFinding& one : audited.findings()) {
      if (is_wanted(one)) return one;
    }
    return pb::AllocationFinding();
  }
};

TEST_F(AuditCalls, FindingsOfTheAuditAreRepairedOneByOne) {
  Tracker tracker(TrackerChannel(host_), host_, node_);
  tracker.Appear(16);
  AddInstance("a");
  const auto finding = [&] {
    return Find([&](const auto& one) { return one.message().find(host_) != std::string::npos; });
  };
  const pb::AllocationFinding found = finding();
  EXPECT_EQ(found.fault(), pb::ALLOCATION_FAULT_MISSING);  // T-345
  EXPECT_FALSE(found.repairable());  // T-345: no provider of the node has memory
  pb::RepairAllocationsRequest repair;
  repair.set_consumer_uuid(found.consumer_uuid());
  pb::RepairAllocationsResponse repaired;
  EXPECT_EQ(ReasonOf(Invoke("AuditService/RepairAllocations", repair, &repaired)),
            "NOT_REPAIRABLE");
  pb::SetAllocationsRequest claim = ClaimOn(node_, 3);
  claim.mutable_consumers(0)->set_consumer_uuid(found.consumer_uuid());
  pb::SetAllocationsResponse claimed;
  Do("AllocationService/SetAllocations", claim, &claimed);
  EXPECT_EQ(finding().fault(), pb::ALLOCATION_FAULT_WRONG_AMOUNT);  // T-345
  EXPECT_EQ(finding().held(0).resources().at("VCPU"), 3);           // T-345
  EXPECT_EQ(finding().wanted(0).resources().at("VCPU"), 2);         // T-345
  repair.set_request_id(Random());
  Do("AuditService/RepairAllocations", repair, &repaired);
  EXPECT_TRUE(repaired.repaired());                // T-345
  EXPECT_TRUE(finding().consumer_uuid().empty());  // T-345
  Do("AuditService/RepairAllocations", repair, &repaired);
  EXPECT_TRUE(repaired.repaired());  // the first answer again
  repair.set_request_id(Random());
  Do("AuditService/RepairAllocations", repair, &repaired);
  EXPECT_FALSE(repaired.repaired());  // T-345: nothing is left to do
  pb::AuditAllocationsRequest audit;
  pb::AuditAllocationsResponse audited;
  audit.set_fault(static_cast<pb::AllocationFault>(9));
  EXPECT_EQ(Refusal("AuditService/AuditAllocations", audit, &audited), "INVALID_FIELD fault");
  tracker.End();
}

TEST_F(AuditCalls, GuestsThatTrackersReportAsOrphansAreFound) {
  Tracker tracker(TrackerChannel(host_), host_, node_);
  tracker.Hello("");
  tracker.Next();
  pb::SessionRequest report = tracker.MakeSnapshot(1, 16, std::nullopt);
  pb::Orphan& orphan = *report.mutable_report()->mutable_orphans()->add_orphans();
  orphan.set_uuid(Random());
  orphan.set_name("by-hand");
  tracker.stream().Write(report);
  ASSERT_TRUE(tracker.Next().has_ack());
  const auto finding = [&] {
    return Find([&](const auto& one) { return one.consumer_uuid() == orphan.uuid(); });
  };
  EXPECT_EQ(finding().fault(), pb::ALLOCATION_FAULT_MISSING);                    // T-345
  EXPECT_NE(finding().message().find("guest by-hand runs"), std::string::npos);  // T-345
  EXPECT_FALSE(finding().repairable());
  pb::SetAllocationsRequest claim = ClaimOn(node_, 3);
  claim.mutable_consumers(0)->set_consumer_uuid(orphan.uuid());
  pb::SetAllocationsResponse claimed;
  Do("AllocationService/SetAllocations", claim, &claimed);
  EXPECT_TRUE(finding().consumer_uuid().empty());  // it holds something there now
  tracker.End();
}

TEST_F(AuditCalls, StaleMigrationsAreListedWithWhatTheyHold) {
  Tracker tracker(TrackerChannel(host_), host_, node_);
  tracker.Appear(16);
  AddInstance("a");
  pb::ListInstancesRequest list;
  list.set_host(host_);
  pb::ListInstancesResponse listed;
  Do("InstanceService/ListInstances", list, &listed);
  pb::CreateMigrationRequest create;
  create.mutable_migration()->set_uuid(Random());
  create.mutable_migration()->set_instance_uuid(listed.instances(0).uuid());
  create.mutable_migration()->set_type(pb::MIGRATION_TYPE_LIVE);
  create.mutable_migration()->set_source_host(host_);
  pb::CreateMigrationResponse created;
  Do("InstanceService/CreateMigration", create, &created);
  pb::SetAllocationsRequest claim = ClaimOn(node_, 3);
  claim.mutable_consumers(0)->set_consumer_uuid(create.migration().uuid());
  pb::SetAllocationsResponse claimed;
  Do("AllocationService/SetAllocations", claim, &claimed);
  pb::ListStaleMigrationsRequest stale;
  pb::ListStaleMigrationsResponse found;
  Do("AuditService/ListStaleMigrations", stale, &found);
  EXPECT_EQ(found.migrations_size(), 0);  // T-132: a day has not passed
  stale.mutable_age();                    // any age
  Do("AuditService/ListStaleMigrations", stale, &found);
  ASSERT_EQ(found.migrations_size(), 1);                                          // T-132, T-349
  EXPECT_EQ(found.migrations(0).migration().uuid(), create.migration().uuid());   // T-132
  EXPECT_EQ(found.migrations(0).held_by_migration(0).resources().at("VCPU"), 3);  // T-132, T-349
  stale.mutable_age()->set_seconds(-1);
  EXPECT_EQ(Refusal("AuditService/ListStaleMigrations", stale, &found), "INVALID_FIELD age");
  pb::ReleaseEvacuatedRequest release;
  pb::ReleaseEvacuatedResponse released;
  release.set_host("no such host");
  EXPECT_EQ(Refusal("AuditService/ReleaseEvacuated", release, &released), "HOST_NOT_FOUND host");
  release.set_host(host_);
  EXPECT_EQ(Refusal("AuditService/ReleaseEvacuated", release, &released),
            "SERVICE_NOT_FORCED_DOWN host");  // T-344
  pb::ForceServiceDownRequest down;
  down.set_service_uuid(Service().uuid());
  down.set_forced_down(true);
  pb::ForceServiceDownResponse is_down;
  Do("FleetService/ForceServiceDown", down, &is_down);
  EXPECT_EQ(is_down.service().state(), pb::SERVICE_STATE_DOWN);  // T-298: at once
  EXPECT_EQ(Service().state(), pb::SERVICE_STATE_DOWN);          // T-298: whatever the stream says
  Do("AuditService/ReleaseEvacuated", release, &released);
  EXPECT_EQ(released.affected_consumer_uuids_size(), 0);  // T-344: it is no evacuation
  tracker.End();
}

}  // namespace
}  // namespace berth::e2e
