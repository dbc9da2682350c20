// Connections: which trackers' streams are open in this process, and which stream owns which
// service and which nodes.
//
// Open registers a stream, Attach gives the stream its service and its nodes, and Close forgets the
// stream. Not thread-safe: ReportSessions guards the Connections with its mutex_, which is taken
// before the lock of any stream.
//
// Invariants:
//   1. A service or a node has at most one owner, and the owner is an open stream.
//   2. A stream that owns a node also owns the service that the stream's Hello named.
//   3. A stream that has ended does not become an owner. The caller of Attach ends each stream that
//      was replaced as the owner of its service, so that it does not own anything again.
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
// method waits for the tracker or for the ledger, and none takes the lock that guards the
// Connections.
class TrackerStream {
 public:
  virtual ~TrackerStream() = default;

  // The service and the process that the stream's Hello named. REQUIRES: a Hello was accepted.
  virtual const Liveness::Key& key() const = 0;
  virtual placement::Uuid incarnation() const = 0;
  // Whether the stream has ended, or ends as soon as no message is being sent.
  virtual bool ended() const = 0;

  // Tells the stream of a committed command that concerns its host or one of its nodes. Returns how
  // many times it has looked at a change of the command.
  virtual int64_t Touch(const placement::FeedCommand& command) = 0;
  // To be called when anything may have changed. Asks for complete pushes of the tracker's nodes.
  virtual void TouchAll() = 0;
  // Tries again what the stream could not do when it called ReportSessions::TickLater.
  virtual void Tick() = 0;

  // Send an order to the tracker. The answer to OrderAudit, an AuditDone, repeats `order_id`.
  virtual void OrderSnapshot(placement::ProviderId node) = 0;
  virtual void OrderAudit(const std::string& order_id, placement::ProviderId node) = 0;
  // Ends the stream with `status` as soon as no message is being sent. Messages that wait are not
  // sent. Has no effect if ended().
  virtual void End(const absl::Status& status) = 0;
};
using TrackerStreamPtr = std::shared_ptr<TrackerStream>;

class Connections {
 public:
  using Nodes = std::vector<placement::ProviderId>;

  // What Attach did.
  struct Attached {
    bool is_owner = false;      // the stream now owns its service and the nodes
    TrackerStreamPtr replaced;  // owned the service until now: the caller ends it; null: none
    Nodes released;             // nodes that had an owner before Attach and have none now
  };

  // REQUIRES: the stream is not open.
  void Open(const TrackerStreamPtr& stream);
  // Forgets the stream, and returns the nodes that the stream owned. REQUIRES: the stream is open.
  Nodes Close(const TrackerStreamPtr& stream);

  // Makes `stream` the owner of its service and of `nodes`, in place of their present owners, and
  // of no other node. Does nothing if the stream has ended or is not open, or if another stream of
  // the same tracker process opened later and owns the service.
  Attached Attach(const TrackerStreamPtr& stream, const Nodes& nodes);
  // Makes `stream` the owner of `node`, too, in place of the node's present owner. Does nothing if
  // the stream has ended or owns no service.
  void Own(const TrackerStreamPtr& stream, placement::ProviderId node);

  // The stream that owns the node or the service; null if there is none.
  TrackerStreamPtr OwnerOf(placement::ProviderId node) const;
  TrackerStreamPtr OwnerOf(const Liveness::Key& service) const;
  // The streams that own a node of `concerned`, or the tracker's service (kTrackerBinary) of a host
  // of `concerned`; each stream once.
  std::set<TrackerStreamPtr> OwnersOf(const placement::Concerned& concerned) const;
  // The owner of each service that has one.
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
  // Makes `connection` the owner of `node`, in place of the node's present owner.
  void Take(placement::ProviderId node, Connection* connection);

  int64_t last_number_ = 0;
  absl::flat_hash_map<const TrackerStream*, Connection> open_;
  std::map<Liveness::Key, TrackerStreamPtr> by_service_;
  absl::flat_hash_map<placement::ProviderId, TrackerStreamPtr> by_node_;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_CONNECTIONS_H_
