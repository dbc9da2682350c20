#include "placement/commands/group_tally.h"

#include <utility>

#include "placement/commands/fleet_node.h"
#include "placement/values/migration_status.h"

namespace berth::placement {
namespace {

void AddHosts(const State& state, const std::vector<Allocation>& rows, HostNames& hosts) {
  for (const Allocation& row : rows) {
    const NodeRecordPtr node = FindNodeOfRow(state, row);
    if (node != nullptr) hosts.insert(node->host);
  }
}

void AddHeld(const State& state, Uuid consumer, HostNames& hosts) {
  const ConsumerPtr held = state.FindConsumer(ConsumerId{consumer});
  if (held == nullptr) return;
  AddHosts(state, {held->allocations.begin(), held->allocations.end()}, hosts);
}

int64_t NumberOf(const std::map<std::string, int64_t>& numbers, const std::string& host) {
  const auto found = numbers.find(host);
  return found == numbers.end() ? 0 : found->second;
}

}  // namespace

HostNames HostsOf(const State& state, const InstanceRecord& instance) {
  HostNames hosts;
  if (instance.vm_state == kDeletedState) return hosts;
  if (!instance.host.empty() && !IsRemovable(instance)) hosts.insert(instance.host);
  AddHeld(state, instance.id.uuid, hosts);
  for (const MigrationPtr& move : state.records().MovesOf(instance.id)) {
    AddHeld(state, move->id.uuid, hosts);
    if (!IsInProgress(move->status)) continue;
    hosts.insert(move->source_host);
    hosts.insert(move->destination_host);
  }
  hosts.erase("");
  return hosts;
}

HostNames HostsOf(const State& state, const Candidate& candidate) {
  HostNames hosts;
  AddHosts(state, candidate.allocations, hosts);
  return hosts;
}

ServerGroupPtr GroupOf(const State& state, const InstanceRecord& instance) {
  const std::optional<ServerGroupId> id = MemberGroup(instance);
  return id ? FindGroup(state.records(), *id) : nullptr;
}

GroupTally::GroupTally(const State& state, const ServerGroup& group,
                       const std::vector<InstancePtr>& members)
    : policy_(group.policy), max_(group.max_server_per_host.value_or(1)) {
  for (const InstancePtr& member : members) Place(member->id, placement::HostsOf(state, *member));
}

const HostNames& GroupTally::HostsOf(InstanceId member) const {
  static const auto* const kNone = new HostNames();
  const auto found = hosts_.find(member);
  return found == hosts_.end() ? *kNone : found->second;
}

void GroupTally::Count(const HostNames& hosts, int64_t sign) {
  for (const std::string& host : hosts) on_host_[host] += sign;
  if (hosts.size() == 1) only_on_[*hosts.begin()] += sign;
  if (!hosts.empty()) placed_ += sign;
}

void GroupTally::Place(InstanceId member, HostNames hosts) {
  HostNames& own = hosts_[member];
  Count(own, -1);
  own = std::move(hosts);
  Count(own, 1);
}

bool GroupTally::Allows(InstanceId member, const std::string& host) const {
  if (!IsHard(policy_)) return true;
  const HostNames& own = HostsOf(member);
  if (policy_ == ServerGroupPolicy::kAntiAffinity) {
    return NumberOf(on_host_, host) - (own.contains(host) ? 1 : 0) < max_;
  }
  const int64_t others = placed_ - (own.empty() ? 0 : 1);
  const bool is_only_here = own.size() == 1 && own.contains(host);
  return NumberOf(only_on_, host) - (is_only_here ? 1 : 0) == others;
}

HostNames GroupTally::FullHosts(InstanceId member) const {
  HostNames full;
  if (policy_ != ServerGroupPolicy::kAntiAffinity) return full;
  for (const auto& [host, number] : on_host_) {
    if (number > 0 && !Allows(member, host)) full.insert(host);
  }
  return full;
}

std::optional<HostNames> GroupTally::OnlyHosts(InstanceId member) const {
  if (policy_ != ServerGroupPolicy::kAffinity) return std::nullopt;
  if (placed_ == (HostsOf(member).empty() ? 0 : 1)) return std::nullopt;
  HostNames only;
  for (const auto& [host, number] : only_on_) {
    if (number > 0 && Allows(member, host)) only.insert(host);
  }
  return only;
}

}  // namespace berth::placement
