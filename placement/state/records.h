// Records: the records of instances and migrations, and the server groups, with the indexes by
// which they are found.
//
// A part of State, and a value like it: a copy costs a few pointers. Any thread may call const
// members; only the owner of an unpublished state calls the others.
//
// Invariants:
//   1. The instance of every migration has a record, and so exists the group of every member (MemberGroup).
//   2. The index of owners names each instance that is not removable (IsRemovable) under the place
//      of each part that its record names (PlaceOf), on the host of the record and on the hosts of
//      its moves that may hold resources.
#ifndef BERTH_PLACEMENT_STATE_RECORDS_H_
#define BERTH_PLACEMENT_STATE_RECORDS_H_

#include <utility>
#include <variant>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "placement/state/host_index.h"
#include "placement/state/persistent_map.h"
#include "placement/values/instance.h"
#include "placement/values/server_group.h"

namespace berth::placement {

class Records {
 public:
  const PersistentMap<InstanceId, InstancePtr>& instances() const { return instances_; }
  const PersistentMap<MigrationId, MigrationPtr>& migrations() const { return migrations_; }
  const PersistentMap<ServerGroupId, ServerGroupPtr>& groups() const { return groups_; }
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
  // Calls visit(id) for each instance that may have the part `name` of a node of `host`
  // (HeldParts), in ascending order. For each other instance, nothing of its record and its moves
  // that may hold resources gives it the part there. Some of the instances may not have it either.
  template <typename Visit>
  void ForEachOwner(absl::string_view host, absl::string_view name, Visit visit) const {
    const OwnerKey first{PlaceOf(host, name), InstanceId{}};
    const auto add = [&](const OwnerKey& key, std::monostate) {
      if (key.first != first.first) return false;
      visit(key.second);
      return true;
    };
    // ForEachFrom leaves out the key that it begins with, and the nil uuid is a legal id.
    if (owners_.Find(first) != nullptr) add(first, {});
    owners_.ForEachFrom(first, add);
  }
  // All migrations from or to `host`, or of the instance, in order of id.
  std::vector<MigrationPtr> MigrationsOf(absl::string_view host) const;
  std::vector<MigrationPtr> MigrationsOf(InstanceId instance) const;

  // The members of the group (MemberGroup), in order of id. The cost does not grow
  // with the number of other records.
  std::vector<InstancePtr> MembersOf(ServerGroupId group) const;

  // Insert the record, or replace the record with the same id. REQUIRES: the generation rises; a
  // migration keeps its instance, and the instance has a record; the group of a member exists.
  void Put(const ServerGroupPtr& group);
  void Put(const InstancePtr& instance);
  void Put(const MigrationPtr& migration);
  // Remove the record. REQUIRES: the record is present, no migration names the instance, and the
  // group has no members.
  void Remove(ServerGroupId id);
  void Remove(InstanceId id);
  void Remove(MigrationId id);

 private:
  // A place (PlaceOf), and an instance that may have a part there.
  using OwnerKey = std::pair<size_t, InstanceId>;
  using InstanceIndex = PersistentMap<std::pair<InstanceId, MigrationId>, std::monostate>;

  // The migrations that the index has for the host or for the instance, in order of id.
  std::vector<MigrationPtr> FindIn(const HostIndex<MigrationId>& index,
                                   absl::string_view host) const;
  std::vector<MigrationPtr> FindIn(const InstanceIndex& index, InstanceId instance) const;
  // Unlist removes the migration from the indexes by host and from moves_by_instance_. List adds it
  // to those that are for migrations of its status.
  void Unlist(const MigrationRecord& migration);
  void List(const MigrationRecord& migration);

  // The hash of a host and of a part. Neighbouring CPUs are one part, since an instance mostly has
  // several of them: so the index is a third as large, and a start makes it three times as fast.
  static constexpr int kCpusInPlace = 8;
  static size_t PlaceOf(absl::string_view host, absl::string_view name);
  // Calls use(key) for each key that owners_ has for the instance.
  template <typename Use>
  void ForEachPart(const InstanceRecord& instance, Use use) const;
  // Disown takes the parts of the instance out of owners_, Own adds them. Both look at the moves of
  // the instance as they are now.
  void Disown(const InstancePtr& instance);
  void Own(const InstancePtr& instance);

  PersistentMap<ServerGroupId, ServerGroupPtr> groups_;
  PersistentMap<std::pair<ServerGroupId, InstanceId>, std::monostate> members_;
  PersistentMap<InstanceId, InstancePtr> instances_;
  PersistentMap<MigrationId, MigrationPtr> migrations_;
  HostIndex<InstanceId> instances_by_host_;  // the instances that have a host
  // The migrations that may hold resources, by their hosts, and the other migrations. An instance
  // keeps its finished migrations for ever, so those that may hold resources have own indexes.
  HostIndex<MigrationId> moves_by_host_;
  HostIndex<MigrationId> finished_by_host_;
  InstanceIndex moves_by_instance_;  // the migrations that may hold resources
  InstanceIndex migrations_by_instance_;
  PersistentMap<OwnerKey, std::monostate> owners_;
};

// The group with the id `id`; null if there is none.
ServerGroupPtr FindGroup(const Records& records, ServerGroupId id);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STATE_RECORDS_H_
