// Change: what one command did to one entity, as the entity's state afterwards (an after-image).
//
// The log holds the changes of each command in order. Applying them to the state before the command
// gives the state after it. Processes exchange nothing else, so a change carries all that a
// follower needs, and nothing that a follower can derive.
//
// The changes of every command come in the order below and describe the state after the whole
// command. The states between two changes of one command need not make sense: for example, two
// providers that swap their names have the same name in between.
//   1. ClassPut, TraitPut
//   2. ProviderPut, parents before their children
//   3. ConsumerRemoved, then ConsumerPut
//   4. ProviderUsed: for each provider whose allocation rows changed, one amount for each inventory
//      of its final configuration
//   5. ProviderRemoved, children before their parents
//   6. ClassRemoved, TraitRemoved
//   7. ServicePut, ServiceRemoved, NodePut, NodeRemoved
//   8. FormatRaised
// No command raises a counter by more than 1. So a generation never exceeds the number of commands,
// and an entity that is made again starts above all generations that it had before (D-39).
#ifndef BERTH_PLACEMENT_VALUES_CHANGE_H_
#define BERTH_PLACEMENT_VALUES_CHANGE_H_

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "placement/values/consumer.h"
#include "placement/values/fleet.h"
#include "placement/values/provider.h"

namespace berth::placement {

// The newest format of log rows that this release reads and writes.
inline constexpr int kLogFormat = 1;

// A provider was made, or its configuration changed. The use of a class that stays is kept, and the
// use of a new class is 0. The allocation generation of a new provider is config->generation.
struct ProviderPut {
  std::shared_ptr<const ProviderConfig> config;
};
struct ProviderRemoved {
  ProviderId id;
};
// The allocations of a provider changed. `used` has the use of each of its inventories afterwards,
// by rising class id.
struct ProviderUsed {
  ProviderId id;
  Generation allocation_generation;
  std::vector<ClassAmount> used;
};
struct ConsumerPut {
  ConsumerPtr consumer;
};
struct ConsumerRemoved {
  ConsumerId id;
};
struct ClassPut {
  ClassId id{};
  std::string name;
};
struct ClassRemoved {
  ClassId id{};
};
struct TraitPut {
  TraitId id{};
  std::string name;
};
struct TraitRemoved {
  TraitId id{};
};
struct ServicePut {
  std::shared_ptr<const ServiceRecord> service;
};
struct ServiceRemoved {
  std::string host;
  std::string binary;
};
struct NodePut {
  std::shared_ptr<const NodeRecord> node;
};
struct NodeRemoved {
  ProviderId id;
};
// From this log row on, the log may hold rows in `format`, which older releases cannot read.
struct FormatRaised {
  int format = 0;
};

using Change = std::variant<ProviderPut, ProviderRemoved, ProviderUsed, ConsumerPut,
                            ConsumerRemoved, ClassPut, ClassRemoved, TraitPut, TraitRemoved,
                            ServicePut, ServiceRemoved, NodePut, NodeRemoved, FormatRaised>;
using Changes = std::vector<Change>;

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_VALUES_CHANGE_H_
