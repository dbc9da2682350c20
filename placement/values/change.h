// Change: what one command did to one entity, as the entity's state afterwards (an after-image).
//
// The log holds every command's changes in order; applying them to the state before gives the state
// after. Nothing else moves between processes, so a change carries all that a follower needs and
// nothing that it could derive.
//
// A command's changes stand in this order, whatever it is, and describe its end: half-way states
// (two names swapped, a class that vanishes while its rows move) need not make sense.
//   1. ClassPut, TraitPut
//   2. ProviderPut, parents before their children
//   3. ConsumerRemoved, then ConsumerPut
//   4. ProviderUsed: for each provider whose allocation rows changed, one amount for each inventory
//      of its final configuration
//   5. ProviderRemoved, children before their parents
//   6. ClassRemoved, TraitRemoved
//   7. ServicePut, ServiceRemoved, NodePut, NodeRemoved
//   8. FormatRaised
// No command raises one counter by more than 1, so a generation never exceeds the number of
// commands (D-39 rests on it).
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

// A provider was made, or its configuration changed. The use of classes that stay is kept, new
// classes begin at 0, and the allocation generation of a provider that was not there begins at
// config->generation.
struct ProviderPut {
  std::shared_ptr<const ProviderConfig> config;
};
struct ProviderRemoved {
  ProviderId id;
};
// A provider's allocation rows changed: its use per class afterwards, one for each of its
// inventories, by rising class id.
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
// From this row on, the log may hold what releases that do not know `format` cannot read.
struct FormatRaised {
  int format = 0;
};

using Change = std::variant<ProviderPut, ProviderRemoved, ProviderUsed, ConsumerPut,
                            ConsumerRemoved, ClassPut, ClassRemoved, TraitPut, TraitRemoved,
                            ServicePut, ServiceRemoved, NodePut, NodeRemoved, FormatRaised>;
using Changes = std::vector<Change>;

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_VALUES_CHANGE_H_
