// Finds what ended moves and deleted instances left on a node: allocations of deleted instances,
// allocations that nobody knows, and guests that were evacuated. An audit tells people what these
// functions find (tracker/audit/left_behind.h).
//
// Pure functions. They decide what should be done, and change nothing.
#ifndef BERTH_TRACKER_ACCOUNT_LEFTOVERS_H_
#define BERTH_TRACKER_ACCOUNT_LEFTOVERS_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tracker/account/account.h"
#include "tracker/account/records.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {

// Why the allocations of a consumer stay or go (T-143). Of several reasons, the first is given.
enum class ConsumerVerdict {
  kTracked,    // stays: the instance counts on the node
  kMigration,  // stays: a migration that holds something on the node has them
  kUnknown,    // stays: no record of an instance; perhaps it is about to be built
  kDeleted,    // goes: the instance is deleted
  kHidden,     // stays: the record is a deleted copy of an instance in another cell
  kUnplaced,   // stays: no tracker has claimed the instance yet
  kUntracked,  // stays: the instance names this node, and does not count here
  kElsewhere,  // stays: the instance is on another node, so it is being moved or was evacuated
};

struct JudgedConsumer {
  Uuid uuid;
  ConsumerVerdict verdict = ConsumerVerdict::kUnknown;
  // Whether somebody should look at the consumer: the instance names this node and has no task, or
  // it is on another node.
  bool warn = false;
  friend bool operator==(const JudgedConsumer&, const JudgedConsumer&) = default;
};

// Judges the consumers with an allocation anywhere in the tree of the node, children included
// (T-144). `records` are instances by uuid, deleted ones included. Returns the verdicts by uuid.
std::vector<JudgedConsumer> JudgeConsumers(const NodeAccount& account,
                                           const std::map<Uuid, Instance>& records,
                                           const std::set<Uuid>& consumers);

// What a host does at its start about a guest that was evacuated while the host was away.
enum class EvacuationCleanup {
  // Destroy the guest, take the node's tree out of the instance's allocation, and set the migration
  // to `completed` (T-146).
  kDestroy,
  // The instance is on this host, so the guest is the original. Set the migration to `failed` and
  // keep the guest (T-147).
  kKeepAndFail,
  // The source node is not one of this host, so this host cannot clean the instance's allocation.
  // Destroy the guest, log an error about the allocation, and leave the migration as it is (T-146).
  kDestroyOnly,
};

struct EvacuatedGuest {
  Uuid migration_uuid;
  Uuid instance_uuid;
  EvacuationCleanup cleanup = EvacuationCleanup::kDestroy;
  bool instance_gone = false;  // deleted or without a record: its disks and allocation need no care
  friend bool operator==(const EvacuatedGuest&, const EvacuatedGuest&) = default;
};

// Returns the evacuations away from `host` whose guest is still there, by migration uuid. `nodes`
// are the uuids of the host's nodes, `guests` the uuids of all guests on them. `migrations` and
// `records` are migrations and instances by uuid.
std::vector<EvacuatedGuest> FindEvacuated(const std::string& host, const std::set<Uuid>& nodes,
                                          const std::set<Uuid>& guests,
                                          const std::map<Uuid, Migration>& migrations,
                                          const std::map<Uuid, Instance>& records);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_ACCOUNT_LEFTOVERS_H_
