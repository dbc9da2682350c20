#include "tests/fault/groups/group_history.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"

namespace berth::fault {
namespace {

namespace pb = ::berth::placement::v1;

// After these words a move is over.
const std::set<std::string>& WordsOfOver() {
  static const auto* const kWords = new std::set<std::string>{
      "completed", "cancelled", "failed", "confirmed", "reverted", "done", "error"};
  return *kWords;
}

}  // namespace

void GroupHistory::Check(const std::vector<RecordedRevision>& revisions,
                         std::vector<GroupRefusal> refusals) {
  std::vector<Judged> open;
  for (GroupRefusal& refusal : refusals) open.push_back({std::move(refusal)});
  int64_t last = 0;
  for (const RecordedRevision& revision : revisions) {
    // What was before the first revision, the snapshot, is not known.
    if (last != 0) Judge(revision.number - 1, last, &open);
    std::vector<const pb::Change*> command;
    for (const pb::Change& change : revision.changes) {
      if (!command.empty() && command.back()->request_id() != change.request_id()) {
        Apply(revision.number, command);
        command.clear();
        if (last != 0) Judge(revision.number - 1, revision.number, &open);  // in the same batch
      }
      command.push_back(&change);
    }
    Apply(revision.number, command);
    last = revision.number;
  }
  Judge(std::numeric_limits<int64_t>::max(), last, &open);
  for (const Judged& judged : open) Settle(judged);
}

void GroupHistory::Judge(int64_t called_max, int64_t answered_min, std::vector<Judged>* open) {
  std::erase_if(*open, [&](Judged& judged) {
    if (judged.refusal.to < answered_min) {
      Settle(judged);
      return true;
    }
    if (judged.refusal.from > called_max || (judged.was_right && judged.was_wrong)) return false;
    (IsRight(judged.refusal) ? judged.was_right : judged.was_wrong) = true;
    return false;
  });
}

void GroupHistory::Settle(const Judged& judged) {
  const GroupRefusal& refusal = judged.refusal;
  if (judged.was_right && !judged.was_wrong) ++always_right_;
  if (judged.was_right) return;
  faults_.push_back(absl::StrCat("refused in vain between revisions ", refusal.from, " and ",
                                 refusal.to, ": ", refusal.what, " (", refusal.reason, ") of ",
                                 refusal.instance, " in ", refusal.group, " on ",
                                 refusal.host.value_or("any host")));
}

bool GroupHistory::IsRight(const GroupRefusal& refusal) const {
  const Group none;
  const auto found = groups_.find(refusal.group);
  const Group& group = found == groups_.end() ? none : found->second;
  const std::vector<Hosts> others = HostsOfOthers(group, refusal.instance);
  // Where the member is already is not judged.
  const Hosts own = HostsOf(refusal.instance);
  return std::none_of(host_of_node_.begin(), host_of_node_.end(), [&](const auto& node) {
    const std::string& host = node.second;
    if (refusal.host && *refusal.host != host) return false;
    const auto used = used_.find(host);
    const bool is_full = used != used_.end() && used->second >= vcpus_;
    const bool is_forbidden = !own.contains(host) && ForbidsAmong(group, others, host);
    if (refusal.reason == "CAPACITY_EXCEEDED") return !is_full;
    if (refusal.reason == "SERVER_GROUP_POLICY_VIOLATED") return !is_forbidden;
    return !is_full && !is_forbidden;
  });
}

void GroupHistory::Apply(int64_t revision, const std::vector<const pb::Change*>& command) {
  if (command.empty()) return;
  ++commands_;
  std::map<std::string, Place> before;  // of the instances that the command is about
  for (const pb::Change* change : command) {
    // Before the change: it may remove the move whose consumer it is about.
    for (const std::string& instance : Concerned(*change)) {
      before.try_emplace(instance, PlaceOf(instance));
    }
    ApplyOne(*change);
  }
  for (const auto& [instance, place] : before) {
    Compare(revision, *command.front(), instance, place);
  }
}

void GroupHistory::Compare(int64_t revision, const pb::Change& cause, const std::string& instance,
                           const Place& before) {
  const Place now = PlaceOf(instance);
  if (now == before) return;
  steps_.push_back({revision, cause.method(), cause.request_id(),
                    now.group.empty() ? before.group : now.group, instance, now.hosts});
  if (now.group.empty()) return;
  for (const std::string& host : now.hosts) {
    if (now.group == before.group && before.hosts.contains(host)) continue;
    ++arrivals_;
    hosts_ever_[instance].insert(host);
    if (!Forbids(now.group, instance, host)) continue;
    faults_.push_back(absl::StrCat("broken at revision ", revision, " by request ",
                                   cause.request_id(), " (", cause.method(), "): ", instance,
                                   " of ", now.group, " came to ", host));
  }
}

std::set<std::string> GroupHistory::Concerned(const pb::Change& change) const {
  const pb::Entity& entity = change.present();
  std::string uuid;
  if (change.has_removed()) uuid = change.removed().key();
  if (entity.has_instance()) uuid = entity.instance().uuid();
  if (entity.has_consumer()) uuid = entity.consumer().uuid();
  if (entity.has_migration()) return {entity.migration().instance_uuid()};
  const auto move = moves_.find(uuid);
  return {move == moves_.end() ? uuid : move->second.instance};
}

void GroupHistory::ApplyOne(const pb::Change& change) {
  if (change.has_removed()) return ApplyRemoved(change.removed());
  const pb::Entity& entity = change.present();
  if (entity.has_node()) host_of_node_[entity.node().uuid()] = entity.node().host();
  if (entity.has_server_group()) {
    const pb::ServerGroup& group = entity.server_group();
    groups_[group.uuid()].policy = group.policy();
    groups_[group.uuid()].max = group.has_max_server_per_host() ? group.max_server_per_host() : 1;
  }
  if (entity.has_instance()) {
    const pb::Instance& instance = entity.instance();
    PutInstance(instance.uuid(), Instance{instance.group_uuid(), instance.host()});
  }
  if (entity.has_migration()) {
    const pb::Migration& move = entity.migration();
    moves_[move.uuid()] = {move.instance_uuid(), move.status(), move.source_host(),
                           move.destination_host()};
    moves_of_[move.instance_uuid()].insert(move.uuid());
  }
  if (!entity.has_consumer()) return;
  std::map<std::string, int64_t> held;
  for (const pb::ProviderAllocation& row : entity.consumer().allocations()) {
    const auto amount = row.resources().find("VCPU");
    held[row.provider_uuid()] = amount == row.resources().end() ? 0 : amount->second;
  }
  PutConsumer(entity.consumer().uuid(), std::move(held));
}

void GroupHistory::ApplyRemoved(const pb::EntityKey& removed) {
  if (removed.kind() == pb::ENTITY_KIND_INSTANCE) PutInstance(removed.key(), std::nullopt);
  if (removed.kind() == pb::ENTITY_KIND_CONSUMER) PutConsumer(removed.key(), {});
  if (removed.kind() != pb::ENTITY_KIND_MIGRATION) return;
  const auto move = moves_.find(removed.key());
  if (move == moves_.end()) return;
  moves_of_[move->second.instance].erase(removed.key());
  moves_.erase(move);
}

void GroupHistory::PutInstance(const std::string& uuid, std::optional<Instance> instance) {
  const auto before = instances_.find(uuid);
  if (before != instances_.end()) {
    groups_[before->second.group].members.erase(uuid);
    instances_.erase(before);
  }
  if (!instance) return;
  groups_[instance->group].members.insert(uuid);
  instances_[uuid] = *std::move(instance);
}

void GroupHistory::PutConsumer(const std::string& uuid, std::map<std::string, int64_t> held) {
  for (const auto& [provider, amount] : held_[uuid]) used_[host_of_node_[provider]] -= amount;
  for (const auto& [provider, amount] : held) used_[host_of_node_[provider]] += amount;
  held_[uuid] = std::move(held);
}

GroupHistory::Place GroupHistory::PlaceOf(const std::string& instance) const {
  const auto record = instances_.find(instance);
  if (record == instances_.end()) return {};
  return {record->second.group, HostsOf(instance)};
}

GroupHistory::Hosts GroupHistory::HostsOf(const std::string& instance) const {
  Hosts hosts;
  const auto record = instances_.find(instance);
  if (record == instances_.end()) return hosts;
  const auto hold = [&](const std::string& consumer) {
    const auto held = held_.find(consumer);
    if (held == held_.end()) return;
    for (const auto& [provider, amount] : held->second) {
      const auto node = host_of_node_.find(provider);
      if (node != host_of_node_.end()) hosts.insert(node->second);
    }
  };
  hosts.insert(record->second.host);
  hold(instance);
  if (const auto moves = moves_of_.find(instance); moves != moves_of_.end()) {
    for (const std::string& id : moves->second) {
      const Move& move = moves_.at(id);
      hold(id);
      if (!WordsOfOver().contains(move.status)) hosts.insert({move.from, move.to});
    }
  }
  hosts.erase("");
  return hosts;
}

std::vector<GroupHistory::Hosts> GroupHistory::HostsOfOthers(const Group& group,
                                                             const std::string& member) const {
  std::vector<Hosts> hosts;
  for (const std::string& other : group.members) {
    if (other != member) hosts.push_back(HostsOf(other));
  }
  return hosts;
}

bool GroupHistory::Forbids(const std::string& group, const std::string& member,
                           const std::string& host) const {
  const auto found = groups_.find(group);
  if (group.empty() || found == groups_.end()) return false;
  return ForbidsAmong(found->second, HostsOfOthers(found->second, member), host);
}

bool GroupHistory::ForbidsAmong(const Group& group, const std::vector<Hosts>& others,
                                const std::string& host) {
  int64_t here = 0;
  bool are_all_here = true;
  for (const Hosts& hosts : others) {
    if (hosts.contains(host)) ++here;
    if (!hosts.empty() && hosts != Hosts{host}) are_all_here = false;
  }
  if (group.policy == pb::SERVER_GROUP_POLICY_AFFINITY) return !are_all_here;
  return group.policy == pb::SERVER_GROUP_POLICY_ANTI_AFFINITY && here >= group.max;
}

std::map<std::string, GroupHistory::Hosts> GroupHistory::MembersOf(const std::string& group) const {
  std::map<std::string, Hosts> members;
  const auto found = groups_.find(group);
  if (found == groups_.end()) return members;
  for (const std::string& member : found->second.members) members[member] = HostsOf(member);
  return members;
}

int64_t GroupHistory::members_placed() const {
  int64_t placed = 0;
  for (const auto& [uuid, instance] : instances_) {
    if (!instance.group.empty() && !HostsOf(uuid).empty()) ++placed;
  }
  return placed;
}

}  // namespace berth::fault
