#include "services/client/cpp/host_index.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace berth::client {
namespace {

using Index = absl::flat_hash_map<std::string, HostIndex::Uuids>;

void Put(const std::string& key, const std::string& uuid, bool exists, Index* index) {
  if (exists) {
    (*index)[key].insert(uuid);
    return;
  }
  const auto found = index->find(key);
  if (found == index->end()) return;
  found->second.erase(uuid);
  if (found->second.empty()) index->erase(found);
}

// Whether the instance uses nothing on the host that its record names (T-112).
bool IsRemovable(const pb::Instance& instance) {
  return instance.vm_state() == "deleted" ||
         (instance.vm_state() == "shelved_offloaded" && instance.task_state() != "spawning");
}

// The name by which filters and requests know a policy.
std::string PolicyText(pb::ServerGroupPolicy policy) {
  switch (policy) {
    case pb::SERVER_GROUP_POLICY_AFFINITY:
      return "affinity";
    case pb::SERVER_GROUP_POLICY_ANTI_AFFINITY:
      return "anti-affinity";
    case pb::SERVER_GROUP_POLICY_SOFT_AFFINITY:
      return "soft-affinity";
    case pb::SERVER_GROUP_POLICY_SOFT_ANTI_AFFINITY:
      return "soft-anti-affinity";
    default:
      return "";
  }
}

}  // namespace

HostIndex::Touched HostIndex::Follow(const ViewChange& change) {
  Touched touched;
  const std::shared_ptr<const View> before = std::exchange(view_, change.after);
  if (change.from_snapshot || before == nullptr) {
    if (before != nullptr) {
      before->nodes.ForEach([&](const auto& node) { touched.nodes.insert(node->uuid()); });
      before->server_groups.ForEach([&](const auto& one) { touched.groups.insert(one->uuid()); });
    }
    BeginAnew(&touched);
    return touched;
  }
  for (const EntityName& name : change.changed) Note(name, *before, &touched);
  return touched;
}

void HostIndex::BeginAnew(Touched* touched) {
  nodes_by_host_.clear();
  services_by_host_.clear();
  instances_by_node_.clear();
  members_by_group_.clear();
  providers_by_aggregate_.clear();
  aggregates_.clear();
  view_->providers.ForEach([&](const auto& one) { NoteProvider(*one, true); });
  view_->services.ForEach([&](const auto& one) { NoteService(*one, true, touched); });
  view_->nodes.ForEach([&](const auto& one) { NoteNode(*one, true, touched); });
  view_->instances.ForEach([&](const auto& one) { NoteInstance(*one, true, touched); });
  view_->server_groups.ForEach([&](const auto& one) { touched->groups.insert(one->uuid()); });
}

// What an entity was is taken out of the indexes, and what it is now is put in.
void HostIndex::Note(const EntityName& name, const View& before, Touched* touched) {
  const auto& [kind, key] = name;
  switch (kind) {
    case pb::ENTITY_KIND_NODE:
      if (const auto old = before.nodes.Find(key)) NoteNode(*old, false, touched);
      if (const auto now = view_->nodes.Find(key)) NoteNode(*now, true, touched);
      return;
    case pb::ENTITY_KIND_SERVICE:
      if (const auto old = before.services.Find(key)) NoteService(*old, false, touched);
      if (const auto now = view_->services.Find(key)) NoteService(*now, true, touched);
      return;
    case pb::ENTITY_KIND_INSTANCE:
      if (const auto old = before.instances.Find(key)) NoteInstance(*old, false, touched);
      if (const auto now = view_->instances.Find(key)) NoteInstance(*now, true, touched);
      return;
    case pb::ENTITY_KIND_PROVIDER:
      if (const auto old = before.providers.Find(key)) NoteProvider(*old, false);
      if (const auto now = view_->providers.Find(key)) NoteProvider(*now, true);
      touched->nodes.insert(key);
      return;
    case pb::ENTITY_KIND_SERVER_GROUP:
      touched->groups.insert(key);
      return;
    case pb::ENTITY_KIND_AGGREGATE:
      return NoteAggregate(key, touched);
    default:
      return;
  }
}

void HostIndex::NoteNode(const pb::Node& node, bool exists, Touched* touched) {
  Put(node.host(), node.uuid(), exists, &nodes_by_host_);
  touched->nodes.insert(node.uuid());
}

