// GroupModel: what server groups allow, written from the words of server_group.proto alone and
// without care for speed. It shares no code with the ledger's own comparison: it reads the records,
// the allocations, the nodes and the providers of a state, and works all out anew each time.
#ifndef BERTH_TESTS_PLACEMENT_CLAIMS_GROUP_MODEL_H_
#define BERTH_TESTS_PLACEMENT_CLAIMS_GROUP_MODEL_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "placement/state/state.h"

namespace berth::placement {

class GroupModel {
 public:
  // `policies`: the state whose groups count. It may be another one than that whose members do.
  explicit GroupModel(const State& policies) : policies_(policies) {}

  // The host that an amount of a provider stands for; empty: none.
  static std::string HostOf(const State& state, const Allocation& row);
  // Where the instance is; empty if it has no record.
  static std::set<std::string> HostsOf(const State& state, InstanceId instance);
  // The group of which the instance is a member.
  static std::optional<ServerGroupId> GroupOf(const State& state, InstanceId instance);

  // Whether the policy forbids the member to be on the host in `state`.
  bool Forbids(const State& state, InstanceId member, const std::string& host) const;
  // Whether the policy of the member is affinity, and another member is anywhere.
  bool IsTogether(const State& state, InstanceId member) const;
  // "INSTANCE on HOST", for each member that is on a further host in `after` than in `before`, or is
  // newly a member, and may not be there.
  std::vector<std::string> NewFaults(const State& before, const State& after) const;
  // The same for all hosts of all members of a group.
  std::vector<std::string> FaultsOf(const State& state, ServerGroupId group) const;

 private:
  const State& policies_;
};

inline std::string GroupModel::HostOf(const State& state, const Allocation& row) {
  const std::optional<ProviderPlace> place = state.FindProvider(row.provider);
  if (!place) return "";
  const auto sharing = state.catalog().traits.Find("MISC_SHARES_VIA_AGGREGATE");
  const bool shares = sharing && place->config().HasTrait(*sharing);
  const bool is_node = state.nodes().Find(row.provider) != nullptr;
  if (shares && !is_node) return "";
  if (shares && state.catalog().classes.NameOf(row.resource_class) == "DISK_GB") return "";
  for (int p = place->position; p >= 0; p = place->tree->shape->parent_of[p]) {
    if (const auto* node = state.nodes().Find(place->tree->config(p).id)) return (*node)->host;
  }
  return "";
}

inline std::set<std::string> GroupModel::HostsOf(const State& state, InstanceId instance) {
  static const std::set<absl::string_view> over = {"completed", "cancelled", "failed", "confirmed",
                                                   "reverted",  "done",      "error"};
  std::set<std::string> hosts;
  const InstancePtr record = state.records().FindInstance(instance);
  if (record == nullptr || record->vm_state == "deleted") return hosts;
  const auto hold = [&](Uuid consumer) {
    const ConsumerPtr held = state.FindConsumer(ConsumerId{consumer});
    if (held == nullptr) return;
    for (const Allocation& row : held->allocations) hosts.insert(HostOf(state, row));
  };
  const bool is_away = record->vm_state == "shelved_offloaded" && record->task_state != "spawning";
  if (!is_away) hosts.insert(record->host);
  hold(instance.uuid);
  state.records().migrations().ForEach([&](MigrationId id, const MigrationPtr& move) {
    if (move->instance != instance) return;
    // After these words nothing is held for the move: it may be over, or `error`, after which both
    // hosts may still hold resources.
    if (!over.contains(move->status) || move->status == "error") hold(id.uuid);
    if (over.contains(move->status)) return;
    hosts.insert(move->source_host);
    hosts.insert(move->destination_host);
  });
  hosts.erase("");
  return hosts;
}

inline std::optional<ServerGroupId> GroupModel::GroupOf(const State& state, InstanceId instance) {
  const InstancePtr record = state.records().FindInstance(instance);
  if (record == nullptr || record->vm_state == "deleted") return std::nullopt;
  return record->group;
}

inline bool GroupModel::Forbids(const State& state, InstanceId member,
                                const std::string& host) const {
  const std::optional<ServerGroupId> id = GroupOf(state, member);
  const ServerGroupPtr* const group = id ? policies_.records().groups().Find(*id) : nullptr;
  if (group == nullptr) return false;
  int64_t here = 0;
  bool is_elsewhere = false;
  state.records().instances().ForEach([&](InstanceId other, const InstancePtr&) {
    if (other == member || GroupOf(state, other) != id) return;
    const std::set<std::string> hosts = HostsOf(state, other);
    if (hosts.contains(host)) ++here;
    if (!hosts.empty() && hosts != std::set<std::string>{host}) is_elsewhere = true;
  });
  if ((*group)->policy == ServerGroupPolicy::kAffinity) return is_elsewhere;
  return (*group)->policy == ServerGroupPolicy::kAntiAffinity &&
         here >= (*group)->max_server_per_host.value_or(1);
}

inline bool GroupModel::IsTogether(const State& state, InstanceId member) const {
  const std::optional<ServerGroupId> id = GroupOf(state, member);
  const ServerGroupPtr* const group = id ? policies_.records().groups().Find(*id) : nullptr;
  if (group == nullptr || (*group)->policy != ServerGroupPolicy::kAffinity) return false;
  bool is_anywhere = false;
  state.records().instances().ForEach([&](InstanceId other, const InstancePtr&) {
    if (other == member || GroupOf(state, other) != id) return;
    if (!HostsOf(state, other).empty()) is_anywhere = true;
  });
  return is_anywhere;
}

inline std::vector<std::string> GroupModel::NewFaults(const State& before,
                                                      const State& after) const {
  std::vector<std::string> faults;
  after.records().instances().ForEach([&](InstanceId id, const InstancePtr&) {
    const bool stays = GroupOf(before, id) == GroupOf(after, id);
    const std::set<std::string> had = stays ? HostsOf(before, id) : std::set<std::string>();
    for (const std::string& host : HostsOf(after, id)) {
      if (!had.contains(host) && Forbids(after, id, host)) {
        faults.push_back(id.ToString() + " on " + host);
      }
    }
  });
  return faults;
}

inline std::vector<std::string> GroupModel::FaultsOf(const State& state,
                                                     ServerGroupId group) const {
  std::vector<std::string> faults;
  state.records().instances().ForEach([&](InstanceId id, const InstancePtr&) {
    if (GroupOf(state, id) != group) return;
    for (const std::string& host : HostsOf(state, id)) {
      if (Forbids(state, id, host)) faults.push_back(id.ToString() + " on " + host);
    }
  });
  return faults;
}

}  // namespace berth::placement

#endif  // BERTH_TESTS_PLACEMENT_CLAIMS_GROUP_MODEL_H_
