// Change: the effect of one command on one entity, given as the entity's state after the command
// (an after-image).
//
// The log holds the changes of each command in order. Applying these changes to the state before
// the command gives the state after it. Processes exchange nothing else. So a change carries
// everything that a follower needs, and nothing that a follower can derive.
//
// The changes of every command come in the order below and describe the state after the whole
// command. The states between two changes of one command need not make sense. Example: two
// providers that swap their names have the same name in between.
//   1. ClassPut, TraitPut
//   2. ProviderPut, parents before their children
//   3. ConsumerRemoved, then ConsumerPut
//   4. ProviderUsed: for each provider whose allocation rows changed, one amount for each inventory
//      of its final configuration
//   5. ProviderRemoved, children before their parents
//   6. ClassRemoved, TraitRemoved
//   7. ServicePut, ServiceRemoved, NodePut, NodeRemoved
//   8. AggregatePut, AggregateRemoved, ServerGroupPut; no two aggregates have one name in between
//   9. MigrationRemoved
//   10. InstanceRemoved, then InstancePut
//   11. MigrationPut
//   12. ServerGroupRemoved
//   13. FormatRaised
// No command raises a counter by more than 1. So a generation never exceeds the number of commands,
// and an entity that is made again starts above all generations that it had before (D-39).
//
// This file has the only list of the kinds of changes and of the kinds of entities. Code that
// handles changes of all kinds visits them with EachKind, which has no catch-all. Code that handles
// entities of all kinds switches over EntityKind without a default. So a new kind does not compile
// until each of these places handles it: the state and its order of changes, the scope of a command
// and whom it concerns, the stored log, the tables (write, load, self-check), the loss of a
// restored database, Watch and its snapshots, export and import, and the tests' models.
#ifndef BERTH_PLACEMENT_VALUES_CHANGE_H_
#define BERTH_PLACEMENT_VALUES_CHANGE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "placement/values/aggregate.h"
#include "placement/values/consumer.h"
#include "placement/values/fleet.h"
#include "placement/values/instance.h"
#include "placement/values/provider.h"
#include "placement/values/server_group.h"

