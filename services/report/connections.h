// Connections: which trackers' streams are open in this process, and which stream owns which
// service and which nodes.
//
// A stream is opened, after its Hello it may be attached to its service, and at the end it is
// closed. Not thread-safe: ReportSessions guards the Connections with a lock, which it takes before
// the lock of any stream.
//
// Invariants:
//   1. A service or a node has at most one owner, and the owner is an open stream.
//   2. A stream that owns a node also owns the service that the stream's Hello named.
//   3. A stream that was replaced as the owner of its service never owns anything again.
#ifndef BERTH_SERVICES_REPORT_CONNECTIONS_H_
#define BERTH_SERVICES_REPORT_CONNECTIONS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "placement/log/feed.h"
#include "services/report/liveness.h"

namespace berth::services {

// A tracker's stream, as Connections and ReportSessions use it. Implementations are thread-safe. No
// method waits for a peer or for the ledger, and none takes the lock that guards the Connections.
class TrackerStream {
 public:
  virtual ~TrackerStream() = default;

  // The service and the process that the Hello named. REQUIRES: a Hello came.
  virtual const Liveness::Key& key() const = 0;
  virtual placement::Uuid incarnation() const = 0;
  // Whether End was called, or the tracker has gone.
  virtual bool ended() const = 0;

  // Touch notes that a committed command concerns the stream's host or one of its nodes. It returns
  // how many times it has looked at a change. TouchAll notes that anything may have changed.
  virtual int64_t Touch(const placement::FeedCommand& command) = 0;
  virtual void TouchAll() = 0;
  // Tries again to send the pushes that could not be sent because no worker was free.
  virtual void Tick() = 0;

  virtual void OrderSnapshot(placement::ProviderId node) = 0;
  virtual void OrderAudit(const std::string& order_id, placement::ProviderId node) = 0;
  // Ends the stream after the message that is being sent now. A second call has no effect.
  virtual void End(const absl::Status& status) = 0;
};
using TrackerStreamPtr = std::shared_ptr<TrackerStream>;

class Connections {
 public:
  using Nodes = std::vector<placement::ProviderId>;

  // What Attach did.
  struct Attached {
    bool is_owner = false;      // the stream now owns its service and the nodes
    TrackerStreamPtr replaced;  // owned the service until now: the caller ends it
    Nodes released;             // nodes that have no owner any more
  };

  void Open(const TrackerStreamPtr& stream);
  // Forgets the stream; returns the nodes that it owned.
  Nodes Close(const TrackerStreamPtr& stream);

  // Makes `stream` the owner of its service and of `nodes`, and of no other node. Does nothing if
  // the stream has ended or is not open, or if another stream of the same tracker process opened
  // later and owns the service.
  Attached Attach(const TrackerStreamPtr& stream, const Nodes& nodes);
  // Makes `stream` the owner of `node`, too. Does nothing if the stream has ended or does not own
  // its service.
  void Own(const TrackerStreamPtr& stream, placement::ProviderId node);

  // The stream that owns `node`; null if the node has no owner.
  TrackerStreamPtr OwnerOf(placement::ProviderId node) const;
  TrackerStreamPtr OwnerOf(const Liveness::Key& service) const;
  // The streams that own a node or the tracker's service of a host in `concerned`, each once.
  std::set<TrackerStreamPtr> OwnersOf(const placement::Concerned& concerned) const;
  // All owners of services.
  const std::map<Liveness::Key, TrackerStreamPtr>& owners() const { return by_service_; }
  std::vector<TrackerStreamPtr> open() const;

 private:
  struct Connection {
    TrackerStreamPtr stream;
    int64_t number = 0;                     // rises with each stream that opens
    std::optional<Liveness::Key> service;   // the service that the stream owns
    std::set<placement::ProviderId> nodes;  // the nodes that the stream owns
  };

  // Makes `connection` own no service and no node. Returns the nodes that it has owned.
  Nodes Release(Connection* connection);
  void Take(placement::ProviderId node, Connection* connection);

  int64_t last_number_ = 0;
  absl::flat_hash_map<const TrackerStream*, Connection> open_;
  std::map<Liveness::Key, TrackerStreamPtr> by_service_;
  absl::flat_hash_map<placement::ProviderId, TrackerStreamPtr> by_node_;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_CONNECTIONS_H_
