#include "tests/placement/claims/group_commands.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "berth/placement/v1/record.pb.h"
#include "tests/placement/rules/cpus.h"
#include "tests/worlds/claim_notation.h"

namespace berth::placement {
namespace {

// Mostly the present generation.
template <typename RecordPtr>
std::optional<Generation> GenerationOf(const RecordPtr& record) {
  return record == nullptr ? std::nullopt : std::optional(record->generation);
}

}  // namespace

GroupCommands::GroupCommands(uint64_t seed) : dice_(seed) {
  const char* const nodes[] = {"n1{VCPU:3}", "n2{VCPU:4}\n  n2-gpu{VGPU:2}", "n3{VCPU:2}",
                               "n4{VCPU:5}"};
  world().Add("pool[MISC_SHARES_VIA_AGGREGATE]{DISK_GB:40}(racks)");
  for (int host = 1; host <= 4; ++host) {
    const std::string name = absl::StrCat("h", host);
    EXPECT_EQ(fleet_.Register(name, host, absl::StrCat("machine-", host)), "OK");
    EXPECT_EQ(fleet_.Report(name, host, nodes[host - 1], 1), "OK");
  }
  EXPECT_EQ(fleet_.Report("h1", 1, "n1b{VCPU:2}", 1), "OK");
  for (const char* node : {"n1", "n1b", "n2", "n3", "n4"}) {
    world().Must(SetProviderAggregates{
        world().provider(node), world().generation(node), {world().aggregate("racks")}});
  }
  if (dice_.Chance(30)) world().Add("lone{VCPU:2}");
  // Nodes may only leave hosts whose trackers are down.
  for (int host = 1; host <= 4 && dice_.Chance(50); ++host) {
    EXPECT_EQ(fleet_.Mark(absl::StrCat("h", host), host, false), "OK");
  }
  while (world().state().records().groups().size() < 3) (void)world().Do(SetGroup());
}

std::string GroupCommands::AnyConsumer() {
  return dice_.Chance(80) ? absl::StrCat("i", dice_.Roll(6)) : absl::StrCat("m", dice_.Roll(3));
}

std::string GroupCommands::AnyHolding() {
  const std::vector<std::string> rows = {"n1{VCPU:1}",     "n1b{VCPU:1}", "n2{VCPU:1}",
                                         "n2-gpu{VGPU:1}", "n3{VCPU:1}",  "n4{VCPU:2}",
                                         "pool{DISK_GB:3}"};
  const std::string first = dice_.Pick(rows);
  const std::string second = dice_.Pick(rows);
  if (dice_.Chance(10)) return "";
  return first == second || dice_.Chance(80) ? first : absl::StrCat(first, " ", second);
}

InstanceRecord GroupCommands::Record(InstanceId id) {
  InstanceRecord record;
  record.id = id;
  record.name = "guest";
  record.project = dice_.Chance(97) ? "project" : "another";
  record.user = "user";
  record.vm_state = "active";
  if (dice_.Chance(80)) record.group = Group(dice_.Roll(3));
  return record;
}

CommandBody GroupCommands::SetRecord() {
  const InstancePtr before = world().state().records().FindInstance(AnyInstance());
  InstanceRecord record = before == nullptr ? Record(AnyInstance()) : *before;
  const InstancePtr present = world().state().records().FindInstance(record.id);
  if (dice_.Chance(60)) {
    const NodeRecordPtr node = *world().state().nodes().Find(AnyNode());
    record.host = node->host;
    record.node = node->id;
  } else if (dice_.Chance(50)) {
    record.host.clear();
    record.node.reset();
  }
  if (dice_.Chance(30)) {
    record.vm_state = dice_.Pick<std::string>({"active", "deleted", "shelved_offloaded", "active"});
  }
  if (dice_.Chance(20)) record.task_state = dice_.Chance(50) ? "spawning" : "";
  if (dice_.Chance(15)) record.group = Record(record.id).group;
  return SetInstance{record, GenerationOf(present)};
}

CommandBody GroupCommands::SetGroup() {
  ServerGroup group;
  group.id = Group(dice_.Roll(3));
  group.project = "project";
  group.user = "user";
  const int roll = dice_.Roll(10);
  group.policy = roll < 4   ? ServerGroupPolicy::kAntiAffinity
                 : roll < 8 ? ServerGroupPolicy::kAffinity
                 : roll < 9 ? ServerGroupPolicy::kSoftAffinity
                            : ServerGroupPolicy::kSoftAntiAffinity;
  if (IsAntiAffinity(group.policy) && dice_.Chance(60)) {
    group.max_server_per_host = 1 + dice_.Roll(2);
  }
  return SetServerGroup{group, GenerationOf(FindGroup(world().state().records(), group.id))};
}

CommandBody GroupCommands::ChangeMembers() {
  UpdateServerGroupMembers command{Group(dice_.Roll(3)), {}, {}};
  for (int i = 0; i < 6; ++i) {
    const InstanceId id{world().consumer(absl::StrCat("i", i)).uuid};
    const int roll = dice_.Roll(10);
    if (roll < 2) command.add.push_back(id);
    if (roll == 2) command.remove.push_back(id);
  }
  return command;
}

CommandBody GroupCommands::Allocate() {
  SetAllocations command;
  command.consumers.push_back(world().Claim(AnyConsumer(), AnyHolding()));
  if (dice_.Chance(40)) {
    const std::string other = AnyConsumer();
    if (world().consumer(other) != command.consumers[0].consumer) {
      command.consumers.push_back(world().Claim(other, AnyHolding()));
    }
  }
  return command;
}

// The same amounts, by the calls that also change providers.
CommandBody GroupCommands::AllocateAnew() {
  auto consumers = std::get<SetAllocations>(Allocate()).consumers;
  const char* const node = dice_.Chance(50) ? "n3" : "n4";
  const ProviderPlace place = world().place(node);
  NamedInventory vcpu;
  vcpu.resource_class = "VCPU";
  vcpu.inventory = place.config().inventories[0].inventory;
  if (dice_.Chance(50)) {
    return Reshape{{{place.config().id,
                     world().generation(node),
                     world().allocation_generation(node),
                     {vcpu}}},
                   std::move(consumers)};
  }
  ApplyTopology command;
  command.providers.push_back({place.config().id, world().generation(node), std::nullopt,
                               std::nullopt, std::nullopt, std::nullopt, std::nullopt,
                               std::nullopt});
  command.consumers = std::move(consumers);
  return command;
}

CommandBody GroupCommands::Adjust() {
  const std::string consumer = AnyConsumer();
  return AdjustAllocations{world().consumer(consumer),
                           world().consumer_generation(consumer),
                           {{AnyNode(), {{"VCPU", dice_.Chance(70) ? 1 : -1}}}}};
}

CommandBody GroupCommands::Place() {
  const std::vector<std::string> queries = {"r VCPU:1",           "r VCPU:1",       "r VCPU:2",
                                            "r VCPU:1,DISK_GB:2", "r VCPU:1 t n1b", "r VCPU:1 t n3",
                                            "r VCPU:1 r.1 VGPU:1"};
  PlaceClaims claims;
  const int first = dice_.Roll(6);
  const int count = dice_.Chance(50) ? 1 : 2 + dice_.Roll(2);
  for (int m = 0; m < count; ++m) {
    const bool is_move = dice_.Chance(10);
    const std::string name = is_move ? absl::StrCat("m", m) : absl::StrCat("i", (first + m) % 6);
    ClaimMember member = Member(world(), name, dice_.Pick(queries));
    const InstanceId id{member.consumer.uuid};
    if (!is_move && (world().state().records().FindInstance(id) == nullptr || dice_.Chance(3))) {
      member.instance = std::make_shared<const InstanceRecord>(Record(id));
      member.project = member.instance->project;
    }
    claims.members.push_back(std::move(member));
  }
  claims.affinity = static_cast<MemberAffinity>(dice_.Chance(50) ? 0 : dice_.Roll(3));
  return claims;
}

CommandBody GroupCommands::BeginMove() {
  MigrationRecord record;
  record.id = AnyMigration();
  record.instance = AnyInstance();
  record.type = static_cast<MigrationType>(1 + dice_.Roll(kMigrationTypeMax));
  const InstancePtr instance = world().state().records().FindInstance(record.instance);
  const bool is_there = instance != nullptr && !instance->host.empty() && dice_.Chance(90);
  record.source_host = is_there ? instance->host : AnyHost();
  if (dice_.Chance(70)) record.destination_host = AnyHost();
  return CreateMigration{record};
}

CommandBody GroupCommands::GoOnWithMove() {
  const MigrationPtr move = world().state().records().FindMigration(AnyMigration());
  if (move == nullptr) return BeginMove();
  UpdateMigration command{move->id, move->status, "", {}, {}};
  if (dice_.Chance(60)) {
    command.status = dice_.Pick<std::string>(
        {"migrating", "finished", "error", "failed", "done", "running", "completed", "cancelled"});
  }
  if (dice_.Chance(40)) command.destination_host = dice_.Chance(85) ? AnyHost() : "";
  return command;
}

CommandBody GroupCommands::EndAMove() {
  const MigrationPtr move = world().state().records().FindMigration(AnyMigration());
  if (move == nullptr) return BeginMove();
  const InstancePtr instance = world().state().records().FindInstance(move->instance);
  EndMove command;
  command.migration = move->id;
  command.end = static_cast<MoveEnd>(1 + dice_.Roll(6));
  command.expected_generation = move->generation;
  command.expected_instance_generation = GenerationOf(instance);
  if (dice_.Chance(70) && instance != nullptr) {
    InstanceRecord after = *instance;
    after.host = dice_.Chance(50)   ? move->destination_host
                 : dice_.Chance(80) ? move->source_host
                                    : AnyHost();
    after.node.reset();
    command.instance = std::make_shared<const InstanceRecord>(std::move(after));
  }
  return command;
}

CommandBody GroupCommands::WriteOfTracker() {
  const InstanceId id = AnyInstance();
  const InstancePtr instance = world().state().records().FindInstance(id);
  if (instance == nullptr) return SetRecord();
  const NodeRecordPtr node = *world().state().nodes().Find(AnyNode());
  auto written = std::make_shared<v1::Instance>(*CpuWrite(node->host, node->id, ""));
  written->set_vm_state(dice_.Chance(80) ? "active" : "shelved_offloaded");
  const TrackerProcess tracker{node->host, FleetWorld::Process(node->host[1] - '0')};
  return WriteRecords{tracker, node->id, id, instance->generation, written, std::nullopt};
}

CommandBody GroupCommands::Release() {
  const InstanceId id = AnyInstance();
  switch (dice_.Roll(5)) {
    case 0:
      return DeleteInstance{id, std::nullopt, "", dice_.Chance(60)};
    case 1:
      return ReleaseConsumers{{{ConsumerId{id.uuid}, std::nullopt}}};
    case 2:
      return DeleteServerGroup{Group(dice_.Roll(3)), std::nullopt};
    default:
      return DeleteAllocations{world().consumer(AnyConsumer()), std::nullopt};
  }
}

CommandBody GroupCommands::MoveANode() {
  const NodeRecordPtr node = *world().state().nodes().Find(AnyNode());
  return MoveNode{node->id, node->host, AnyHost(), std::nullopt};
}

CommandBody GroupCommands::Draw() {
  const int roll = dice_.Roll(100);
  if (roll < 14) return SetRecord();
  if (roll < 22) return SetGroup();
  if (roll < 28) return ChangeMembers();
  if (roll < 38) return Allocate();
  if (roll < 42) return AllocateAnew();
  if (roll < 47) return Adjust();
  if (roll < 75) return Place();
  if (roll < 80) return BeginMove();
  if (roll < 85) return GoOnWithMove();
  if (roll < 89) return EndAMove();
  if (roll < 92) return WriteOfTracker();
  if (roll < 98) return Release();
  return MoveANode();
}

}  // namespace berth::placement