namespace berth::placement {

// The newest format of log rows that this release reads and writes.
inline constexpr int kLogFormat = 1;

// The kinds of entities. An entity refers only to entities of kinds that are listed before its own
// kind, so they can be made in this order.
enum class EntityKind {
  kResourceClass,
  kTrait,
  kProvider,
  kProviderUsage,
  kConsumer,
  kService,
  kNode,
  kAggregate,
  kServerGroup,
  kInstance,
  kMigration,
};
inline constexpr int kEntityKindCount = static_cast<int>(EntityKind::kMigration) + 1;  // the last
// Each kind of change has a constant kEntity of this type: the kind of the entity that changes, or
// none.
using EntityOfChange = std::optional<EntityKind>;

// A provider was made, or its configuration changed. A class that the configuration keeps also
// keeps its use, and the use of a new class is 0. The allocation generation of a new provider is
// config->generation.
struct ProviderPut {
  static constexpr EntityOfChange kEntity = EntityKind::kProvider;
  std::shared_ptr<const ProviderConfig> config;
};
struct ProviderRemoved {
  static constexpr EntityOfChange kEntity = EntityKind::kProvider;
  ProviderId id;
};
// The allocations of a provider changed. `used` is the new use of each inventory of the provider,
// in order of class id.
struct ProviderUsed {
  static constexpr EntityOfChange kEntity = EntityKind::kProviderUsage;
  ProviderId id;
  Generation allocation_generation;
  std::vector<ClassAmount> used;
};
struct ConsumerPut {
  static constexpr EntityOfChange kEntity = EntityKind::kConsumer;
  ConsumerPtr consumer;
};
struct ConsumerRemoved {
  static constexpr EntityOfChange kEntity = EntityKind::kConsumer;
  ConsumerId id;
};
struct ClassPut {
  static constexpr EntityOfChange kEntity = EntityKind::kResourceClass;
  ClassId id{};
  std::string name;
};
struct ClassRemoved {
  static constexpr EntityOfChange kEntity = EntityKind::kResourceClass;
  ClassId id{};
};
struct TraitPut {
  static constexpr EntityOfChange kEntity = EntityKind::kTrait;
  TraitId id{};
  std::string name;
};
struct TraitRemoved {
  static constexpr EntityOfChange kEntity = EntityKind::kTrait;
  TraitId id{};
};
struct ServicePut {
  static constexpr EntityOfChange kEntity = EntityKind::kService;
  std::shared_ptr<const ServiceRecord> service;
};
struct ServiceRemoved {
  static constexpr EntityOfChange kEntity = EntityKind::kService;
  std::string host;
  std::string binary;
};
// A node was made, or its record changed. If node->facts is null, the node keeps the facts that it
// has. So a report about a guest, which changes the account only, does not repeat the facts, which
// may have 1 MiB.
struct NodePut {
  static constexpr EntityOfChange kEntity = EntityKind::kNode;
  std::shared_ptr<const NodeRecord> node;
};
struct NodeRemoved {
  static constexpr EntityOfChange kEntity = EntityKind::kNode;
  ProviderId id;
};
struct AggregatePut {
  static constexpr EntityOfChange kEntity = EntityKind::kAggregate;
  AggregatePtr aggregate;
};
struct AggregateRemoved {
  static constexpr EntityOfChange kEntity = EntityKind::kAggregate;
  AggregateId id;
};
struct ServerGroupPut {
  static constexpr EntityOfChange kEntity = EntityKind::kServerGroup;
  ServerGroupPtr group;
};
struct ServerGroupRemoved {
  static constexpr EntityOfChange kEntity = EntityKind::kServerGroup;
  ServerGroupId id;
};
struct InstancePut {
  static constexpr EntityOfChange kEntity = EntityKind::kInstance;
  InstancePtr instance;
};
struct InstanceRemoved {
  static constexpr EntityOfChange kEntity = EntityKind::kInstance;
  InstanceId id;
};
struct MigrationPut {
  static constexpr EntityOfChange kEntity = EntityKind::kMigration;
  MigrationPtr migration;
};
struct MigrationRemoved {
  static constexpr EntityOfChange kEntity = EntityKind::kMigration;
  MigrationId id;
};
// From this log row on, the log may hold rows in `format`, which older releases cannot read.
struct FormatRaised {
  static constexpr EntityOfChange kEntity = std::nullopt;
  int format = 0;
};

using Change =
    std::variant<ProviderPut, ProviderRemoved, ProviderUsed, ConsumerPut, ConsumerRemoved, ClassPut,
                 ClassRemoved, TraitPut, TraitRemoved, ServicePut, ServiceRemoved, NodePut,
                 NodeRemoved, AggregatePut, AggregateRemoved, ServerGroupPut, ServerGroupRemoved,
                 InstancePut, InstanceRemoved, MigrationPut, MigrationRemoved, FormatRaised>;
using Changes = std::vector<Change>;

// A visitor that is made of one function for each kind of change: std::visit(EachKind{...},
// change).
template <typename... Functions>
struct EachKind : Functions... {
  using Functions::operator()...;
};
template <typename... Functions>
EachKind(Functions...) -> EachKind<Functions...>;

// A function for EachKind that does nothing for changes of these kinds.
template <typename Kind>
struct IgnoreKind {
  void operator()(const Kind&) const {}
};
template <typename... Kinds>
struct Ignore : IgnoreKind<Kinds>... {
  using IgnoreKind<Kinds>::operator()...;
};

// Whether each kind of entity has changes, and the changes name no other kinds.
template <typename... Kinds>
constexpr bool NameEachEntityKind(const std::variant<Kinds...>*) {
  uint64_t named = 0;
  ((named |= Kinds::kEntity ? uint64_t{1} << static_cast<int>(*Kinds::kEntity) : 0), ...);
  return named == (uint64_t{1} << kEntityKindCount) - 1;
}
static_assert(NameEachEntityKind(static_cast<const Change*>(nullptr)));

// Calls visit(kind) for each kind of entity, in the order of EntityKind.
template <typename Visit>
void ForEachEntityKind(Visit visit) {
  for (int kind = 0; kind < kEntityKindCount; ++kind) visit(static_cast<EntityKind>(kind));
}

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_VALUES_CHANGE_H_
