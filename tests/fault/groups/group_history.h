// GroupHistory: the ledger as a watcher is told of it, one command after the other, and what is wrong
// with it by the promise of server_group.proto: no member is ever on a further host that the policy
// of its group forbids (T-320, T-321), and no write was refused for the sake of a group, or for lack
// of a place, unless that was so at the revision at which it was decided. A revision has the commands
// of a batch, and a refusal of that batch was decided before, between or after them; so a refusal
// that was right at some of these moments alone may have been decided at another one.
//
// Knows what the schedulers of group_kill_test do: they shelve no instance, and mark none as deleted.
// Shares no code with the product. One thread at a time.
#ifndef BERTH_TESTS_FAULT_GROUPS_GROUP_HISTORY_H_
#define BERTH_TESTS_FAULT_GROUPS_GROUP_HISTORY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "berth/placement/v1/watch.pb.h"

namespace berth::fault {

// A write that was refused with NO_CANDIDATE, CAPACITY_EXCEEDED or SERVER_GROUP_POLICY_VIOLATED.
struct GroupRefusal {
  std::string what;  // for messages
  std::string reason;
  std::string instance, group;      // of whom the write was
  std::optional<std::string> host;  // the host that the write names; none: any host would do
  int64_t from = 0, to = 0;  // decided at `from`, at `to`, or between two commands on the way
};

// All changes of one revision, in their order.
struct RecordedRevision {
  int64_t number = 0;
  std::vector<placement::v1::Change> changes;
};

// That a command has changed where a member is, or the group of an instance.
struct GroupStep {
  int64_t revision = 0;
  std::string method, request_id;  // of the command
  std::string group, instance;     // the group that the instance leaves, if it gets none
  std::set<std::string> hosts;     // afterwards
};

class GroupHistory {
 public:
  // `vcpus`: what each host can give. A member takes one.
  explicit GroupHistory(int64_t vcpus) : vcpus_(vcpus) {}

  // Goes through the revisions, which rise, and adds what is wrong to faults().
  void Check(const std::vector<RecordedRevision>& revisions, std::vector<GroupRefusal> refusals);

  const std::vector<std::string>& faults() const { return faults_; }
  int64_t commands() const { return commands_; }
  // How often a member came to a host, and how many members are on hosts at the end.
  int64_t arrivals() const { return arrivals_; }
  int64_t members_placed() const;
  // How many of the refusals were right at each moment between call and answer, so whenever they
  // were decided.
  int64_t always_right() const { return always_right_; }
  using Hosts = std::set<std::string>;
  // The hosts to which each instance has ever come as a member; no entry: to none.
  const std::map<std::string, Hosts>& hosts_ever() const { return hosts_ever_; }
  const std::vector<GroupStep>& steps() const { return steps_; }
  // The members of the group at the end, and where they are.
  std::map<std::string, Hosts> MembersOf(const std::string& group) const;

 private:
  struct Instance {
    std::string group, host;
  };
  struct Group {
    placement::v1::ServerGroupPolicy policy{};
    int64_t max = 1;
    std::set<std::string> members;
  };
  struct Move {
    std::string instance, status, from, to;
  };
  struct Place {
    std::string group;
    Hosts hosts;
    bool operator==(const Place&) const = default;
  };
  struct Judged {
    GroupRefusal refusal;
    bool was_right = false, was_wrong = false;  // at some moment
  };

  // Applies the changes of one command, and compares each member that they are about.
  void Apply(int64_t revision, const std::vector<const placement::v1::Change*>& command);
  // Compares where the instance is with where it was before the command.
  void Compare(int64_t revision, const placement::v1::Change& cause, const std::string& instance,
               const Place& before);
  void ApplyOne(const placement::v1::Change& change);
  void ApplyRemoved(const placement::v1::EntityKey& removed);
  void PutInstance(const std::string& uuid, std::optional<Instance> instance);
  void PutConsumer(const std::string& uuid, std::map<std::string, int64_t> held);
  // The instances that the change is about, as things are now.
  std::set<std::string> Concerned(const placement::v1::Change& change) const;
  // An instance without a record is nowhere, and in no group.
  Place PlaceOf(const std::string& instance) const;
  Hosts HostsOf(const std::string& instance) const;
  // Where the other members of the group are.
  std::vector<Hosts> HostsOfOthers(const Group& group, const std::string& member) const;
  bool Forbids(const std::string& group, const std::string& member, const std::string& host) const;
  static bool ForbidsAmong(const Group& group, const std::vector<Hosts>& others,
                           const std::string& host);
  bool IsRight(const GroupRefusal& refusal) const;
  // Compares the refusals with the present state, in which those may have been decided that were
  // called when `called_max` or less was the newest revision, and answered when it was
  // `answered_min` or more. Settles those that were answered before.
  void Judge(int64_t called_max, int64_t answered_min, std::vector<Judged>* open);
  void Settle(const Judged& judged);

  const int64_t vcpus_;
  std::map<std::string, std::string> host_of_node_;
  std::map<std::string, Instance> instances_;
  std::map<std::string, Group> groups_;
  std::map<std::string, Move> moves_;
  std::map<std::string, std::set<std::string>> moves_of_;       // by instance
  std::map<std::string, std::map<std::string, int64_t>> held_;  // by consumer and provider
  std::map<std::string, int64_t> used_;                         // by host
  std::map<std::string, Hosts> hosts_ever_;
  std::vector<GroupStep> steps_;
  std::vector<std::string> faults_;
  int64_t commands_ = 0, arrivals_ = 0, always_right_ = 0;
};

}  // namespace berth::fault

#endif  // BERTH_TESTS_FAULT_GROUPS_GROUP_HISTORY_H_
