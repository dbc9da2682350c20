#include "placement/state/records.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "placement/ground/check.h"
#include "placement/values/migration_status.h"

namespace berth::placement {

InstancePtr Records::FindInstance(InstanceId id) const {
  const InstancePtr* found = instances_.Find(id);
  return found == nullptr ? nullptr : *found;
}

MigrationPtr Records::FindMigration(MigrationId id) const {
  const MigrationPtr* found = migrations_.Find(id);
  return found == nullptr ? nullptr : *found;
}

std::vector<InstancePtr> Records::InstancesOf(absl::string_view host) const {
  std::vector<InstancePtr> instances;
  instances_by_host_.ForEach(host,
                             [&](InstanceId id) { instances.push_back(*instances_.Find(id)); });
  return instances;
}

std::vector<MigrationPtr> Records::MovesOf(absl::string_view host) const {
  return FindIn(moves_by_host_, host);
}

std::vector<MigrationPtr> Records::MovesOf(InstanceId instance) const {
  return FindIn(moves_by_instance_, instance);
}

std::vector<MigrationPtr> Records::Moves() const {
  std::vector<MigrationPtr> moves;
  moves_by_instance_.ForEach([&](const std::pair<InstanceId, MigrationId>& key, std::monostate) {
    moves.push_back(*migrations_.Find(key.second));
  });
  return moves;
}

std::vector<MigrationPtr> Records::MigrationsOf(absl::string_view host) const {
  const std::vector<MigrationPtr> moves = FindIn(moves_by_host_, host);
  const std::vector<MigrationPtr> finished = FindIn(finished_by_host_, host);
  std::vector<MigrationPtr> all;
  all.reserve(moves.size() + finished.size());
  std::merge(moves.begin(), moves.end(), finished.begin(), finished.end(), std::back_inserter(all),
             [](const MigrationPtr& a, const MigrationPtr& b) { return a->id < b->id; });
  return all;
}

std::vector<MigrationPtr> Records::MigrationsOf(InstanceId instance) const {
  return FindIn(migrations_by_instance_, instance);
}

std::vector<InstancePtr> Records::MembersOf(ServerGroupId group) const {
  std::vector<InstancePtr> members;
  const auto add = [&](const std::pair<ServerGroupId, InstanceId>& key, std::monostate) {
    if (key.first != group) return false;
    members.push_back(*instances_.Find(key.second));
    return true;
  };
  // ForEachFrom leaves out the key that it begins with, and the nil uuid is a legal id.
  const std::pair first(group, InstanceId{});
  if (members_.Find(first) != nullptr) add(first, {});
  members_.ForEachFrom(first, add);
  return members;
}

std::vector<MigrationPtr> Records::FindIn(const HostIndex<MigrationId>& index,
                                          absl::string_view host) const {
  std::vector<MigrationPtr> found;
  index.ForEach(host, [&](MigrationId id) { found.push_back(*migrations_.Find(id)); });
  return found;
}

std::vector<MigrationPtr> Records::FindIn(const InstanceIndex& index, InstanceId instance) const {
  std::vector<MigrationPtr> found;
  const auto add = [&](const std::pair<InstanceId, MigrationId>& key, std::monostate) {
    if (key.first != instance) return false;
    found.push_back(*migrations_.Find(key.second));
    return true;
  };
  // ForEachFrom leaves out the key that it begins with, and the nil uuid is a legal id.
  const std::pair first(instance, MigrationId{});
  if (index.Find(first) != nullptr) add(first, {});
  index.ForEachFrom(first, add);
  return found;
}

void Records::Put(const ServerGroupPtr& group) {
  const ServerGroupPtr* before = groups_.Find(group->id);
  if (before != nullptr) BERTH_CHECK((*before)->generation < group->generation);
  groups_.Put(group->id, group);
}

void Records::Put(const InstancePtr& instance) {
  const InstancePtr before = FindInstance(instance->id);
  // StoredInstance and StoredMigration raise the generation. No message gives the generation of a
  // record.
  if (before != nullptr) BERTH_CHECK(before->generation < instance->generation);
  Disown(before);
  if (before == nullptr || before->host != instance->host) {
    if (before != nullptr) instances_by_host_.Erase(before->host, before->id);
    if (!instance->host.empty()) instances_by_host_.Put(instance->host, instance->id);
  }
  const auto group_before = before == nullptr ? std::nullopt : MemberGroup(*before);
  const auto group = MemberGroup(*instance);
  if (group_before != group) {
    if (group_before) members_.Erase(std::pair(*group_before, instance->id));
    if (group) {
      BERTH_CHECK(groups_.Find(*group) != nullptr);  // each rule that writes records checks it
      members_.Put({*group, instance->id}, {});
    }
  }
  instances_.Put(instance->id, instance);
  Own(instance);
}

void Records::Put(const MigrationPtr& migration) {
  // The rules refuse a migration without an instance, and no write gives a migration another
  // instance.
  const InstancePtr instance = FindInstance(migration->instance);
  BERTH_CHECK(instance != nullptr);
  Disown(instance);
  if (const MigrationPtr before = FindMigration(migration->id)) {
    BERTH_CHECK(before->generation < migration->generation);
    BERTH_CHECK(before->instance == migration->instance);
    Unlist(*before);
  }
  List(*migration);
  migrations_by_instance_.Put({migration->instance, migration->id}, {});
  migrations_.Put(migration->id, migration);
  Own(instance);
}

void Records::Remove(ServerGroupId id) {
  BERTH_CHECK(groups_.Find(id) != nullptr && MembersOf(id).empty());
  groups_.Erase(id);
}

void Records::Remove(InstanceId id) {
  const InstancePtr before = FindInstance(id);
  BERTH_CHECK(before != nullptr && MigrationsOf(id).empty());
  Disown(before);
  instances_by_host_.Erase(before->host, id);
  if (const auto group = MemberGroup(*before)) members_.Erase(std::pair(*group, id));
  instances_.Erase(id);
}

void Records::Remove(MigrationId id) {
  const MigrationPtr before = FindMigration(id);
  BERTH_CHECK(before != nullptr);
  const InstancePtr instance = FindInstance(before->instance);
  Disown(instance);
  Unlist(*before);
  migrations_by_instance_.Erase(std::pair(before->instance, id));
  migrations_.Erase(id);
  Own(instance);
}

size_t Records::PlaceOf(absl::string_view host, absl::string_view name) {
  const size_t slash = name.find('/');
  int cpu = 0;
  if (absl::StartsWith(name, "c") && slash != name.npos &&
      absl::SimpleAtoi(name.substr(slash + 1), &cpu)) {
    return absl::HashOf(host, name.substr(0, slash), cpu / kCpusInPlace);
  }
  return absl::HashOf(host, name);
}

template <typename Use>
void Records::ForEachPart(const InstanceRecord& instance, Use use) const {
  if (instance.held == nullptr || IsRemovable(instance)) return;
  std::set<absl::string_view> hosts = {instance.host};
  const std::vector<MigrationPtr> moves = MovesOf(instance.id);
  for (const MigrationPtr& move : moves) {
    hosts.insert(move->source_host);
    hosts.insert(move->destination_host);
  }
  hosts.erase("");
  std::set<size_t> places;
  const auto add = [&](const PartNames& names) {
    for (const absl::string_view name : names.List()) {
      for (const absl::string_view host : hosts) places.insert(PlaceOf(host, name));
    }
  };
  add(instance.held->own);
  if (instance.held->context != nullptr) {
    add(instance.held->context->before);
    add(instance.held->context->after);
  }
  for (const size_t place : places) use(OwnerKey{place, instance.id});
}

void Records::Disown(const InstancePtr& instance) {
  if (instance == nullptr) return;
  ForEachPart(*instance, [this](const OwnerKey& key) { owners_.Erase(key); });
}

void Records::Own(const InstancePtr& instance) {
  ForEachPart(*instance, [this](const OwnerKey& key) { owners_.Put(key, {}); });
}

void Records::Unlist(const MigrationRecord& migration) {
  for (HostIndex<MigrationId>* index : {&moves_by_host_, &finished_by_host_}) {
    index->Erase(migration.source_host, migration.id);
    index->Erase(migration.destination_host, migration.id);
  }
  moves_by_instance_.Erase(std::pair(migration.instance, migration.id));
}

void Records::List(const MigrationRecord& migration) {
  const bool moves = HoldsResources(migration.status);
  HostIndex<MigrationId>& index = moves ? moves_by_host_ : finished_by_host_;
  // An unreadable record has no hosts.
  if (!migration.source_host.empty()) index.Put(migration.source_host, migration.id);
  if (!migration.destination_host.empty()) index.Put(migration.destination_host, migration.id);
  if (moves) moves_by_instance_.Put({migration.instance, migration.id}, {});
}

ServerGroupPtr FindGroup(const Records& records, ServerGroupId id) {
  const ServerGroupPtr* found = records.groups().Find(id);
  return found == nullptr ? nullptr : *found;
}

}  // namespace berth::placement
