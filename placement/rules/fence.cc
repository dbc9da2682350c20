#include "placement/rules/fence.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/commands/fleet_node.h"
#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

// Whether the consumer of the instance holds something of a node of `host`. A share of what serves
// other nodes, too, does not count: it says nothing about the host that the instance is meant for.
bool HoldsOn(const State& state, InstanceId instance, const std::string& host) {
  const ConsumerPtr consumer = state.FindConsumer(ConsumerId{instance.uuid});
  if (consumer == nullptr) return false;
  const auto is_on_host = [&](const Allocation& allocation) {
    const NodeRecordPtr node = FindNodeOfRow(state, allocation);
    return node != nullptr && node->host == host;
  };
  return std::any_of(consumer->allocations.begin(), consumer->allocations.end(), is_on_host);
}

bool IsSide(const MigrationRecord& migration, const std::string& host) {
  return migration.source_host == host || migration.destination_host == host;
}

// The migrations of the instance from or to `host` that still hold resources, and `ending`, if it
// is from or to `host`.
std::vector<MigrationPtr> MovesBeside(const State& state, InstanceId instance,
                                      const std::string& host, const MigrationPtr& ending) {
  std::vector<MigrationPtr> moves = state.records().MovesOf(instance);
  if (ending != nullptr) moves.push_back(ending);
  std::erase_if(moves,
                [&host](const MigrationPtr& migration) { return !IsSide(*migration, host); });
  return moves;
}

// Whether a migration that has no destination may get one of the host.
bool IsOpenTo(const State& state, const MigrationRecord& migration, const std::string& host) {
  if (!migration.destination_host.empty()) return false;
  const InstancePtr instance = state.records().FindInstance(migration.instance);
  return instance->host == host || HoldsOn(state, migration.instance, host);
}

absl::Status DenyUnconcerned(const TrackerProcess& tracker, const std::string& kind,
                             const std::string& id) {
  return DenyRecord(tracker, kind, id, "there is none that concerns this host");
}

bool IsActiveNode(const State& state, ProviderId id, const std::string& host) {
  const NodeRecordPtr node = FindNode(state, id);
  return node != nullptr && !node->retired && node->host == host;
}

// Whether the record names neither an active node of its host nor a side of one of `moves`. A guest
// may come back to a node that was retired meanwhile. The node of another host never counts.
bool LacksNode(const State& state, const InstanceRecord& record,
               const std::vector<MigrationPtr>& moves) {
  const NodeRecordPtr node = record.node ? FindNode(state, *record.node) : nullptr;
  if (node != nullptr && node->host != record.host) return true;
  if (node != nullptr && !node->retired) return false;
  return std::none_of(moves.begin(), moves.end(), [&](const MigrationPtr& move) {
    return (move->source_host == record.host && move->source_node == record.node) ||
           (move->destination_host == record.host && move->destination_node == record.node);
  });
}

// Whether the instance has a host, and this host or the instance's node is not the migration's
// source.
bool LeavesElsewhere(const MigrationRecord& migration, const InstanceRecord& instance) {
  if (instance.host.empty()) return false;
  return migration.source_host != instance.host ||
         (migration.source_node && instance.node && *migration.source_node != *instance.node);
}

}  // namespace

absl::Status DenyRecord(const TrackerProcess& tracker, const std::string& kind,
                        const std::string& id, absl::string_view why) {
  return Refuse(absl::StatusCode::kPermissionDenied, "POLICY_DENIED",
                absl::StrCat("the tracker of host ", tracker.host, " may not make this change to ",
                             kind, " ", id, ": ", why),
                {{{kind, id}, {"host", tracker.host}}});
}

void TrackerFields(Faults& faults, const std::optional<TrackerProcess>& tracker) {
  if (!tracker) return;
  faults.Length("tracker.host", tracker->host, 1, kTextMax);
  faults.Line("tracker.host", tracker->host);
  if (tracker->incarnation == Uuid{}) {
    faults.Add(kInvalidField, "tracker.incarnation", "must not consist of zeros only");
  }
}

absl::Status CheckProcess(const State& state, const TrackerProcess& tracker,
                          absl::string_view field) {
  const ServicePtr service = FindService(state, tracker.host, kTrackerBinary);
  if (service == nullptr || service->incarnation == Uuid{}) {
    return Refuse(absl::StatusCode::kFailedPrecondition, "SERVICE_NOT_REGISTERED",
                  absl::StrCat("the tracker of host ", tracker.host,
                               " is not registered: the tracker has to send Hello first"),
                  {{{"field", absl::StrCat(field, "host")}}});
  }
  if (service->incarnation == tracker.incarnation) return absl::OkStatus();
  return Refuse(absl::StatusCode::kAborted, "TRACKER_FENCED",
                absl::StrCat("the tracker of host ", tracker.host,
                             " has been replaced by a newer process: this process must stop "
                             "writing"),
                {{{"field", absl::StrCat(field, "incarnation")}}});
}

