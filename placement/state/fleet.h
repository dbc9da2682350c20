// Fleet: services, and the nodes that they manage.
//
// A part of State, and a value like it: a copy costs a few pointers. Any thread may call const
// members; only the owner of an unpublished state calls the others.
//
// Invariant: a node is in retired_nodes_ and in stale_nodes_ if and only if the comments of
// IsRetired and IsStale say so. Few nodes of a healthy fleet are in these sets, so that a search may
// ask for each root.
#ifndef BERTH_PLACEMENT_STATE_FLEET_H_
#define BERTH_PLACEMENT_STATE_FLEET_H_

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "placement/state/host_index.h"
#include "placement/state/persistent_map.h"
#include "placement/values/fleet.h"
#include "placement/values/types.h"

namespace berth::placement {

class Fleet {
 public:
  using ServiceKey = std::pair<std::string, std::string>;  // host and binary

  // In order of keys.
  const PersistentMap<ServiceKey, ServicePtr>& services() const { return services_; }
  const PersistentMap<ProviderId, NodeRecordPtr>& nodes() const { return nodes_; }
  ServicePtr FindServiceById(Uuid id) const;
  std::vector<NodeRecordPtr> NodesOf(absl::string_view host) const;

  // Whether `root` is the root of a retired node (T-40).
  bool IsRetired(ProviderId root) const { return retired_nodes_.Find(root) != nullptr; }
  // Whether the data of the node of `root` may be out of date: the service of the node's tracker is
  // down, or no report about the node was applied yet. False if `root` has no node.
  bool IsStale(ProviderId root) const { return stale_nodes_.Find(root) != nullptr; }

  // Inserts the record, or replaces the one with the same key. A node without facts keeps those
  // that it has.
  void Put(const ServicePtr& service);
  void Put(NodeRecordPtr node);
  // Removes the record. REQUIRES: it is present.
  void RemoveService(const ServiceKey& key);
  void RemoveNode(ProviderId id);

 private:
  using NodeSet = PersistentMap<ProviderId, std::monostate>;

  void Mark(const NodeRecord& node);
  void MarkNodesOf(absl::string_view host);

  PersistentMap<ServiceKey, ServicePtr> services_;
  PersistentMap<Uuid, ServicePtr> services_by_id_;  // the records of services_
  PersistentMap<ProviderId, NodeRecordPtr> nodes_;
  HostIndex<ProviderId> nodes_by_host_;  // the ids of nodes_
  NodeSet retired_nodes_;
  NodeSet stale_nodes_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STATE_FLEET_H_
