// The moves of a random life.
#include <utility>

#include "tests/processes/short_uuid.h"
#include "tests/tracker/account/sample_records.h"
#include "tests/tracker/claims/arrivals.h"
#include "tests/tracker/claims/random_life.h"

namespace berth::tracker {

std::string RandomLife::Move(Instance instance, MigrationType type, const Flavor& flavor) {
  Migration migration;
  migration.uuid = ShortUuid("m" + std::to_string(++names_));
  migration.instance_uuid = instance.uuid;
  migration.type = type;
  migration.status = "accepted";
  migration.source = instance.on;
  migration.old_flavor_id = instance.flavor.id;
  migration.new_flavor_id = flavor.id;
  migration.created_at = now_;
  instance.task_state = type == MigrationType::kLive         ? "migrating"
                        : type == MigrationType::kEvacuation ? "rebuilding"
                                                             : "resize_prep";
  Put(instance);
  Put(migration);
  MoveClaim request;
  request.id = "c" + std::to_string(++names_);
  request.node_uuid = kHere.node_uuid;
  request.instance = std::move(instance);
  request.migration = migration;
  request.new_flavor = flavor;
  if (Below(3) == 0) request.units = {{"node-1"_uuid, "PMEM", 1}};
  const auto claim = ClaimMove(settings_, request, &account_);
  if (claim.ok()) {
    unwritten_.push_back(*claim);
    return "claim of a move";
  }
  migration.status = "failed";
  Put(migration);
  request.instance.task_state.clear();
  Put(request.instance);
  return "refused move";
}

std::string RandomLife::BringHere() {
  if (instances_.size() >= 8) return "nothing to bring";
  const MigrationType types[] = {MigrationType::kCold, MigrationType::kResize, MigrationType::kLive,
                                 MigrationType::kEvacuation};
  const MigrationType type = types[Below(4)];
  Instance instance =
      NewInstance(Below(2) == 0 ? kThere : HostAndNode{"h1", "node-3"_uuid}, "active");
  const Flavor flavor = type == MigrationType::kResize ? RandomFlavor() : instance.flavor;
  return "bring here: " + Move(std::move(instance), type, flavor);
}

std::string RandomLife::ResizeHere() {
  const Instance* found = Pick([&](const Instance& i) {
    return i.on == kHere && i.vm_state == "active" && !i.deleted && !Moves(i);
  });
  if (found == nullptr) return "nothing to resize";
  if (Below(3) == 0) return "move here: " + Move(*found, MigrationType::kCold, found->flavor);
  return "resize here: " + Move(*found, MigrationType::kResize, RandomFlavor());
}

// The destination is another node, whose claims this test does not follow.
std::string RandomLife::SendAway() {
  const Instance* found = Pick([&](const Instance& i) {
    return i.on == kHere && i.vm_state == "active" && !i.deleted && !Moves(i);
  });
  if (found == nullptr) return "nothing to send";
  Instance instance = *found;
  const bool live = Below(2) == 0;
  Migration migration =
      MakeMigration(instance, live ? MigrationType::kLive : MigrationType::kResize,
                    live ? "running" : "pre-migrating", kHere, kThere);
  migration.uuid = ShortUuid("m" + std::to_string(++names_));
  migration.created_at = now_;
  const Flavor flavor = live ? instance.flavor : RandomFlavor();
  migration.new_flavor_id = flavor.id;
  instance.task_state = live ? "migrating" : "resize_prep";
  MigrationContext context;
  context.migration_uuid = migration.uuid;
  context.old_flavor = instance.flavor;
  context.new_flavor = flavor;
  context.old_assigned = instance.assigned;
  context.old_device_requests = instance.device_requests;
  if (resources_.topology.has_value()) context.new_assigned.topology = MakePinned({0, 1});
  instance.context = context;
  Put(migration);
  Put(instance);
  return "send away";
}

std::string RandomLife::Finish() {
  const Instance* found = Pick([&](const Instance& i) {
    const Migration* migration = MoveOf(i.uuid);
    return !i.deleted && migration != nullptr && i.context.has_value() &&
           i.context->migration_uuid == migration->uuid && migration->status != "finished";
  });
  if (found == nullptr) return "nothing to finish";
  const Migration& migration = *MoveOf(found->uuid);
  const bool waits =
      migration.type == MigrationType::kResize || migration.type == MigrationType::kCold;
  Write(waits ? WaitingForUser(*found, migration) : Succeeded(*found, migration));
  return "finish";
}

std::string RandomLife::ConfirmOrRevert() {
  const Instance* found = Pick([&](const Instance& i) {
    const Migration* migration = MoveOf(i.uuid);
    return !i.deleted && i.vm_state == "resized" && migration != nullptr &&
           migration->status == "finished";
  });
  if (found == nullptr) return "nothing to confirm";
  const Migration& migration = *MoveOf(found->uuid);
  Ending ending;
  if (Below(2) == 0) {
    ending = *ConfirmMove(*found, migration);
  } else {
    Instance reverting = *found;
    reverting.task_state = "resize_reverting";
    ending = *RevertMove(reverting, migration);
  }
  ending.instance->vm_state = "active";
  ending.instance->task_state.clear();
  Write(ending);
  return "confirm or revert";
}

}  // namespace berth::tracker
