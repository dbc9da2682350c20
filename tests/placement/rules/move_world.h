// MoveWorld: three hosts with a node each, whose trackers are registered, and an instance `vm` that
// moves from the first to the second.
//
// The nodes are n1 of host h1, with two children n1-gpu and n1-gpu2, n2 of host h2, and n3 of host
// h3. The provider `pool` belongs to no node. The migration is `move`. Answers are "OK", or the reason of the refusal and the field or, without a field, the kind of the
// record at fault. A refusal changes nothing, which each call checks. Not thread-safe.
#ifndef BERTH_TESTS_PLACEMENT_RULES_MOVE_WORLD_H_
#define BERTH_TESTS_PLACEMENT_RULES_MOVE_WORLD_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/values/move_end.h"
#include "placement/values/refusal.h"
#include "tests/worlds/fleet_world.h"

namespace berth::placement {

class MoveWorld {
 public:
  MoveWorld() {
    EXPECT_EQ(fleet.Register("h1", 1, "machine-1"), "OK");
    EXPECT_EQ(fleet.Register("h2", 2, "machine-2"), "OK");
    EXPECT_EQ(fleet.Register("h3", 3, "machine-3"), "OK");
    EXPECT_EQ(fleet.Report("h1", 1, "n1{VCPU:8}\n  n1-gpu{VGPU:8}\n  n1-gpu2{VGPU:8}", 1), "OK");
    EXPECT_EQ(fleet.Report("h2", 2, "n2{VCPU:8}", 1), "OK");
    EXPECT_EQ(fleet.Report("h3", 3, "n3{VCPU:8}", 1), "OK");
    world().Add("pool{DISK_GB:100}");
  }

  FleetWorld fleet;
  Outcome last;  // of the last call that succeeded
  World& world() { return fleet.world; }

  InstanceId vm() { return InstanceId{world().consumer("vm").uuid}; }
  MigrationId move() { return MigrationId{world().consumer("move").uuid}; }
  InstancePtr Instance() { return world().state().records().FindInstance(vm()); }
  MigrationPtr Migration() { return world().state().records().FindMigration(move()); }

  static TrackerProcess Tracker(int number) {
    return {absl::StrCat("h", number), FleetWorld::Process(number)};
  }

  // A record of the instance on host `host`; 0: on no host.
  InstanceRecord On(int host) {
    InstanceRecord record;
    record.id = vm();
    record.name = "guest";
    record.project = "project";
    record.user = "user";
    if (host > 0) {
      record.host = absl::StrCat("h", host);
      record.node = world().provider(absl::StrCat("n", host));
    }
    record.vm_state = "active";
    record.body = absl::StrCat("\xc2\x0c\x01", host);  // a field that no release knows
    return record;
  }

