// ModelLedger: what commands do, in plain maps and in the most obvious way.
//
// Random tests drive it beside the rules and compare: the reasons of refusals, and everything that
// stands. It keeps nothing ready: use is summed from all rows, roots are found by walking up, each
// time anew. Knows all commands but those of the fleet. Not thread-safe.
#ifndef BERTH_TESTS_WORLDS_MODEL_LEDGER_H_
#define BERTH_TESTS_WORLDS_MODEL_LEDGER_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "placement/commands/command.h"
#include "placement/values/consumer.h"

namespace berth::placement {

// Reason of the first fault of form, or "".
std::string FormOf(const std::vector<NamedInventory>& inventories);
std::string FormOf(const std::vector<ConsumerAllocations>& consumers);
// Whether reserved and ratio are lawful.
bool Sound(const Inventory& inventory);
// What may be given away of it.
double RoomOf(const Inventory& inventory);

struct ModelLedger {
  struct Provider {
    std::string name;
    std::optional<ProviderId> parent;
    std::map<std::string, Inventory> inventories;
    std::set<std::string> traits;
    std::set<AggregateId> aggregates;
    Generation generation;
    Generation allocation_generation;
  };
  struct Consumer {
    Generation generation;
    Owner owner;
    std::map<std::pair<ProviderId, std::string>, Amount> rows;
    std::optional<absl::Time> lease_end;
  };

  std::set<std::string> classes;
  std::set<std::string> traits;
  std::map<ProviderId, Provider> providers;
  std::map<ConsumerId, Consumer> consumers;

  // The ledger time of what comes next.
  absl::Time now = absl::UnixEpoch();

  // "OK", or the reason of the refusal; `fresh` is the command's number. A refusal changes nothing.
  std::string Do(const CommandBody& body, Generation fresh);

  Amount Used(ProviderId provider, const std::string& resource_class) const;
  // What TextOf says of a state that holds the same.
  std::string Text() const;

 private:
  std::string Settle(const CreateProvider& command, Generation fresh);
  std::string Settle(const UpdateProvider& command, Generation fresh);
  std::string Settle(const DeleteProvider& command, Generation fresh);
  std::string Settle(const SetInventories& command, Generation fresh);
  std::string Settle(const CreateInventory& command, Generation fresh);
  std::string Settle(const UpdateInventory& command, Generation fresh);
  std::string Settle(const DeleteInventory& command, Generation fresh);
  std::string Settle(const SetProviderTraits& command, Generation fresh);
  std::string Settle(const ClearProviderTraits& command, Generation fresh);
  std::string Settle(const SetProviderAggregates& command, Generation fresh);
  std::string Settle(const CreateClass& command, Generation fresh);
  std::string Settle(const DeleteClass& command, Generation fresh);
  std::string Settle(const EnsureTrait& command, Generation fresh);
  std::string Settle(const DeleteTrait& command, Generation fresh);
  std::string Settle(const EnsureStandardNames& command, Generation fresh);
  std::string Settle(const SetAllocations& command, Generation fresh);
  std::string Settle(const DeleteAllocations& command, Generation fresh);
  std::string Settle(const AdjustAllocations& command, Generation fresh);
  std::string Settle(const ReleaseConsumers& command, Generation fresh);
  std::string Settle(const SetLease& command, Generation fresh);
  std::string Settle(const ExpireLeases& command, Generation fresh);
  std::string Settle(const PlaceClaims& command, Generation fresh);
  std::string Settle(const Reshape& command, Generation fresh);
  std::string Settle(const ApplyTopology& command, Generation fresh);

  // "" or the reason: the provider is there and at `expected`, where one is given.
  std::string Addressed(ProviderId id, std::optional<Generation> expected) const;
  bool NameTaken(const std::string& name, ProviderId by_other_than) const;
  // What is wrong with the parts of a topology, call by call; "" where nothing is.
  std::string NewRefusal(const ApplyTopology& command) const;
  std::string PresentRefusal(const ApplyTopology& command) const;
  std::string RemovalRefusal(const ApplyTopology& command) const;
  // The providers as the topology leaves them, without those it removes.
  std::map<ProviderId, Provider> After(const ApplyTopology& command, Generation fresh) const;
  bool IsBelowOrSelf(ProviderId id, ProviderId top) const;
  ProviderId RootOf(ProviderId id) const;
  std::string NameRefusal(const std::vector<ConsumerAllocations>& wanted) const;
  std::string RowRefusal(const std::vector<ConsumerAllocations>& wanted) const;
  void Replace(const std::vector<ConsumerAllocations>& wanted, Generation fresh);
  // The end of a command that moves inventories and allocations together: "OK", and the model is
  // `after` with `wanted` unless `validate_only`; else the reason why `wanted` does not fit there.
  std::string Become(ModelLedger after, const std::vector<ConsumerAllocations>& wanted,
                     bool validate_only, Generation fresh);
  // Of claims that find their own place: what is wrong with the queries, one after the other.
  std::string QueryRefusal(const PlaceClaims& command) const;
  // Finds `wanted` their places, each over what those before it took; whether all have one.
  bool PlaceEach(const PlaceClaims& command, std::optional<ProviderId> only,
                 std::vector<ConsumerAllocations>& wanted) const;
  bool HasRoomFor(const ClaimMember& member, ProviderId id,
                  const std::vector<ConsumerAllocations>& wanted) const;
  // How much of the class is held by consumers that are not `wanted`.
  Amount HeldByOthers(ProviderId provider, const std::string& resource_class,
                      const std::vector<ConsumerAllocations>& wanted) const;
};

}  // namespace berth::placement

#endif  // BERTH_TESTS_WORLDS_MODEL_LEDGER_H_
