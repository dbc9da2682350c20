#include "services/report/connections.h"

#include <utility>

#include "placement/ground/check.h"

namespace berth::services {

using placement::ProviderId;

void Connections::Open(const TrackerStreamPtr& stream) {
  const bool is_new =
      open_.try_emplace(stream.get(), Connection{stream, ++last_number_, {}, {}}).second;
  // A session is opened once, by the stream that owns it.
  BERTH_CHECK(is_new);
}

Connections::Nodes Connections::Close(const TrackerStreamPtr& stream) {
  const auto found = open_.find(stream.get());
  BERTH_CHECK(found != open_.end());  // the stream that opened it closes it, once
  Nodes released = Release(&found->second);
  open_.erase(found);
  return released;
}

Connections::Attached Connections::Attach(const TrackerStreamPtr& stream, const Nodes& nodes) {
  Attached result;
  const auto found = open_.find(stream.get());
  if (found == open_.end() || stream->ended()) return result;
  Connection& connection = found->second;
  const TrackerStreamPtr owner = OwnerOf(stream->key());
  if (owner != nullptr && owner != stream) {
    Connection& other = open_.at(owner.get());
    const bool same_process = owner->incarnation() == stream->incarnation();
    if (same_process && other.number > connection.number) return result;
    result.replaced = owner;
    result.released = Release(&other);
  } else {
    result.released = Release(&connection);
  }
  by_service_[stream->key()] = stream;
  connection.service = stream->key();
  for (const ProviderId node : nodes) Take(node, &connection);
  std::erase_if(result.released, [this](ProviderId node) { return by_node_.contains(node); });
  result.is_owner = true;
  return result;
}

void Connections::Own(const TrackerStreamPtr& stream, ProviderId node) {
  const auto found = open_.find(stream.get());
  if (found == open_.end() || !found->second.service || stream->ended()) return;
  Take(node, &found->second);
}

Connections::Nodes Connections::Release(Connection* connection) {
  if (const auto service = std::exchange(connection->service, std::nullopt)) {
    // by_service_ and by_node_ name the connections that have the service or the node.
    BERTH_CHECK(by_service_.erase(*service) == 1);
  }
  Nodes released;
  for (const ProviderId node : std::exchange(connection->nodes, {})) {
    BERTH_CHECK(by_node_.erase(node) == 1);
    released.push_back(node);
  }
  return released;
}

void Connections::Take(ProviderId node, Connection* connection) {
  TrackerStreamPtr& owner = by_node_[node];
  if (owner != nullptr) open_.at(owner.get()).nodes.erase(node);
  owner = connection->stream;
  connection->nodes.insert(node);
}

TrackerStreamPtr Connections::OwnerOf(ProviderId node) const {
  const auto found = by_node_.find(node);
  return found == by_node_.end() ? nullptr : found->second;
}

TrackerStreamPtr Connections::OwnerOf(const Liveness::Key& service) const {
  const auto found = by_service_.find(service);
  return found == by_service_.end() ? nullptr : found->second;
}

std::set<TrackerStreamPtr> Connections::OwnersOf(const placement::Concerned& concerned) const {
  std::set<TrackerStreamPtr> owners;
  const auto add = [&owners](TrackerStreamPtr owner) {
    if (owner != nullptr) owners.insert(std::move(owner));
  };
  for (const placement::NodeNews& news : concerned.nodes) add(OwnerOf(news.node));
  for (const placement::HostNews& news : concerned.hosts) {
    add(OwnerOf(Liveness::Key(news.host, placement::kTrackerBinary)));
  }
  return owners;
}

std::vector<TrackerStreamPtr> Connections::open() const {
  std::vector<TrackerStreamPtr> streams;
  for (const auto& [stream, connection] : open_) streams.push_back(connection.stream);
  return streams;
}

}  // namespace berth::services
