// Server groups while both placement processes of a ledger are killed again and again: 32 schedulers
// in two processes place members of groups, choose hosts or leave them to placement, move some
// members and release others. Afterwards a checker that shares no code with the product goes through
// all that a watcher was told, and compares it with the reports of both processes (group_history.h).
//
// BERTH_GROUP_MEMBERS says how many members there are (default 300, in groups of ten; 2000 for the
// whole of it, on 200 hosts). BERTH_GROUP_FILES names a directory for the files that README.md reads.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/fleet.pb.h"
#include "berth/placement/v1/inventory.pb.h"
#include "berth/placement/v1/provider.pb.h"
#include "tests/e2e/calls.h"
#include "tests/fault/await.h"
#include "tests/fault/groups/group_history.h"
#include "tests/fault/groups/group_plan.h"
#include "tests/fault/groups/group_recorder.h"
#include "tests/fault/groups/group_report.h"
#include "tests/fault/groups/group_schedulers.h"
#include "tests/processes/client_credentials.h"
#include "tests/processes/placement_server.h"
#include "tests/processes/private_cluster.h"
#include "tests/worlds/seed.h"

namespace berth::fault {
namespace {

namespace pb = ::berth::placement::v1;

constexpr int64_t kMembersOfGroup = 10;
constexpr int64_t kVcpus = 14;  // of each host; ten members a host on average, so some get full
constexpr int64_t kMembersOfKillMax = 60;  // that are settled between two kills, or 20 more
// How many more members schedulers may begin with until the kill is over. Fast schedulers wait then, so
// that there are enough kills.
constexpr int64_t kMembersPastKill = 40;
constexpr absl::Duration kGroupsRunMax = absl::Minutes(8);
constexpr absl::Duration kProgressMax = absl::Minutes(1);
constexpr absl::Duration kEndMax = absl::Seconds(30);

int64_t MembersWanted() {
  const char* const text = std::getenv("BERTH_GROUP_MEMBERS");
  int64_t wanted = 300;
  EXPECT_TRUE(text == nullptr || absl::SimpleAtoi(text, &wanted)) << text;
  return std::max<int64_t>(wanted / kMembersOfGroup, 1) * kMembersOfGroup;
}

class GroupKill : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int which = 0; which < kGroupServers; ++which) {
      Start(which);
      plan_.address_files[which] = servers_[which]->address_path();
    }
    plan_.members = MembersWanted();
    plan_.until = absl::Now() + kGroupsRunMax;
    const int64_t groups = plan_.members / kMembersOfGroup;
    for (int64_t i = 0; i < groups; ++i) MakeHost(absl::StrCat("host-", i));
    for (int64_t i = 0; i < groups; ++i) plan_.groups.push_back(MakeGroup(i));
    WritePlan(plan_, PlanPath(files_.path()));
    recorder_thread_ = std::thread([this] { recorder_.Run(); });
    ASSERT_TRUE(AwaitWithin(kProgressMax, [this] { return recorder_.newest() > 0; }));
  }
  void TearDown() override {
    progress_->stop = true;
    recorder_.Stop();
    if (recorder_thread_.joinable()) recorder_thread_.join();
    const char* const kept = std::getenv("BERTH_GROUP_FILES");
    using Options = std::filesystem::copy_options;
    if (kept == nullptr) return;
    std::filesystem::copy(files_.path(), kept, Options::recursive | Options::overwrite_existing);
  }

  void Start(int which) {
    servers_[which] = e2e::StartAt(directories_[which].path(), url_);
    channel_ = testing::OwnChannel(servers_[which]->address(), e2e::CredentialsOf());
  }
  template <typename Request, typename Response>
  void Do(const std::string& method, const Request& request, Response* response) {
    const grpc::Status status = e2e::InvokeOn(channel_, method, request, response);
    ASSERT_TRUE(status.ok()) << method << ": " << status.error_message();
  }
  void MakeHost(const std::string& host) {
    pb::CreateNodeRequest create;
    create.set_node_uuid(e2e::Random());
    create.set_name(absl::StrCat("node of ", host));
    create.set_host(host);
    pb::CreateNodeResponse created;
    Do("FleetService/CreateNode", create, &created);
    pb::GetProviderRequest get;
    get.set_provider_uuid(create.node_uuid());
    pb::GetProviderResponse got;
    Do("ProviderService/GetProvider", get, &got);
    pb::SetInventoriesRequest set;
    set.set_provider_uuid(create.node_uuid());
    set.set_expected_generation(got.provider().generation());
    (*set.mutable_inventories())["VCPU"].set_total(kVcpus);
    pb::SetInventoriesResponse done;
    Do("InventoryService/SetInventories", set, &done);
    plan_.node_of_host[host] = create.node_uuid();
  }
  // Half of the groups have affinity, the others anti-affinity with different maxima.
  std::string MakeGroup(int64_t number) {
    pb::SetServerGroupRequest set;
    pb::ServerGroup& group = *set.mutable_group();
    group.set_uuid(e2e::Random());
    group.set_project_id("p");
    group.set_user_id("u");
    group.set_policy(number % 2 == 0 ? pb::SERVER_GROUP_POLICY_AFFINITY
                                     : pb::SERVER_GROUP_POLICY_ANTI_AFFINITY);
    if (number % 2 != 0 && number % 3 != 0) {
      group.set_max_server_per_host(static_cast<int32_t>(1 + number % 4));
    }
    pb::SetServerGroupResponse done;
    Do("ServerGroupService/SetServerGroup", set, &done);
    return group.uuid();
  }

  // Kills one process after the other, and both at once now and then, until all members are done
  // with; then reads the reports.
  void KillUnderLoad() {
    for (int number = 0; number < kGroupProcesses; ++number) {
      schedulers_.push_back(std::make_unique<GroupSchedulers>(files_.path(), number, random_()));
    }
    const int64_t step = std::min(plan_.members / 12, kMembersOfKillMax);
    for (int which = 0; progress_->settled < plan_.members; which = 1 - which) {
      const int64_t goal = progress_->settled + step + static_cast<int64_t>(random_() % 20);
      progress_->allowed = goal + kMembersPastKill;
      ASSERT_NO_FATAL_FAILURE(AwaitSettled(std::min(goal, plan_.members)));
      const std::vector<int> killed =
          random_() % 4 == 0 ? std::vector<int>{which, 1 - which} : std::vector<int>{which};
      for (const int each : killed) servers_[each]->Signal(SIGKILL);
      for (const int each : killed) {
        ASSERT_EQ(servers_[each]->AwaitEnd(kEndMax), 128 + SIGKILL);
        Start(each);
        ++kills_;
      }
    }
    for (const auto& process : schedulers_) {
      ASSERT_EQ(process->AwaitEnd(kEndMax), 0) << process->Log();
      GroupEvents& events = events_.emplace_back();
      const absl::Status read = process->Read(&events);
      EXPECT_TRUE(read.ok()) << read;
      for (const std::string& complaint : events.complaints) ADD_FAILURE() << complaint;
    }
  }
  void AwaitSettled(int64_t members) {
    const auto run = [this](const auto& process) { return process->IsRunning(); };
    const bool has_come = AwaitWithin(kProgressMax, [&] {
      return progress_->settled >= members ||
             std::none_of(schedulers_.begin(), schedulers_.end(), run);
    });
    ASSERT_TRUE(has_come && progress_->settled >= members)
        << progress_->settled << " of " << plan_.members << " members\n"
        << servers_[0]->Log() << servers_[1]->Log() << schedulers_[0]->Log()
        << schedulers_[1]->Log();
  }
  // Makes a last write, and waits until the watcher has been told of it.
  void EndRecord() {
    pb::GetServerGroupRequest get;
    get.set_group_uuid(MakeGroup(0));
    pb::GetServerGroupResponse last;
    Do("ServerGroupService/GetServerGroup", get, &last);
    recorder_.EndAt(last.revision().number());
    recorder_thread_.join();
  }

  // What schedulers were told is in the history, and no other member is.
  void ExpectAllTold(const GroupHistory& history) const {
    size_t placed = 0;
    size_t released = 0;
    for (const GroupEvents& events : events_) {
      placed += events.placed.size();
      released += events.released.size();
      for (const auto* arrivals : {&events.placed, &events.moved}) {
        for (const GroupArrival& each : *arrivals) {
          const auto hosts = history.hosts_ever().find(each.instance);
          EXPECT_TRUE(hosts != history.hosts_ever().end() && hosts->second.contains(each.host))
              << each.instance << " on " << each.host;
        }
      }
    }
    EXPECT_EQ(history.hosts_ever().size(), placed);
    EXPECT_EQ(history.members_placed(), static_cast<int64_t>(placed - released));
  }
  // What the history ends with is in the ledger.
  void ExpectSameInLedger(const GroupHistory& history) {
    for (const std::string& group : plan_.groups) {
      pb::GetServerGroupRequest get;
      get.set_group_uuid(group);
      pb::GetServerGroupResponse got;
      Do("ServerGroupService/GetServerGroup", get, &got);
      std::map<std::string, std::set<std::string>> members;
      for (const pb::ServerGroupMember& each : got.members()) {
        members[each.instance_uuid()] = {each.hosts().begin(), each.hosts().end()};
      }
      EXPECT_EQ(members, history.MembersOf(group)) << group;
    }
  }
  // Each member was placed by one process, or its claim was refused there.
  void ExpectEachMemberOnce() const {
    std::set<std::string> instances;
    size_t outcomes = 0;
    for (const GroupEvents& events : events_) {
      outcomes += events.placed.size() + events.not_placed.size();
      for (const GroupArrival& each : events.placed) instances.insert(each.instance);
      instances.insert(events.not_placed.begin(), events.not_placed.end());
    }
    EXPECT_EQ(static_cast<int64_t>(outcomes), plan_.members);
    EXPECT_EQ(instances.size(), outcomes);
  }
  // How many groups have members of each process.
  int64_t GroupsOfAll() const {
    std::map<std::string, std::set<const GroupEvents*>> processes;
    for (const GroupEvents& events : events_) {
      for (const GroupArrival& each : events.placed) processes[each.group].insert(&events);
    }
    return std::count_if(processes.begin(), processes.end(),
                         [](const auto& group) { return group.second.size() == kGroupProcesses; });
  }
  std::vector<GroupRefusal> Refusals() const {
    std::vector<GroupRefusal> all;
    for (const GroupEvents& events : events_) {
      all.insert(all.end(), events.refusals.begin(), events.refusals.end());
    }
    return all;
  }
  // The steps of a group, or of all groups, a line for each.
  static std::string TextOf(const std::vector<GroupStep>& steps, const std::string& group = "");
  // Writes all steps to history.tsv, and shows those of the groups that a fault is about.
  void ShowFaults(const GroupHistory& history) const;
  void Print(const GroupHistory& history, double seconds) const;

  std::mt19937_64 random_{placement::Seed()};
  std::array<placement::ScratchDirectory, kGroupServers> directories_;
  placement::ScratchDirectory files_;
  const std::string url_ = placement::NewDatabase();
  std::array<std::unique_ptr<e2e::PlacementServer>, kGroupServers> servers_;
  std::shared_ptr<grpc::Channel> channel_;  // to the process that was started last
  GroupPlan plan_;
  GroupProgress progress_{ProgressPath(files_.path())};
  GroupRecorder recorder_{&plan_};
  std::thread recorder_thread_;
  std::vector<std::unique_ptr<GroupSchedulers>> schedulers_;
  std::vector<GroupEvents> events_;  // of each of them
  int kills_ = 0;
};

