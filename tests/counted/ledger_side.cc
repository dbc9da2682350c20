#include "tests/counted/ledger_side.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/commands/allocation_audit.h"
#include "placement/commands/node_share.h"
#include "placement/reads/fleet_sums.h"
#include "placement/rules/rules.h"
#include "placement/values/refusal.h"
#include "services/report/push_slice.h"
#include "services/report/record_push.h"
#include "services/wire/instance.h"
#include "services/wire/record_write.h"
#include "tests/worlds/fleet_world.h"

namespace berth::counted {
namespace {

using placement::InstanceId;
using placement::ProviderId;

constexpr char kProbe[] = "probe";

std::string TextOf(const absl::Status& status) {
  if (status.ok()) return "";
  const auto refusal = placement::RefusalOf(status);
  return absl::StrCat(refusal ? refusal->reason : "", " ", status.message());
}

placement::TrackerProcess ProcessOf(const std::string& host) {
  return {host, placement::FleetWorld::Process(host == "h1" ? 1 : 2)};
}

}  // namespace

class LedgerSide::World {
 public:
  World() {
    EXPECT_EQ(fleet_.Register("h1", 1, "machine-1"), "OK");
    EXPECT_EQ(fleet_.Register("h2", 2, "machine-2"), "OK");
    EXPECT_EQ(fleet_.Report("h1", 1, "n1{VCPU:100, MEMORY_MB:100, DISK_GB:100}", 1), "OK");
    EXPECT_EQ(fleet_.Report("h1", 1, "n2{VCPU:100}", 1), "OK");
    EXPECT_EQ(fleet_.Report("h2", 2, "n3{VCPU:100}", 1), "OK");
    for (const auto& [host, name] :
         {std::pair("h1", "n1"), std::pair("h1", "n2"), std::pair("h2", "n3")}) {
      nodes_.push_back({host, fleet_.world.provider(name).ToString()});
    }
    pb::SetInstanceRequest probe;
    pb::Instance& record = *probe.mutable_instance();
    record.set_uuid(Allocated(kProbe));
    record.set_project_id("p");
    record.set_user_id("u");
    record.set_vm_state("building");
    record.mutable_flavor();
    EXPECT_EQ(Do(services::SetInstanceCommand(probe)), "");
  }

  const std::vector<Place>& nodes() const { return nodes_; }
  const placement::State& state() const { return fleet_.world.state(); }

  // The uuid of the consumer, which has an allocation on each node.
  std::string Allocated(const std::string& name) {
    const placement::ConsumerId id = fleet_.world.consumer(name);
    const auto held = state().FindConsumer(id);
    if (held == nullptr || held->allocations.size() < nodes_.size() || nodes_.empty()) {
      fleet_.world.Must(placement::SetAllocations{
          {fleet_.world.Claim(name, "n1{VCPU:1} n2{VCPU:1} n3{VCPU:1}")}, false});
    }
    return id.ToString();
  }

  std::string Do(absl::StatusOr<placement::CommandBody> body) {
    EXPECT_TRUE(body.ok()) << body.status();
    if (!body.ok()) return TextOf(body.status());
    const auto outcome = fleet_.world.Do(*std::move(body));
    if (!outcome.ok()) return TextOf(outcome.status());
    for (const Place& place : nodes_) {
      for (const placement::Change& change : outcome->changes) {
        services::AddRecord(change, &changed_[place.node]);
      }
    }
    return "";
  }

  pb::Push Next(const Place& place) { return Fill(place, std::exchange(changed_[place.node], {})); }
  pb::Push Complete(const Place& place) const {
    services::PushScope all;
    all.complete = true;
    services::NameRecords(state().records(), place.host, &all);
    return Fill(place, std::move(all));
  }

  // Calls visit(uuid, share, names) for the share of each instance on the node.
  template <typename Visit>
  void ForEachShare(const Place& place, Visit visit) const {
    const ProviderId node = *ProviderId::Parse(place.node);
    const placement::Records& records = state().records();
    records.instances().ForEach([&](InstanceId id, const placement::InstancePtr& instance) {
      const placement::NodeShare share =
          ShareOn(place.host, node, *instance, records.MigrationsOf(id));
      visit(id.ToString(), share, HeldNames(share, *instance));
    });
  }

  // Whether the command would be done.
  bool IsDone(const placement::WriteRecords& command) const {
    const int64_t next = fleet_.world.commands() + 1;
    const placement::RuleContext context{absl::UnixEpoch() + absl::Seconds(next),
                                         placement::Generation{next}};
    const absl::Status status = Decide(state(), command, context).status();
    EXPECT_TRUE(status.ok() || absl::StrContains(status.message(), "cannot get")) << status;
    return status.ok();
  }

 private:
  pb::Push Fill(const Place& place, services::PushScope scope) const {
    pb::Push push;
    services::FillSlice(state(), place.host, *ProviderId::Parse(place.node), &scope, &push);
    EXPECT_FALSE(push.more());
    return push;
  }

