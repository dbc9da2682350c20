// Records: the records of instances and migrations, with the indexes by which they are found.
//
// A part of State, and a value like it: a copy costs a few pointers. Any thread may call const
// members; only the owner of an unpublished state calls the others.
//
// Invariant: the instance of every migration has a record.
#ifndef BERTH_PLACEMENT_STATE_RECORDS_H_
#define BERTH_PLACEMENT_STATE_RECORDS_H_

#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "placement/state/host_index.h"
#include "placement/state/persistent_map.h"
#include "placement/values/instance.h"

namespace berth::placement {

class Records {
 public:
  const PersistentMap<InstanceId, InstancePtr>& instances() const { return instances_; }
  const PersistentMap<MigrationId, MigrationPtr>& migrations() const { return migrations_; }
  // The record with the id `id`; null if there is none.
  InstancePtr FindInstance(InstanceId id) const;
  MigrationPtr FindMigration(MigrationId id) const;

  // The instances whose host is `host`, in order of id. The cost of this method and of the next
  // four methods does not grow with the number of other records.
  std::vector<InstancePtr> InstancesOf(absl::string_view host) const;
  // The migrations from or to `host` that may hold resources (HoldsResources), in order of id.
  std::vector<MigrationPtr> MovesOf(absl::string_view host) const;
  // The migrations of the instance that may hold resources, in order of id.
  std::vector<MigrationPtr> MovesOf(InstanceId instance) const;
  // All migrations that may hold resources, in order of their instances and ids. The cost does not
  // grow with the number of the others.
  std::vector<MigrationPtr> Moves() const;
  // All migrations from or to `host`, or of the instance, in order of id.
  std::vector<MigrationPtr> MigrationsOf(absl::string_view host) const;
  std::vector<MigrationPtr> MigrationsOf(InstanceId instance) const;

  // Insert the record, or replace the record with the same id. REQUIRES: the generation rises; a
  // migration keeps its instance, and the instance has a record.
  void Put(const InstancePtr& instance);
  void Put(const MigrationPtr& migration);
  // Remove the record. REQUIRES: the record is present, and no migration names the instance.
  void Remove(InstanceId id);
  void Remove(MigrationId id);

 private:
  using InstanceIndex = PersistentMap<std::pair<InstanceId, MigrationId>, std::monostate>;

  // The migrations that the index has for the host or for the instance, in order of id.
  std::vector<MigrationPtr> FindIn(const HostIndex<MigrationId>& index,
                                   absl::string_view host) const;
  std::vector<MigrationPtr> FindIn(const InstanceIndex& index, InstanceId instance) const;
  // Unlist removes the migration from the indexes by host and from moves_by_instance_. List adds it
  // to those that are for migrations of its status.
  void Unlist(const MigrationRecord& migration);
  void List(const MigrationRecord& migration);

  PersistentMap<InstanceId, InstancePtr> instances_;
  PersistentMap<MigrationId, MigrationPtr> migrations_;
  HostIndex<InstanceId> instances_by_host_;  // the instances that have a host
  // The migrations that may hold resources, by their hosts, and the other migrations. An instance
  // keeps its finished migrations for ever, so those that may hold resources have own indexes.
  HostIndex<MigrationId> moves_by_host_;
  HostIndex<MigrationId> finished_by_host_;
  InstanceIndex moves_by_instance_;  // the migrations that may hold resources
  InstanceIndex migrations_by_instance_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STATE_RECORDS_H_