void GroupKill::Print(const GroupHistory& history, double seconds) const {
  for (const GroupEvents& events : events_) {
    absl::PrintF("a process placed %d, moved %d, released %d; %d calls left open\n",
                 events.placed.size(), events.moved.size(), events.released.size(),
                 events.left_open);
  }
  const std::vector<GroupRefusal> refusals = Refusals();
  std::map<std::string, int> reasons;
  for (const GroupRefusal& each : refusals) ++reasons[absl::StrCat(each.what, " ", each.reason)];
  for (const auto& [reason, count] : reasons) absl::PrintF("refused: %d of %s\n", count, reason);
  absl::PrintF("%d refused, %d right at each moment of their revision\n", refusals.size(),
               history.always_right());
  absl::PrintF(
      "%d members of %d groups, %d of them from both processes; %d at hosts at the end; %d kills; "
      "%d commands, %d arrivals on hosts; %.1f s\n",
      plan_.members, plan_.groups.size(), GroupsOfAll(), history.members_placed(), kills_,
      history.commands(), history.arrivals(), seconds);
}

std::string GroupKill::TextOf(const std::vector<GroupStep>& steps, const std::string& group) {
  std::string text;
  for (const GroupStep& step : steps) {
    if (!group.empty() && step.group != group) continue;
    absl::StrAppend(&text, step.revision, "\t", step.group, "\t", step.instance, "\t",
                    step.hosts.empty() ? "nowhere" : absl::StrJoin(step.hosts, " "), "\t",
                    step.method, "\t", step.request_id, "\n");
  }
  return text;
}

