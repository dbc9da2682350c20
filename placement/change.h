// Change: what one command did to one entity, as the entity's state afterwards (an after-image).
//
// The log holds every command's changes in order; applying them in order to the state before gives
// the state after. Nothing else moves between processes, so a change carries all that a follower
// needs and nothing that it could derive.
#ifndef BERTH_PLACEMENT_CHANGE_H_
#define BERTH_PLACEMENT_CHANGE_H_

#include <string>
#include <variant>
#include <vector>

#include "placement/consumer.h"
#include "placement/fleet.h"
#include "placement/provider.h"

namespace berth::placement {

// A provider was made, or its configuration changed. The use of classes that stay is kept, new
// classes begin at 0.
struct ProviderPut {
  ProviderConfig config;
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
  Consumer consumer;
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
  ServiceRecord service;
};
struct ServiceRemoved {
  std::string host;
  std::string binary;
};
struct NodePut {
  NodeRecord node;
};
struct NodeRemoved {
  ProviderId id;
};

using Change = std::variant<ProviderPut, ProviderRemoved, ProviderUsed, ConsumerPut,
                            ConsumerRemoved, ClassPut, ClassRemoved, TraitPut, TraitRemoved,
                            ServicePut, ServiceRemoved, NodePut, NodeRemoved>;
using Changes = std::vector<Change>;

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_CHANGE_H_
