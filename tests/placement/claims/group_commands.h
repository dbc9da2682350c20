// GroupCommands: a small world of hosts, instances and server groups, and random commands over it of
// all kinds that place, move, release or delete a member, or change who is one.
//
// Host h1 has the nodes n1 and n1b, h2 has n2 with a child, h3 has n3 and h4 has n4. The sharing
// provider `pool` serves all of them, and `lone` is a root that is no node's. Drawn from a seed.
#ifndef BERTH_TESTS_PLACEMENT_CLAIMS_GROUP_COMMANDS_H_
#define BERTH_TESTS_PLACEMENT_CLAIMS_GROUP_COMMANDS_H_

#include <optional>
#include <string>
#include <vector>

#include "placement/commands/command.h"
#include "tests/worlds/fleet_world.h"
#include "tests/worlds/random_requests.h"

namespace berth::placement {

class GroupCommands {
 public:
  explicit GroupCommands(uint64_t seed);

  World& world() { return fleet_.world; }
  Dice& dice() { return dice_; }
  static ServerGroupId Group(int number) {
    return ServerGroupId{Uuid{13, static_cast<uint64_t>(number) + 1}};
  }

  // A command that may be refused for any reason. A PlaceClaims has no choices yet.
  CommandBody Draw();

 private:
  InstanceId AnyInstance() {
    return InstanceId{world().consumer("i" + std::to_string(dice_.Roll(6))).uuid};
  }
  MigrationId AnyMigration() {
    return MigrationId{world().consumer("m" + std::to_string(dice_.Roll(3))).uuid};
  }
  std::string AnyHost() { return "h" + std::to_string(1 + dice_.Roll(4)); }
  ProviderId AnyNode() {
    return world().provider(dice_.Pick<std::string>({"n1", "n1b", "n2", "n3", "n4"}));
  }
  // The name of a consumer: mostly that of an instance.
  std::string AnyConsumer();
  std::string AnyHolding();
  InstanceRecord Record(InstanceId id);

  CommandBody SetRecord();
  CommandBody SetGroup();
  CommandBody ChangeMembers();
  CommandBody Allocate();
  CommandBody AllocateAnew();
  CommandBody Adjust();
  CommandBody Place();
  CommandBody BeginMove();
  CommandBody GoOnWithMove();
  CommandBody EndAMove();
  CommandBody WriteOfTracker();
  CommandBody Release();
  CommandBody MoveANode();

  Dice dice_;
  FleetWorld fleet_;
};

}  // namespace berth::placement

#endif  // BERTH_TESTS_PLACEMENT_CLAIMS_GROUP_COMMANDS_H_