void GroupKill::ShowFaults(const GroupHistory& history) const {
  std::ofstream(files_.path() + "/history.tsv") << TextOf(history.steps());
  for (const std::string& fault : history.faults()) ADD_FAILURE() << fault;  // T-320, T-321
  for (const std::string& group : plan_.groups) {
    const bool is_named =
        std::any_of(history.faults().begin(), history.faults().end(),
                    [&](const auto& fault) { return fault.find(group) != std::string::npos; });
    if (is_named) absl::PrintF("%s", TextOf(history.steps(), group));
  }
}

TEST_F(GroupKill, NoGroupIsBrokenAndNoClaimRefusedInVain) {
  const absl::Time begin = absl::Now();
  ASSERT_NO_FATAL_FAILURE(KillUnderLoad());
  const double seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  ASSERT_NO_FATAL_FAILURE(EndRecord());
  GroupHistory history(kVcpus);
  history.Check(recorder_.revisions(), Refusals());
  Print(history, seconds);
  ShowFaults(history);
  ExpectEachMemberOnce();
  ExpectAllTold(history);
  ExpectSameInLedger(history);
  for (const GroupEvents& events : events_) {
    EXPECT_GT(static_cast<int64_t>(events.placed.size()), plan_.members / 10);
    EXPECT_FALSE(events.moved.empty());
    EXPECT_FALSE(events.refusals.empty()) << "no group stood in the way of any write";
  }
  EXPECT_GT(kills_, kGroupServers);
  EXPECT_GT(history.always_right(), static_cast<int64_t>(Refusals().size()) / 5);
  EXPECT_GT(GroupsOfAll(), static_cast<int64_t>(plan_.groups.size()) / 2);
}

}  // namespace
}  // namespace berth::fault
