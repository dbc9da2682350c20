#include "services/client/cpp/hosts.h"

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace berth::client {
namespace {

// Whether the view is of this report of the node. If not, the report is the newer one, even if the
// clock of placement went back (T-341).
bool HasReportOf(const HostView& host, const pb::Node& node) {
  return host.node->sequence() == node.sequence() && host.node->host() == node.host() &&
         host.node->name() == node.name();
}

// The values of the keys, as pairs; null for those that the map does not have.
template <typename Value>
std::vector<std::pair<std::string, Value>> ValuesOf(
    const HostIndex::Uuids& keys, const absl::flat_hash_map<std::string, Value>& map) {
  std::vector<std::pair<std::string, Value>> values;
  values.reserve(keys.size());
  for (const std::string& key : keys) {
    const auto found = map.find(key);
    values.emplace_back(key, found == map.end() ? nullptr : found->second);
  }
  return values;
}

// Gives each key its value, or takes it out if that is null. Leaves the old values in `values`.
template <typename Value>
void Exchange(std::vector<std::pair<std::string, Value>>* values,
              absl::flat_hash_map<std::string, Value>* map) {
  for (auto& [key, value] : *values) {
    if (value == nullptr) {
      const auto found = map->find(key);
      if (found == map->end()) continue;
      value = std::move(found->second);
      map->erase(found);
    } else {
      std::swap((*map)[key], value);
    }
  }
}

}  // namespace

std::vector<pb::EntityKind> Hosts::Kinds() {
  return {pb::ENTITY_KIND_PROVIDER, pb::ENTITY_KIND_SERVICE,      pb::ENTITY_KIND_NODE,
          pb::ENTITY_KIND_INSTANCE, pb::ENTITY_KIND_SERVER_GROUP, pb::ENTITY_KIND_AGGREGATE};
}

void Hosts::Follow(const ViewChange& change) {
  MutexLock writing(&writers_);
  HostIndex::Touched touched = index_.Follow(change);
  view_ = change.after;
  Settle(change, &touched);
  Refresh(touched);
}

// Ends the promises for instances that are gone, or that have a host.
void Hosts::Settle(const ViewChange& change, HostIndex::Touched* touched) {
  std::vector<std::string> changed;
  if (change.from_snapshot) {
    for (const auto& [uuid, promise] : promises_) changed.push_back(uuid);
  } else {
    for (const auto& [kind, key] : change.changed) {
      if (kind == pb::ENTITY_KIND_INSTANCE && promises_.contains(key)) changed.push_back(key);
    }
  }
  for (const std::string& uuid : changed) {
    const auto instance = view_->instances.Find(uuid);
    if (instance != nullptr && instance->host().empty()) continue;
    touched->nodes.insert(promises_.at(uuid).node_uuid);
    Drop(uuid);
  }
}

void Hosts::Drop(const std::string& instance_uuid) {
  const auto promise = promises_.find(instance_uuid);
  if (promise == promises_.end()) return;
  const auto there = promised_on_.find(promise->second.node_uuid);
  there->second.erase(instance_uuid);
  if (there->second.empty()) promised_on_.erase(there);
  promises_.erase(promise);
}

// Null: there is no such node, or it is retired. `old`: the view before, or null.
Hosts::Host Hosts::HostOf(const std::string& node_uuid, const HostView* old) {
  std::optional<HostParts> parts = index_.PartsOf(node_uuid);
  if (!parts) return nullptr;
  const bool is_reported_anew = old == nullptr || !HasReportOf(*old, *parts->node);
  HostIndex::Uuids promised;
  const auto found = promised_on_.find(node_uuid);
  if (found != promised_on_.end()) promised = found->second;
  auto view = std::make_shared<HostView>();
  if (!is_reported_anew) *view = *old;
  for (const std::string& uuid : promised) {
    // Nobody will say that this one has a host.
    if (is_reported_anew && view_->instances.Find(uuid) == nullptr) Drop(uuid);
    if (promises_.contains(uuid)) parts->instances.insert(uuid);
  }
  UpdateHostView(*std::move(parts), view.get());
  return view;
}

Hosts::Group Hosts::GroupOf(const std::string& group_uuid) const {
  std::optional<HostGroup> group = index_.GroupOf(group_uuid);
  if (!group) return nullptr;
  for (const std::string& member : group->members) {
    const auto promise = promises_.find(member);
    if (promise != promises_.end()) group->hosts.insert(promise->second.host);
  }
  return std::make_shared<const HostGroup>(*std::move(group));
}

void Hosts::Refresh(const HostIndex::Touched& touched) {
  std::vector<std::pair<std::string, Host>> hosts;
  std::vector<std::pair<std::string, Group>> groups;
  {
    MutexLock lock(&mutex_);
    hosts = ValuesOf(touched.nodes, hosts_);
  }
  for (auto& [uuid, host] : hosts) host = HostOf(uuid, host.get());
  for (const std::string& uuid : touched.groups) groups.emplace_back(uuid, GroupOf(uuid));
  MutexLock lock(&mutex_);
  for (const auto& [uuid, host] : hosts) {
    if (host != nullptr) CountName(*host, 1);
  }
  Exchange(&hosts, &hosts_);
  for (const auto& [uuid, old] : hosts) {
    if (old != nullptr) CountName(*old, -1);
  }
  Exchange(&groups, &groups_);
  revision_ = view_->revision;
}

void Hosts::CountName(const HostView& host, int by) {
  const auto name = names_.try_emplace({host.node->host(), host.node->name()}, 0).first;
  const bool was_shared = name->second > 1;
  name->second += by;
  shared_names_ += (name->second > 1) - was_shared;
  if (name->second == 0) names_.erase(name);
}

Hosts::Views Hosts::ViewsOf(const std::vector<absl::string_view>& root_uuids,
                            const std::string& group_uuid) const {
  Views views;
  Group group;
  bool all_differ = true;
  {
    MutexLock lock(&mutex_);
    all_differ = shared_names_ == 0;
    views.revision = revision_;
    views.hosts.reserve(root_uuids.size());
    for (const absl::string_view uuid : root_uuids) {
      const auto found = hosts_.find(uuid);
      if (found != hosts_.end()) views.hosts.push_back(found->second);
    }
    const auto found = groups_.find(group_uuid);
    if (found != groups_.end()) group = found->second;
  }
  if (group != nullptr) views.group = *group;
  absl::flat_hash_set<std::pair<absl::string_view, absl::string_view>> seen;
  std::vector<Host> hosts;
  hosts.reserve(views.hosts.size());
  for (Host& host : views.hosts) {
    const bool is_first = all_differ || seen.emplace(host->node->host(), host->node->name()).second;
    if (host->service == nullptr) {
      views.warnings.push_back(absl::StrCat(NameOf(*host), " has no service"));
    } else if (!is_first) {
      views.warnings.push_back(absl::StrCat(NameOf(*host), " is there twice"));
    } else {
      if (host->stale) views.warnings.push_back(absl::StrCat(NameOf(*host), " is stale"));
      hosts.push_back(std::move(host));
    }
  }
  views.hosts = std::move(hosts);
  return views;
}

absl::Status Hosts::Consume(const std::string& node_uuid, const pb::Instance& instance,
                            TakeCells take_cells) {
  MutexLock writing(&writers_);
  HostIndex::Touched touched;
  touched.nodes.insert(node_uuid);
  Host old;
  {
    MutexLock lock(&mutex_);
    old = ValuesOf(touched.nodes, hosts_).front().second;
  }
  if (old == nullptr) return absl::NotFoundError(absl::StrCat("no node ", node_uuid));
  auto view = std::make_shared<HostView>(*old);
  // The view is now newer than the record that it was made from.
  const absl::Time now = view->updated_at.value_or(absl::UnixEpoch()) + absl::Microseconds(1);
  absl::Status taken = ConsumeFromHost(DemandOf(instance.flavor()), now, take_cells, view.get());
  if (!taken.ok()) return taken;
  {
    MutexLock lock(&mutex_);
    hosts_[node_uuid] = view;
  }
  const auto before = promises_.find(instance.uuid());
  if (before != promises_.end()) touched.nodes.insert(before->second.node_uuid);
  Drop(instance.uuid());
  promises_[instance.uuid()] = {node_uuid, view->node->host()};
  promised_on_[node_uuid].insert(instance.uuid());
  const auto record = view_->instances.Find(instance.uuid());
  if (record != nullptr) touched.groups.insert(record->group_uuid());
  Refresh(touched);
  return taken;
}

}  // namespace berth::client