  // The instance is on h1, holds `source` there, and begins to move to h2. `divided`: the migration
  // gets the part of the source, and the instance the part of the destination, in one step (T-221).
  // Otherwise the instance holds both.
  void Begin(MigrationType type, bool divided = true,
             const std::string& source = "n1{VCPU:2} n1-gpu{VGPU:1}",
             const std::string& destination = "n2{VCPU:3}") {
    ASSERT_EQ(Answer(SetInstance{On(1), std::nullopt}), "OK");
    Hold("vm", source);
    if (divided) {
      const ConsumerAllocations moved = world().Claim("move", source);
      world().Must(SetAllocations{{moved, world().Claim("vm", destination)}, false});
    } else {
      Hold("vm", absl::StrCat(source, " ", destination));
    }
    ASSERT_EQ(Answer(CreateMigration{Move(type, 1, 2)}), "OK");
  }
  // Puts `pool` below n1, from where it serves all nodes.
  void SharePool() {
    const ProviderId pool = world().provider("pool");
    world().Must(UpdateProvider{pool, {}, {{world().provider("n1")}}, {}});
    world().Must(
        SetProviderTraits{pool, world().generation("pool"), {"MISC_SHARES_VIA_AGGREGATE"}});
  }
  // Lets all nodes use what the root itself has.
  void ShareRoot(const std::string& root = "n1") {
    world().Must(SetProviderTraits{world().provider(root),
                                   world().generation(root),
                                   {"MISC_SHARES_VIA_AGGREGATE", "OWNER_NOVA"}});
  }
  // Gives the node of `host` disk, and lets all nodes use what its root has.
  void ShareDisk(int host) {
    const std::string root = absl::StrCat("n", host);
    const char* children = host == 1 ? "\n  n1-gpu{VGPU:8}\n  n1-gpu2{VGPU:8}" : "";
    EXPECT_EQ(fleet.Report(absl::StrCat("h", host), host,
                           absl::StrCat(root, "{VCPU:8, DISK_GB:100}", children), 2),
              "OK");
    ShareRoot(root);
  }
  // The record of the migration, from one host to another with their nodes. 0: the destination is
  // not known yet.
  MigrationRecord Move(MigrationType type, int from, int to) {
    MigrationRecord record;
    record.id = move();
    record.instance = vm();
    record.type = type;
    record.source_host = absl::StrCat("h", from);
    record.source_node = world().provider(absl::StrCat("n", from));
    if (to > 0) {
      record.destination_host = absl::StrCat("h", to);
      record.destination_node = world().provider(absl::StrCat("n", to));
    }
    return record;
  }
  // Afterwards the consumer holds what `claim` says; nothing if `claim` is empty.
  void Hold(const char* consumer, const std::string& claim) {
    world().Must(SetAllocations{{world().Claim(consumer, claim)}, false});
  }
  // The same for a consumer of this project.
  void HoldFor(const char* consumer, const std::string& claim, const char* project) {
    ConsumerAllocations wanted = world().Claim(consumer, claim);
    wanted.project = project;
    world().Must(SetAllocations{{wanted}, false});
  }
  void SetStatus(const std::string& status) {
    ASSERT_EQ(Answer(UpdateMigration{move(), Migration()->status, status, {}, {}}), "OK");
  }

  // The command with the present generations. `host`: where the instance is afterwards; -1: its
  // record stays.
  EndMove End(MoveEnd end, int host = -1) {
    EndMove command;
    command.migration = move();
    command.end = end;
    command.expected_generation = Migration()->generation;
    command.expected_instance_generation = Instance()->generation;
    if (host >= 0) command.instance = std::make_shared<const InstanceRecord>(On(host));
    return command;
  }

  // What the consumer holds, as "n1{VCPU:2} n1-gpu{VGPU:1}", rising by id.
  std::string Held(const char* consumer) {
    const ConsumerPtr found = world().state().FindConsumer(world().consumer(consumer));
    if (found == nullptr) return "";
    std::string text;
    for (const Allocation& row : found->allocations) {
      const auto place = world().state().FindProvider(row.provider);
      absl::StrAppend(&text, text.empty() ? "" : " ", place->config().name, "{",
                      world().state().catalog().classes.NameOf(row.resource_class), ":", row.amount,
                      "}");
    }
    return text;
  }

  std::string Answer(CommandBody body) {
    const std::string before = world().Text();
    absl::StatusOr<Outcome> outcome = world().Do(std::move(body));
    if (outcome.ok()) {
      last = *std::move(outcome);
      return "OK";
    }
    EXPECT_EQ(world().Text(), before) << "a refusal changed something";
    const std::optional<Refusal> refusal = RefusalOf(outcome.status());
    if (!refusal) return outcome.status().ToString();
    std::string words = refusal->reason;
    if (refusal->items.empty()) return words;
    const FaultItem& item = refusal->items[0];
    if (item.contains("field")) return absl::StrCat(words, " ", item.at("field"));
    for (const char* kind : {"instance", "migration", "server_group"}) {
      if (item.contains(kind)) absl::StrAppend(&words, " ", kind);
    }
    return words;
  }
};

}  // namespace berth::placement

#endif  // BERTH_TESTS_PLACEMENT_RULES_MOVE_WORLD_H_