void HostIndex::NoteService(const pb::Service& service, bool exists, Touched* touched) {
  if (service.binary() != "berth-tracker") return;
  std::string& known = services_by_host_[service.host()];
  if (exists) {
    known = service.uuid();
  } else if (known == service.uuid()) {
    services_by_host_.erase(service.host());
  }
  const auto nodes = nodes_by_host_.find(service.host());
  if (nodes != nodes_by_host_.end())
    touched->nodes.insert(nodes->second.begin(), nodes->second.end());
}

void HostIndex::NoteInstance(const pb::Instance& instance, bool exists, Touched* touched) {
  if (!instance.node_uuid().empty()) {
    Put(instance.node_uuid(), instance.uuid(), exists, &instances_by_node_);
    touched->nodes.insert(instance.node_uuid());
  }
  if (!instance.group_uuid().empty()) {
    Put(instance.group_uuid(), instance.uuid(), exists, &members_by_group_);
    touched->groups.insert(instance.group_uuid());
  }
}

void HostIndex::NoteProvider(const pb::Provider& provider, bool exists) {
  for (const std::string& uuid : provider.aggregate_uuids()) {
    Put(uuid, provider.uuid(), exists, &providers_by_aggregate_);
  }
}

void HostIndex::NoteAggregate(const std::string& uuid, Touched* touched) {
  aggregates_.erase(uuid);
  const auto members = providers_by_aggregate_.find(uuid);
  if (members == providers_by_aggregate_.end()) return;
  for (const std::string& member : members->second) {
    if (view_->nodes.Find(member) != nullptr) touched->nodes.insert(member);
  }
}

std::shared_ptr<const pb::HostAggregate> HostIndex::AggregateOf(const std::string& uuid) {
  std::shared_ptr<const pb::HostAggregate>& shown = aggregates_[uuid];
  if (shown != nullptr) return shown;
  auto made = std::make_shared<pb::HostAggregate>();
  made->set_uuid(uuid);
  if (const auto named = view_->aggregates.Find(uuid)) {
    made->set_name(named->name());
    *made->mutable_metadata() = named->metadata();
  }
  shown = std::move(made);
  return shown;
}

std::optional<HostParts> HostIndex::PartsOf(const std::string& node_uuid) {
  HostParts parts;
  parts.node = view_->nodes.Find(node_uuid);
  if (parts.node == nullptr || parts.node->retired()) return std::nullopt;
  for (const auto& [name, count] : parts.node->account().counters()) {
    parts.stats.emplace(name, absl::StrCat(count));
  }
  const auto service = services_by_host_.find(parts.node->host());
  if (service != services_by_host_.end()) parts.service = view_->services.Find(service->second);
  if (const auto root = view_->providers.Find(node_uuid)) {
    for (const std::string& uuid : root->aggregate_uuids()) {
      parts.aggregates.push_back(AggregateOf(uuid));
    }
  }
  const auto there = instances_by_node_.find(node_uuid);
  if (there != instances_by_node_.end()) {
    for (const std::string& uuid : there->second) {
      const auto instance = view_->instances.Find(uuid);
      const bool counts = instance->host() == parts.node->host() && !IsRemovable(*instance);
      if (counts) parts.instances.insert(uuid);
    }
  }
  parts.stale = parts.service == nullptr || parts.service->state() != pb::SERVICE_STATE_UP ||
                !parts.node->has_account();
  return parts;
}

std::optional<HostGroup> HostIndex::GroupOf(const std::string& group_uuid) const {
  const auto group = view_->server_groups.Find(group_uuid);
  if (group == nullptr) return std::nullopt;
  HostGroup shown;
  shown.policy = PolicyText(group->policy());
  if (group->has_max_server_per_host()) shown.max_server_per_host = group->max_server_per_host();
  const auto members = members_by_group_.find(group_uuid);
  if (members == members_by_group_.end()) return shown;
  for (const std::string& uuid : members->second) {
    const auto instance = view_->instances.Find(uuid);
    if (instance->vm_state() == "deleted") continue;
    shown.members.insert(uuid);
    if (!instance->host().empty() && !IsRemovable(*instance)) shown.hosts.insert(instance->host());
  }
  return shown;
}

}  // namespace berth::client