absl::Status CheckProcess(const State& state, const std::optional<TrackerProcess>& tracker) {
  return tracker ? CheckProcess(state, *tracker, "tracker.") : absl::OkStatus();
}

absl::Status CheckConcern(const State& state, const std::optional<TrackerProcess>& tracker,
                          InstanceId id, const MigrationPtr& move) {
  if (!tracker || !tracker->identified) return absl::OkStatus();
  const InstancePtr instance = state.records().FindInstance(id);
  const bool concerns =
      instance != nullptr &&
      (instance->host == tracker->host || (move != nullptr && move->instance == id) ||
       !MovesBeside(state, id, tracker->host, nullptr).empty() ||
       HoldsOn(state, id, tracker->host));
  return concerns ? absl::OkStatus() : DenyUnconcerned(*tracker, "instance", id.ToString());
}

absl::Status CheckConcern(const State& state, const std::optional<TrackerProcess>& tracker,
                          MigrationId id) {
  if (!tracker || !tracker->identified) return absl::OkStatus();
  const MigrationPtr migration = state.records().FindMigration(id);
  const bool concerns = migration != nullptr && (IsSide(*migration, tracker->host) ||
                                                 IsOpenTo(state, *migration, tracker->host));
  return concerns ? absl::OkStatus() : DenyUnconcerned(*tracker, "migration", id.ToString());
}

absl::Status CheckInstanceWrite(const State& state, const std::optional<TrackerProcess>& tracker,
                                const InstancePtr& before, const InstanceRecord& after,
                                const MigrationPtr& ending) {
  if (!tracker) return absl::OkStatus();
  const auto deny = [&](absl::string_view why) {
    return DenyRecord(*tracker, "instance", after.id.ToString(), why);
  };
  if (before == nullptr) return deny("it has no record, and trackers create none");
  const std::vector<MigrationPtr> moves = MovesBeside(state, before->id, tracker->host, ending);
  const bool is_unplaced = before->host.empty() || before->vm_state == kOffloadedState;
  const bool is_meant = is_unplaced && HoldsOn(state, before->id, tracker->host);
  if (before->host != tracker->host && moves.empty() && !is_meant) {
    return deny(is_unplaced ? "it holds nothing on this host, and does not move to it"
                            : "it is not on this host, and does not move from or to it");
  }
  const auto goes_there = [&](const MigrationPtr& move) { return IsSide(*move, after.host); };
  if (!after.host.empty() && after.host != tracker->host &&
      std::none_of(moves.begin(), moves.end(), goes_there)) {
    return deny(absl::StrCat("it does not move to host ", after.host));
  }
  const bool stays = after.host == before->host && after.node == before->node;
  if (!stays && !after.host.empty() && LacksNode(state, after, moves)) {
    return deny(absl::StrCat("it would be on no active node of host ", after.host));
  }
  if (after.name != before->name || after.project != before->project ||
      after.user != before->user || after.group != before->group) {
    return deny("trackers change neither name nor project nor user nor server group");
  }
  return absl::OkStatus();
}

absl::Status CheckMigrationWrite(const State& state, const std::optional<TrackerProcess>& tracker,
                                 const MigrationPtr& before, const MigrationRecord& after) {
  if (!tracker) return absl::OkStatus();
  const auto deny = [&](absl::string_view why) {
    return DenyRecord(*tracker, "migration", after.id.ToString(), why);
  };
  const InstancePtr instance = state.records().FindInstance(after.instance);
  bool may_write = before != nullptr && IsSide(*before, tracker->host);
  const bool is_open = before == nullptr || before->destination_host.empty();
  if (!may_write && is_open && IsSide(after, tracker->host)) {
    may_write = instance->host == tracker->host || HoldsOn(state, after.instance, tracker->host);
  }
  if (!may_write) {
    return deny("it is not from or to this host, or its instance is not meant for this host");
  }
  if (before == nullptr && LeavesElsewhere(after, *instance)) {
    return deny(absl::StrCat("its source is not where its instance is, on host ", instance->host));
  }
  const bool names_host = !after.destination_host.empty() &&
                          (before == nullptr || before->destination_host != after.destination_host);
  if (names_host && FindService(state, after.destination_host, kTrackerBinary) == nullptr) {
    return deny(absl::StrCat("its destination ", after.destination_host, " has no tracker"));
  }
  const bool names_node =
      after.destination_node &&
      (names_host || before == nullptr || before->destination_node != after.destination_node);
  if (names_node && !IsActiveNode(state, *after.destination_node, after.destination_host)) {
    return deny(absl::StrCat("its destination is no active node of host ", after.destination_host));
  }
  return absl::OkStatus();
}

}  // namespace berth::placement
