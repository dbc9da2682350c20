#include "placement/claims/group_scopes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "placement/values/migration_status.h"

namespace berth::placement {

InstancePtr GroupScopes::RecordOf(const ClaimMember& member) const {
  if (member.instance != nullptr) return member.instance;
  const Records& records = state_->records();
  const MigrationPtr move = records.FindMigration(MigrationId{member.consumer.uuid});
  if (move == nullptr) return records.FindInstance(InstanceId{member.consumer.uuid});
  return HoldsResources(move->status) ? records.FindInstance(move->instance) : nullptr;
}

int64_t GroupScopes::Tally(const State& released, int64_t of_group, int64_t of_member) {
  int64_t steps = 0;
  for (const ClaimMember& claim : claims_->members) {
    Member& member = members_.emplace_back();
    const InstancePtr record = RecordOf(claim);
    if (record == nullptr) continue;
    member.instance = record->id;
    const ServerGroupPtr group = placement::GroupOf(released, *record);
    if (group == nullptr || !IsHard(group->policy)) continue;
    member.group = group;
    if (claim.instance == nullptr) member.had = HostsOf(*state_, *record);
    if (tallies_.contains(group->id)) continue;
    const std::vector<InstancePtr> others = released.records().MembersOf(group->id);
    steps += of_group + of_member * static_cast<int64_t>(others.size());
    copy_steps_ += static_cast<int64_t>(others.size());
    tallies_.emplace(group->id, GroupTally(released, *group, others));
  }
  return steps;
}

void GroupScopes::AddRoots(const std::string& host, std::set<ProviderId>& roots) const {
  for (const NodeRecordPtr& node : state_->NodesOf(host)) {
    const std::optional<ProviderPlace> place = state_->FindProvider(node->id);
    if (place) roots.insert(place->tree->root_id());
  }
}

bool GroupScopes::MayStay(int member, const std::string& host) {
  const Member& own = members_[member];
  if (!own.had.contains(host)) return false;
  GroupTally& tally = tallies_.at(own.group->id);
  const HostNames before = tally.HostsOf(own.instance);
  HostNames with = before;
  with.insert(host);
  tally.Place(own.instance, std::move(with));
  const auto keeps = [&](const Member& earlier) {
    if (earlier.group == nullptr || earlier.group->id != own.group->id) return true;
    return std::all_of(earlier.placed.begin(), earlier.placed.end(), [&](const std::string& each) {
      return earlier.had.contains(each) || tally.Allows(earlier.instance, each);
    });
  };
  const bool all_keep = std::all_of(members_.begin(), members_.begin() + member, keeps);
  tally.Place(own.instance, before);
  return all_keep;
}

std::vector<SearchScope> GroupScopes::ScopesOf(int member, const SearchScope& scope) {
  const Member& own = members_[member];
  if (own.group == nullptr) return {scope};
  const GroupTally& tally = tallies_.at(own.group->id);
  SearchScope allowed = scope;
  const std::optional<HostNames> only = tally.OnlyHosts(own.instance);
  if (!only) {
    for (const std::string& host : tally.FullHosts(own.instance)) {
      if (!MayStay(member, host)) AddRoots(host, allowed.without);
    }
    return {allowed};
  }
  if (state_->nodes().empty()) return {scope};
  std::set<ProviderId> roots;
  for (const std::string& host : *only) AddRoots(host, roots);
  for (const std::string& host : own.had) {
    if (!only->contains(host) && MayStay(member, host)) AddRoots(host, roots);
  }
  std::vector<SearchScope> scopes;
  for (const ProviderId root : roots) {
    if (scope.without.contains(root) || (scope.only && *scope.only != root)) continue;
    allowed.only = root;
    scopes.push_back(allowed);
  }
  return scopes;
}

void GroupScopes::Place(int member, const HostNames& hosts) {
  Member& own = members_[member];
  if (own.group == nullptr) return;
  own.placed = hosts;
  GroupTally& tally = tallies_.at(own.group->id);
  HostNames all = tally.HostsOf(own.instance);
  all.insert(hosts.begin(), hosts.end());
  tally.Place(own.instance, std::move(all));
}

bool GroupScopes::AreTooManyForOneHost() const {
  if (state_->nodes().empty()) return false;
  std::map<ServerGroupId, std::set<InstanceId>> newcomers;
  for (const Member& member : members_) {
    const ServerGroupPtr& group = member.group;
    if (group == nullptr || group->policy != ServerGroupPolicy::kAntiAffinity) continue;
    if (!member.had.empty()) continue;
    std::set<InstanceId>& together = newcomers[group->id];
    together.insert(member.instance);
    if (static_cast<int64_t>(together.size()) > group->max_server_per_host.value_or(1)) return true;
  }
  return false;
}

}  // namespace berth::placement