  placement::FleetWorld fleet_;
  std::vector<Place> nodes_;
  std::map<std::string, services::PushScope> changed_;  // by the node's uuid
};

LedgerSide::LedgerSide() : world_(std::make_unique<World>()) {}
LedgerSide::~LedgerSide() = default;

const std::vector<Place>& LedgerSide::nodes() const { return world_->nodes(); }

std::string LedgerSide::InstanceUuid(int number) {
  return world_->Allocated(absl::StrCat("instance-", number));
}

std::string LedgerSide::Do(const pb::SetInstanceRequest& request) {
  return world_->Do(services::SetInstanceCommand(request));
}
std::string LedgerSide::Do(const pb::DeleteInstanceRequest& request) {
  return world_->Do(services::DeleteInstanceCommand(request));
}
std::string LedgerSide::Do(const pb::CreateMigrationRequest& request) {
  return world_->Do(services::CreateMigrationCommand(request));
}
std::string LedgerSide::Do(const pb::UpdateMigrationRequest& request) {
  return world_->Do(services::UpdateMigrationCommand(request));
}
std::string LedgerSide::Do(const pb::EndMoveRequest& request) {
  return world_->Do(services::EndMoveCommand(request));
}

std::string LedgerSide::Write(const Place& place, pb::RecordWrite write) {
  write.set_node_uuid(place.node);
  auto command = services::WriteRecordsOf(write, ProcessOf(place.host));
  if (!command.ok()) return world_->Do(command.status());
  return world_->Do(placement::CommandBody(*std::move(command)));
}

pb::TrackerProcess LedgerSide::TrackerOf(const std::string& host) const {
  pb::TrackerProcess process;
  process.set_host(host);
  process.set_incarnation(ProcessOf(host).incarnation.ToString());
  return process;
}

pb::Instance LedgerSide::Instance(const std::string& uuid) const {
  pb::Instance instance;
  const auto record = world_->state().records().FindInstance(*InstanceId::Parse(uuid));
  if (record != nullptr) services::FillInstance(*record, &instance);
  return instance;
}

std::vector<pb::Migration> LedgerSide::MigrationsOf(const std::string& instance) const {
  std::vector<pb::Migration> migrations;
  for (const auto& record : world_->state().records().MigrationsOf(*InstanceId::Parse(instance))) {
    services::FillMigration(*record, &migrations.emplace_back());
  }
  return migrations;
}

pb::Push LedgerSide::NextPush(const Place& place) { return world_->Next(place); }
pb::Push LedgerSide::CompletePush(const Place& place) const { return world_->Complete(place); }

Counted LedgerSide::On(const Place& place) const {
  Counted counted;
  world_->ForEachShare(place, [&](const std::string& uuid, const placement::NodeShare& share,
                                  const placement::PartNameSet& names) {
    if (share.instance) counted.instances.insert(uuid);
    if (share.migration) counted.migrations[uuid] = share.migration->ToString();
    for (const std::string& name : names) {
      if (absl::StartsWith(name, "c")) {
        counted.cpus.insert(name);
        continue;
      }
      std::string& owner = counted.owners[name];
      if (owner.empty() || uuid < owner) owner = uuid;
    }
  });
  return counted;
}

Sizes LedgerSide::WantedOf(const std::string& instance) const {
  const placement::State& state = world_->state();
  const auto finding = placement::AuditConsumer(state, *placement::ConsumerId::Parse(instance));
  const auto amount_of = [&](absl::string_view name) {
    const auto id = state.catalog().classes.Find(name);
    int64_t amount = 0;
    if (!finding) return amount;
    for (const placement::Allocation& row : finding->wanted) {
      if (row.resource_class == id) amount += row.amount;
    }
    return amount;
  };
  return {amount_of("VCPU"), amount_of("MEMORY_MB"), amount_of("DISK_GB")};
}

Sizes LedgerSide::SumOn(const Place& place) const {
  const auto host =
      placement::SumUpHost(world_->state(), place.host, ProviderId::Parse(place.node));
  EXPECT_TRUE(host.ok()) << host.status();
  if (!host.ok()) return {};
  return {host->used_max.vcpus, host->used_max.memory_mib, host->used_max.disk_gib};
}

bool LedgerSide::IsShared(const Place& place) const {
  std::set<std::string> owned;
  bool is_shared = false;
  world_->ForEachShare(place, [&](const std::string&, const placement::NodeShare&,
                                  const placement::PartNameSet& names) {
    for (const std::string& name : names) is_shared = !owned.insert(name).second || is_shared;
  });
  return is_shared;
}

bool LedgerSide::MayGive(const Place& place, int thing) {
  pb::RecordWrite write;
  write.set_node_uuid(place.node);
  pb::Instance& probe = *write.mutable_instance();
  probe.set_uuid(world_->Allocated(kProbe));
  probe.set_generation(Instance(probe.uuid()).generation());
  probe.set_host(place.host);
  probe.set_node_uuid(place.node);
  SetOwn({thing}, &probe);
  const auto command = services::WriteRecordsOf(write, ProcessOf(place.host));
  EXPECT_TRUE(command.ok()) << command.status();
  return command.ok() && world_->IsDone(*command);
}

}  // namespace berth::counted
