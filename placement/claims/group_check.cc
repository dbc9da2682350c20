#include "placement/claims/group_check.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "placement/commands/group_tally.h"
#include "placement/commands/server_group.h"
#include "placement/ground/status_macros.h"
#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

// The members of groups that the changes may put on further hosts, and the groups that get another
// policy or maximum.
struct Judged {
  std::set<InstanceId> instances;
  std::set<ServerGroupId> groups;
};

int64_t MaxOf(const ServerGroup& group) { return group.max_server_per_host.value_or(1); }

class JudgedCollector {
 public:
  explicit JudgedCollector(const State& state) : state_(state) {}

  // Of the instances, those alone that are members of a group afterwards.
  Judged Of(const Changes& changes) {
    const EachKind note{
        [this](const ServerGroupPut& put) { Note(*put.group); },
        [this](const ConsumerPut& put) { NoteConsumer(put.consumer->id.uuid); },
        [this](const InstancePut& put) { Note(*put.instance); },
        [this](const MigrationPut& put) { judged_.instances.insert(put.migration->instance); },
        Ignore<ProviderPut, ProviderRemoved, ProviderUsed, ConsumerRemoved, ClassPut, ClassRemoved,
               TraitPut, TraitRemoved, ServicePut, ServiceRemoved, NodePut, NodeRemoved,
               AggregatePut, AggregateRemoved, ServerGroupRemoved, InstanceRemoved,
               MigrationRemoved, FormatRaised>()};
    for (const Change& change : changes) std::visit(note, change);
    std::erase_if(judged_.instances, [this](InstanceId id) { return !IsMember(id); });
    return std::move(judged_);
  }

 private:
  void Note(const ServerGroup& group) {
    const ServerGroupPtr before = FindGroup(state_.records(), group.id);
    if (before == nullptr || (before->policy == group.policy && MaxOf(*before) == MaxOf(group))) {
      return;
    }
    judged_.groups.insert(group.id);
  }
  void Note(const InstanceRecord& instance) {
    is_member_[instance.id] = MemberGroup(instance).has_value();
    const InstancePtr before = state_.records().FindInstance(instance.id);
    if (before != nullptr && before->group == instance.group && before->host == instance.host &&
        before->vm_state == instance.vm_state && before->task_state == instance.task_state) {
      return;
    }
    judged_.instances.insert(instance.id);
  }
  // The consumer is that of an instance, or of a migration.
  void NoteConsumer(Uuid consumer) {
    const MigrationPtr migration = state_.records().FindMigration(MigrationId{consumer});
    judged_.instances.insert(migration == nullptr ? InstanceId{consumer} : migration->instance);
  }

  bool IsMember(InstanceId id) const {
    const auto written = is_member_.find(id);
    if (written != is_member_.end()) return written->second;
    const InstancePtr instance = state_.records().FindInstance(id);
    return instance != nullptr && MemberGroup(*instance).has_value();
  }

  const State& state_;
  Judged judged_;
  std::map<InstanceId, bool> is_member_;  // by the records that the command writes
};

absl::Status Violates(const ServerGroup& group, InstanceId member, const std::string& host) {
  const char* why = group.policy == ServerGroupPolicy::kAffinity
                        ? ", but its other members are elsewhere, or move"
                        : ", which has as many other members as the group allows";
  return Refuse(
      absl::StatusCode::kFailedPrecondition, "SERVER_GROUP_POLICY_VIOLATED",
      absl::StrCat("server group ", group.id.ToString(), " does not allow instance ",
                   member.ToString(), " on host ", host, why),
      {{{"server_group", group.id.ToString()}, {"instance", member.ToString()}, {"host", host}}});
}

// Compares the members that are judged, and the groups, in the states before and after a command.
class GroupComparison {
 public:
  GroupComparison(const State& before, const State& after) : before_(before), after_(after) {}

  absl::Status CheckMember(InstanceId id) {
    const InstancePtr member = after_.records().FindInstance(id);
    const ServerGroupPtr group = member == nullptr ? nullptr : GroupOf(after_, *member);
    if (group == nullptr) return absl::OkStatus();
    const InstancePtr earlier = before_.records().FindInstance(id);
    const bool stays = earlier != nullptr && MemberGroup(*earlier) == group->id;
    const GroupTally& tally = TallyOf(*group);
    if (!stays && tally.size() > kServerGroupMembersMax) return ServerGroupFull(group->id);
    const HostNames had = stays ? HostsOf(before_, *earlier) : HostNames();
    for (const std::string& host : tally.HostsOf(id)) {
      if (!had.contains(host) && !tally.Allows(id, host)) return Violates(*group, id, host);
    }
    return absl::OkStatus();
  }

  absl::Status CheckGroup(ServerGroupId id) {
    const ServerGroupPtr group = FindGroup(after_.records(), id);
    if (group == nullptr) return absl::OkStatus();
    const GroupTally& tally = TallyOf(*group);
    for (const InstancePtr& member : after_.records().MembersOf(id)) {
      for (const std::string& host : tally.HostsOf(member->id)) {
        if (!tally.Allows(member->id, host)) return Violates(*group, member->id, host);
      }
    }
    return absl::OkStatus();
  }

 private:
  const GroupTally& TallyOf(const ServerGroup& group) {
    const auto found = tallies_.find(group.id);
    if (found != tallies_.end()) return found->second;
    return tallies_
        .emplace(group.id, GroupTally(after_, group, after_.records().MembersOf(group.id)))
        .first->second;
  }

  const State& before_;
  const State& after_;
  std::map<ServerGroupId, GroupTally> tallies_;
};

}  // namespace

bool ObeysServerGroups(const CommandBody& body) {
  return std::holds_alternative<SetAllocations>(body) ||
         std::holds_alternative<AdjustAllocations>(body) ||
         std::holds_alternative<PlaceClaims>(body) || std::holds_alternative<Reshape>(body) ||
         std::holds_alternative<ApplyTopology>(body) || std::holds_alternative<SetInstance>(body) ||
         std::holds_alternative<CreateMigration>(body) ||
         std::holds_alternative<UpdateMigration>(body) || std::holds_alternative<EndMove>(body) ||
         std::holds_alternative<WriteRecords>(body) ||
         std::holds_alternative<SetServerGroup>(body) ||
         std::holds_alternative<UpdateServerGroupMembers>(body);
}

absl::Status CheckServerGroups(const State& state, const Changes& changes) {
  for (const Change& change : changes) {
    const auto* const put = std::get_if<InstancePut>(&change);
    if (put == nullptr || !put->instance->group) continue;
    BERTH_RETURN_IF_ERROR(CheckMembership(state, state.records().FindInstance(put->instance->id),
                                          *put->instance, "group_uuid"));
  }
  if (state.records().groups().empty()) return absl::OkStatus();
  const Judged judged = JudgedCollector(state).Of(changes);
  if (judged.instances.empty() && judged.groups.empty()) return absl::OkStatus();
  State after = state;
  after.Apply(changes);
  GroupComparison comparison(state, after);
  for (const InstanceId id : judged.instances) {
    BERTH_RETURN_IF_ERROR(comparison.CheckMember(id));
  }
  for (const ServerGroupId id : judged.groups) {
    BERTH_RETURN_IF_ERROR(comparison.CheckGroup(id));
  }
  return absl::OkStatus();
}

}  // namespace berth::placement
