// Who has a device of a node follows from the records that count on it.
#include "gtest/gtest.h"
#include "tests/tracker/claims/arrivals.h"
#include "tests/tracker/claims/rich_claims.h"
#include "tests/tracker/devices/device_fixture.h"

namespace berth::tracker {
namespace {

constexpr char kFirstNic[] = "0000:81:00.0";
constexpr char kOtherNic[] = "0000:81:01.0";

std::string NicsOf(const NodeAccount& account) {
  const DeviceTable table = account.Devices();
  return StatusIn(table, kFirstNic) + ", " + StatusIn(table, kOtherNic);
}

TEST(DeviceOwners, AreInstancesAndMigrationsThatCount) {
  NodeAccount account(kHere, RichHost());
  Instance here = MakeInstance("a", kHere, MakeFlavor("f", 1, 1, 1));
  here.assigned.devices = {kFirstNic};
  account.PutInstance(here);
  EXPECT_EQ(NicsOf(account), "allocated a, available");  // T-254
  here.vm_state = "shelved_offloaded";
  account.PutInstance(here);
  EXPECT_EQ(NicsOf(account), "available, available");  // T-254: it counts no more
  here.vm_state = "active";
  account.PutInstance(here);
  account.DropInstance("a"_uuid);
  EXPECT_EQ(NicsOf(account), "available, available");  // T-255

  Instance coming = MakeInstance("b", kThere, MakeFlavor("f", 1, 1, 1));
  coming.task_state = "migrating";
  coming.context.emplace().migration_uuid = "m"_uuid;
  coming.context->new_assigned.devices = {kOtherNic};
  account.PutInstance(coming);
  EXPECT_EQ(NicsOf(account), "available, available");
  account.PutMigration(MakeMigration(coming, MigrationType::kLive, "running", kThere, kHere));
  EXPECT_EQ(NicsOf(account), "available, allocated b");  // T-255: its migration has it
  account.DropMigration("m"_uuid);
  EXPECT_EQ(NicsOf(account), "available, available");  // T-255
}

TEST(DeviceOwners, AnOrphanKeepsItsDevice) {
  NodeResources resources = RichHost();
  resources.attached = {kFirstNic};
  EXPECT_EQ(NicsOf(NodeAccount(kHere, resources)), "unavailable, available");  // T-255
}

// An instance that is resized on its node from the first device to the other one, and waits.
Ending ResizedInPlace(NodeAccount* account) {
  MoveClaim request = RichMove(MigrationType::kResize, kHere);
  request.instance.task_state = "resize_prep";
  request.instance.assigned = {};
  request.instance.assigned.devices = {kFirstNic};
  request.new_flavor.extra_specs.erase("hw:cpu_policy");
  request.migration.new_flavor_id = request.new_flavor.id;
  request.units.clear();
  account->PutInstance(request.instance);
  const OpenClaim claim = *ClaimMove(Settings(), request, account);
  account->PutMigration(*claim.migration);
  account->PutInstance(claim.instance);
  EXPECT_EQ(NicsOf(*account), "allocated a, allocated a");
  Ending waiting = WaitingForUser(claim.instance, *claim.migration);
  account->PutMigration(*waiting.migration);
  account->PutInstance(*waiting.instance);
  EXPECT_EQ(NicsOf(*account), "allocated a, allocated a");
  return waiting;
}

TEST(DeviceOwners, TheEndOfAResizeInPlaceFreesOneSide) {
  NodeAccount account(kHere, RichHost());
  const Ending waiting = ResizedInPlace(&account);
  NodeAccount confirmed = account;
  const Ending confirm = *ConfirmMove(*waiting.instance, *waiting.migration);
  confirmed.PutMigration(*confirm.migration);
  confirmed.PutInstance(*confirm.instance);
  EXPECT_EQ(NicsOf(confirmed), "available, allocated a");  // T-257
  Instance reverting = *waiting.instance;
  reverting.task_state = "resize_reverting";
  const Ending revert = *RevertMove(reverting, *waiting.migration);
  account.PutMigration(*revert.migration);
  account.PutInstance(*revert.instance);
  EXPECT_EQ(NicsOf(account), "allocated a, available");  // T-257
}

}  // namespace
}  // namespace berth::tracker
