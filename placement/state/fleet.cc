#include "placement/state/fleet.h"

#include <memory>

#include "placement/ground/check.h"

namespace berth::placement {

ServicePtr Fleet::FindServiceById(Uuid id) const {
  const ServicePtr* found = services_by_id_.Find(id);
  return found == nullptr ? nullptr : *found;
}

std::vector<NodeRecordPtr> Fleet::NodesOf(absl::string_view host) const {
  std::vector<NodeRecordPtr> nodes;
  nodes_by_host_.ForEach(host, [&](ProviderId id) { nodes.push_back(*nodes_.Find(id)); });
  return nodes;
}

void Fleet::Put(const ServicePtr& service) {
  const ServiceKey key(service->host, service->binary);
  const ServicePtr* before = services_.Find(key);
  if (before != nullptr && (*before)->id != service->id) services_by_id_.Erase((*before)->id);
  services_.Put(key, service);
  services_by_id_.Put(service->id, service);
  MarkNodesOf(service->host);
}

void Fleet::Put(NodeRecordPtr node) {
  const NodeRecordPtr* before = nodes_.Find(node->id);
  if (before != nullptr && node->facts == nullptr) {
    auto whole = std::make_shared<NodeRecord>(*node);
    whole->facts = (*before)->facts;
    node = std::move(whole);
  }
  if (before == nullptr || (*before)->host != node->host) {
    if (before != nullptr) nodes_by_host_.Erase((*before)->host, node->id);
    nodes_by_host_.Put(node->host, node->id);
  }
  nodes_.Put(node->id, node);
  Mark(*node);
}

void Fleet::RemoveService(const ServiceKey& key) {
  const ServicePtr* before = services_.Find(key);
  BERTH_CHECK(before != nullptr);
  services_by_id_.Erase((*before)->id);
  services_.Erase(key);
  MarkNodesOf(key.first);
}

void Fleet::RemoveNode(ProviderId id) {
  const NodeRecordPtr* before = nodes_.Find(id);
  BERTH_CHECK(before != nullptr);
  nodes_by_host_.Erase((*before)->host, id);
  retired_nodes_.Erase(id);
  stale_nodes_.Erase(id);
  nodes_.Erase(id);
}

// Puts the node into the sets that it belongs to, and takes it out of the others.
void Fleet::Mark(const NodeRecord& node) {
  const ServicePtr* service = services_.Find(ServiceKey(node.host, kTrackerBinary));
  const bool up = service != nullptr && HoldsLease(**service);
  const auto mark = [&node](bool belongs, NodeSet& nodes) {
    if (belongs) {
      nodes.Put(node.id, {});
    } else {
      nodes.Erase(node.id);
    }
  };
  mark(node.retired, retired_nodes_);
  mark(!up || node.digest.empty(), stale_nodes_);
}

void Fleet::MarkNodesOf(absl::string_view host) {
  nodes_by_host_.ForEach(host, [this](ProviderId id) { Mark(**nodes_.Find(id)); });
}

}  // namespace berth::placement
