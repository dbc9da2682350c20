#include "tracker/account/account.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tracker/ground/check.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {
namespace {

const Uuid& InstanceOf(const OpenClaim& claim) { return claim.instance.uuid; }

template <typename Map>
const typename Map::mapped_type* FindOrNull(const Map& map, const Uuid& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

// The id of the request for which the instance has the device; empty: the request has none.
std::string RequestOf(const InstanceEntry& entry, const std::string& address) {
  for (const std::optional<Holding>* const holding : {&entry.own, &entry.held}) {
    if (!holding->has_value()) continue;
    const auto found = (*holding)->assigned.request_ids.find(address);
    if (found != (*holding)->assigned.request_ids.end()) return found->second;
  }
  return "";
}

// Notes that a build on the node has succeeded, if `instance` says so (T-122). The account has still
// the record that `instance` will replace.
void NoteBuild(const Instance& instance, NodeAccount* account) {
  if (account->failed_builds() == 0 || instance.vm_state != "active") return;
  const std::optional<Instance> before = account->FindInstance(instance.uuid);
  if (!before.has_value() || before->vm_state != "building") return;
  if (instance.on == account->self()) account->ForgetFailedBuilds();
}

}  // namespace

NodeAccount::NodeAccount(HostAndNode self, NodeResources resources, Amounts orphans)
    : self_(std::move(self)),
      resources_(std::move(resources)),
      orphans_(orphans),
      ownership_(resources_.topology) {}

void NodeAccount::PutInstance(Instance instance) {
  NoteBuild(instance, this);
  const Uuid uuid = instance.uuid;
  instances_.insert_or_assign(uuid, std::move(instance));
  EndClaimIfSettled(uuid);
  Recount(uuid);
}

void NodeAccount::PutMigration(Migration migration) {
  const Uuid instance = migration.instance_uuid;
  const Migration* known = FindOrNull(migrations_, migration.uuid);
  if (known != nullptr && known->instance_uuid != instance) DropMigration(Uuid(known->uuid));
  migrations_of_.emplace(instance, migration.uuid);
  migrations_.insert_or_assign(migration.uuid, std::move(migration));
  EndClaimIfSettled(instance);
  Recount(instance);
}

bool NodeAccount::DropInstance(const Uuid& uuid) {
  if (instances_.erase(uuid) == 0) return false;
  Recount(uuid);
  return true;
}

bool NodeAccount::DropMigration(const Uuid& uuid) {
  const auto found = migrations_.find(uuid);
  if (found == migrations_.end()) return false;
  const Uuid instance = found->second.instance_uuid;
  migrations_of_.erase({instance, uuid});
  migrations_.erase(found);
  Recount(instance);
  return true;
}

void NodeAccount::ReplaceRecords(std::vector<Instance> instances,
                                 std::vector<Migration> migrations) {
  for (const Instance& instance : instances) NoteBuild(instance, this);
  instances_.clear();
  migrations_.clear();
  migrations_of_.clear();
  for (Instance& instance : instances) {
    const Uuid uuid = instance.uuid;
    instances_.insert_or_assign(uuid, std::move(instance));
  }
  for (Migration& migration : migrations) {
    const Uuid uuid = migration.uuid;
    migrations_.insert_or_assign(uuid, std::move(migration));
  }
  for (const auto& [uuid, migration] : migrations_) {
    migrations_of_.emplace(migration.instance_uuid, uuid);
  }
  std::vector<Uuid> claimed;
  for (const auto& [instance, claim] : claims_) claimed.push_back(instance);
  for (const Uuid& instance : claimed) EndClaimIfSettled(instance);
  *this = Rebuilt();
}

void NodeAccount::Open(OpenClaim claim) {
  const Uuid instance = InstanceOf(claim);
  const bool opened = claims_.emplace(instance, std::move(claim)).second;
  BERTH_CHECK(opened);  // ClaimInstance and ClaimMove answer a claim of an instance that has one
  Recount(instance);
}

bool NodeAccount::Close(const Uuid& instance_uuid, absl::string_view claim_id) {
  const auto found = claims_.find(instance_uuid);
  if (found == claims_.end() || found->second.id != claim_id) return false;
  claims_.erase(found);
  Recount(instance_uuid);
  return true;
}

void NodeAccount::SetResources(NodeResources resources) {
  const bool same_overheads = resources.overheads == resources_.overheads;
  resources_ = std::move(resources);
  if (same_overheads) {
    ownership_.Forget();
  } else {
    *this = Rebuilt();
  }
}

NodeAccount NodeAccount::Rebuilt() const {
  NodeAccount account(self_, resources_, orphans_);
  account.device_providers_ = device_providers_;
  account.failed_builds_ = failed_builds_;
  account.instances_ = instances_;
  account.migrations_ = migrations_;
  account.migrations_of_ = migrations_of_;
  account.claims_ = claims_;
  std::set<Uuid> uuids;
  for (const auto& [uuid, instance] : instances_) uuids.insert(uuid);
  for (const auto& [uuid, claim] : claims_) uuids.insert(uuid);
  for (const Uuid& uuid : uuids) account.Recount(uuid);
  return account;
}

Amounts NodeAccount::used() const {
  Amounts sum = resources_.reserve;
  sum += orphans_;
  sum += promised_;
  return sum;
}

Amounts NodeAccount::free() const {
  Amounts left = resources_.total;
  left -= used();
  return left;
}

const Ownership& NodeAccount::ownership() const {
  ownership_.Count(resources_.topology, entries_);
  return ownership_;
}

PromisedUsage NodeAccount::promised() const {
  PromisedUsage sum;
  const auto add = [](const std::optional<Holding>& holding, Usage* usage) {
    if (!holding.has_value()) return;
    usage->amounts += holding->amounts;
    usage->pcpus += holding->dedicated_vcpus();
  };
  for (const auto& [uuid, entry] : entries_) {
    const OpenClaim* claim = OpenClaimOf(uuid);
    const bool builds = claim != nullptr && !claim->migration.has_value();
    const bool moves = claim != nullptr && claim->migration.has_value() &&
                       claim->migration->uuid == entry.migration_uuid;
    add(entry.own, builds ? &sum.claims : &sum.instances);
    add(entry.held, moves ? &sum.claims : &sum.migrations);
  }
  return sum;
}

DeviceTable NodeAccount::Devices() const {
  DeviceTable table = OwnedDevices();
  table.SetAttached(resources_.attached);
  table.SetProviders(device_providers_);
  return table;
}

std::vector<std::string> NodeAccount::stray_devices() const {
  if (resources_.attached.empty()) return {};
  return OwnedDevices().SetAttached(resources_.attached);
}

DeviceTable NodeAccount::OwnedDevices() const {
  std::vector<DeviceRecord> owned;
  for (const auto& [address, instance] : owners().by_device()) {
    DeviceRecord record;
    record.device.address = address;
    record.status = DeviceStatus::kAllocated;
    record.instance_uuid = instance;
    record.request_id = RequestOf(entries_.at(instance), address);
    owned.push_back(std::move(record));
  }
  return DeviceTable::Rebuild(resources_.device_specs, resources_.devices, owned);
}

std::vector<Uuid> NodeAccount::tracked_instances() const {
  std::vector<Uuid> uuids;
  for (const auto& [uuid, entry] : entries_) {
    if (entry.own.has_value()) uuids.push_back(uuid);
  }
  return uuids;
}

std::map<Uuid, Uuid> NodeAccount::tracked_migrations() const {
  std::map<Uuid, Uuid> tracked;
  for (const auto& [uuid, entry] : entries_) {
    if (entry.held.has_value()) tracked.emplace(uuid, entry.migration_uuid);
  }
  return tracked;
}

std::vector<Uuid> NodeAccount::stale_migrations() const {
  std::vector<Uuid> stale;
  for (const auto& [uuid, entry] : entries_) {
    stale.insert(stale.end(), entry.stale.begin(), entry.stale.end());
  }
  std::sort(stale.begin(), stale.end());
  return stale;
}

std::vector<AccountFault> NodeAccount::faults() const {
  std::vector<AccountFault> faults;
  for (const auto& [uuid, texts] : ownership().faults()) {
    for (const std::string& text : texts) faults.push_back({uuid, text});
  }
  for (AccountFault& fault : unreadable()) faults.push_back(std::move(fault));
  for (const auto& [uuid, entry] : entries_) {
    if (IsNil(entry.without_flavor)) continue;
    faults.push_back(
        {uuid, absl::StrCat("migration ", entry.without_flavor.ToString(), " has no flavor")});
  }
  return faults;
}

std::vector<AccountFault> NodeAccount::unreadable() const {
  std::vector<AccountFault> faults;
  for (const auto& [uuid, instance] : instances_) {
    if (!instance.unreadable.empty()) faults.push_back({uuid, instance.unreadable});
  }
  for (const auto& [uuid, migration] : migrations_) {
    if (migration.unreadable.empty()) continue;
    faults.push_back(
        {migration.instance_uuid, absl::StrCat("a migration of it: ", migration.unreadable)});
  }
  return faults;
}

std::optional<Instance> NodeAccount::FindInstance(const Uuid& uuid) const {
  const Instance* recorded = FindOrNull(instances_, uuid);
  if (const OpenClaim* claim = OpenClaimOf(uuid); claim != nullptr) {
    return WithClaim(recorded, *claim);
  }
  return recorded == nullptr ? std::nullopt : std::make_optional(*recorded);
}

const Migration* NodeAccount::FindMigration(const Uuid& uuid) const {
  return FindOrNull(migrations_, uuid);
}

bool NodeAccount::HasInstance(const Uuid& uuid, int64_t generation) const {
  const Instance* instance = FindOrNull(instances_, uuid);
  return instance != nullptr && instance->generation == generation;
}

bool NodeAccount::HasMigration(const Uuid& uuid, int64_t generation) const {
  const Migration* migration = FindOrNull(migrations_, uuid);
  return migration != nullptr && migration->generation == generation;
}

bool NodeAccount::HasClaim(const OpenClaim& claim) const {
  const Instance* instance = FindOrNull(instances_, InstanceOf(claim));
  if (instance == nullptr) return false;
  if (!claim.migration.has_value()) {
    return instance->on == self_ &&
           instance->claimed_generation == claim.instance.claimed_generation;
  }
  return instance->context.has_value() &&
         instance->context->migration_uuid == claim.migration->uuid;
}

bool NodeAccount::IsTracked(const Uuid& instance_uuid) const {
  const InstanceEntry* entry = FindOrNull(entries_, instance_uuid);
  return entry != nullptr && entry->own.has_value();
}

bool NodeAccount::Counts(const Uuid& consumer_uuid) const {
  const Migration* migration = FindOrNull(migrations_, consumer_uuid);
  const InstanceEntry* entry =
      FindOrNull(entries_, migration != nullptr ? migration->instance_uuid : consumer_uuid);
  return entry != nullptr && (entry->own.has_value() || entry->held.has_value());
}

const OpenClaim* NodeAccount::OpenClaimOf(const Uuid& instance_uuid) const {
  return FindOrNull(claims_, instance_uuid);
}

bool operator==(const NodeAccount& a, const NodeAccount& b) {
  return a.used() == b.used() && a.free() == b.free() && a.failed_builds_ == b.failed_builds_ &&
         a.entries_ == b.entries_ && a.statistics_ == b.statistics_ && a.owners() == b.owners() &&
         a.ownership().faults() == b.ownership().faults();
}

bool NodeAccount::CountsWhenRecorded(const OpenClaim& claim) const {
  const InstanceEntry entry = Judge(InstanceOf(claim), /*recorded=*/true);
  const auto has = [](const std::optional<Holding>& holding, const Assigned& assigned) {
    return holding.has_value() && holding->assigned == assigned;
  };
  if (!claim.migration.has_value()) return has(entry.own, claim.instance.assigned);
  const Assigned& chosen = claim.instance.context->new_assigned;
  return has(entry.own, chosen) ||
         (entry.migration_uuid == claim.migration->uuid && has(entry.held, chosen));
}

InstanceEntry NodeAccount::Judge(const Uuid& instance_uuid, bool recorded) const {
  const std::optional<Instance> instance = FindInstance(instance_uuid);
  if (!instance.has_value()) return {};
  std::vector<Migration> migrations;
  for (auto at = migrations_of_.lower_bound({instance_uuid, Uuid()});
       at != migrations_of_.end() && at->first == instance_uuid; ++at) {
    migrations.push_back(migrations_.at(at->second));  // migrations_of_ has no other uuids
  }
  const OpenClaim* claim = OpenClaimOf(instance_uuid);
  if (claim != nullptr && claim->migration.has_value()) {
    const Migration* known = FindOrNull(migrations_, claim->migration->uuid);
    std::erase_if(migrations, [&](const Migration& m) { return m.uuid == claim->migration->uuid; });
    migrations.push_back(WithClaim(known, *claim));
    // Of all migrations of the instance, the one that is written is the one that changed last.
    if (recorded) migrations.back().updated_at = absl::InfiniteFuture();
  }
  std::vector<const Migration*> pointers;
  pointers.reserve(migrations.size());
  for (const Migration& migration : migrations) pointers.push_back(&migration);
  return EntryOf(self_, resources_.overheads, *instance, pointers, recorded ? nullptr : claim);
}

void NodeAccount::Recount(const Uuid& instance_uuid) {
  InstanceEntry entry = Judge(instance_uuid);
  const auto found = entries_.find(instance_uuid);
  if (found != entries_.end()) {
    if (found->second == entry) return;
    RemoveAmounts(found->second);
    ownership_.Remove(instance_uuid, found->second);
    entries_.erase(found);
  }
  if (entry.empty()) return;
  AddAmounts(entry);
  ownership_.Add(instance_uuid, entry);
  entries_.emplace(instance_uuid, std::move(entry));
}

void NodeAccount::AddAmounts(const InstanceEntry& entry) {
  if (entry.own.has_value()) {
    promised_ += entry.own->amounts;
    statistics_.Add(entry.snapshot);
  }
  if (entry.held.has_value()) {
    promised_ += entry.held->amounts;
  }
}

void NodeAccount::RemoveAmounts(const InstanceEntry& entry) {
  if (entry.own.has_value()) {
    promised_ -= entry.own->amounts;
    statistics_.Remove(entry.snapshot);
  }
  if (entry.held.has_value()) {
    promised_ -= entry.held->amounts;
  }
}

void NodeAccount::EndClaimIfSettled(const Uuid& instance_uuid) {
  const auto found = claims_.find(instance_uuid);
  if (found == claims_.end()) return;
  const OpenClaim& claim = found->second;
  const Instance* instance = FindOrNull(instances_, instance_uuid);
  const Migration* migration =
      claim.migration.has_value() ? FindOrNull(migrations_, claim.migration->uuid) : nullptr;
  if (IsRecorded(claim, instance, migration) || IsPointless(instance, migration)) {
    claims_.erase(found);
  }
}

}  // namespace berth::tracker
