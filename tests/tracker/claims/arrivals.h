// The records of a move whose guest is on its destination. Other programs write such records, so the
// product's tracker has no code that makes them.
#ifndef BERTH_TESTS_TRACKER_CLAIMS_ARRIVALS_H_
#define BERTH_TESTS_TRACKER_CLAIMS_ARRIVALS_H_

#include <utility>

#include "tracker/claims/ending.h"

namespace berth::tracker {

// The instance with the values after the move, on the destination.
//
// REQUIRES: it has the context of the migration.
inline Instance Arrived(Instance instance, const Migration& migration) {
  const MigrationContext& context = *instance.context;
  instance.on = migration.destination;
  instance.assigned = context.new_assigned;
  instance.device_requests = context.new_device_requests;
  if (migration.type == MigrationType::kResize) instance.flavor = *context.new_flavor;
  instance.task_state.clear();
  return instance;
}

// A resize or cold migration that waits until its user confirms or reverts it.
inline Ending WaitingForUser(const Instance& instance, const Migration& migration) {
  Ending waiting{Arrived(instance, migration), migration, AllocationChange::kNone};
  waiting.instance->vm_state = "resized";
  waiting.migration->status = "finished";
  return waiting;
}

// An evacuation or a live migration that has succeeded.
inline Ending Succeeded(const Instance& instance, const Migration& migration) {
  Ending succeeded{Arrived(instance, migration), migration, AllocationChange::kNone};
  succeeded.instance->context.reset();
  succeeded.migration->status = migration.type == MigrationType::kEvacuation ? "done" : "completed";
  return succeeded;
}

}  // namespace berth::tracker

#endif  // BERTH_TESTS_TRACKER_CLAIMS_ARRIVALS_H_
