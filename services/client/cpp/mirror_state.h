// View: all entities of the ledger at one revision. MirrorState: makes views of the messages of
// WatchService.Watch, and says what the next stream must ask for.
//
// Knows no gRPC call and no clock. A View never changes, so any thread may read it for as long as it
// likes. MirrorState is for one thread.
//
// Invariants of MirrorState:
//   1. view() is what the ledger held at view()->revision: never half a revision.
//   2. Messages that do not follow from each other never reach a view: after them a snapshot is
//      asked for.
//   3. A view is never older than the one before it.
#ifndef BERTH_SERVICES_CLIENT_CPP_MIRROR_STATE_H_
#define BERTH_SERVICES_CLIENT_CPP_MIRROR_STATE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "berth/placement/v1/entity.pb.h"
#include "berth/placement/v1/revision.pb.h"
#include "berth/placement/v1/watch.pb.h"
#include "services/client/cpp/entity_map.h"
#include "services/client/cpp/failure.h"

namespace berth::client {

// The messages are those of entity.proto; a node always has the facts that were sent last.
struct View {
  placement::v1::Revision revision;
  EntityMap<placement::v1::Provider> providers;
  EntityMap<placement::v1::ProviderUsage> usages;  // by provider
  EntityMap<placement::v1::Consumer> consumers;
  EntityMap<placement::v1::ResourceClass> classes;
  EntityMap<placement::v1::Trait> traits;
  EntityMap<placement::v1::Service> services;
  EntityMap<placement::v1::Node> nodes;
  EntityMap<placement::v1::Instance> instances;
  EntityMap<placement::v1::Migration> migrations;
  EntityMap<placement::v1::ServerGroup> server_groups;
  EntityMap<placement::v1::Aggregate> aggregates;  // those that have a name
};

// Kind and key of an entity.
using EntityName = std::pair<placement::v1::EntityKind, std::string>;

// What a complete revision changed.
struct ViewChange {
  std::shared_ptr<const View> before;  // null: `after` is the first view
  std::shared_ptr<const View> after;
  // True: a snapshot made `after`, so anything may have changed, and `changed` is empty.
  bool from_snapshot = false;
  // The entities that were created, changed or removed: each once, in order. Empty also when the
  // ledger only says how far it has come.
  std::vector<EntityName> changed;
};

// Negative, 0 or positive: `a` comes before, is, or comes after `b`.
int Compare(const placement::v1::Revision& a, const placement::v1::Revision& b);

class MirrorState {
 public:
  // `kinds`: only entities of these kinds are asked for. Empty: all.
  explicit MirrorState(std::vector<placement::v1::EntityKind> kinds = {})
      : kinds_(std::move(kinds)) {}

  // Forgets what came of a revision that is not complete, and returns the request of the next
  // stream: after the revision of view(), or with a snapshot.
  placement::v1::WatchRequest Begin();

  // Takes a message of the stream, and may empty it. Returns whether it completes a revision; then
  // TakeChange says which. Ignores changes of kinds that this release does not know. kDataLoss: the
  // message does not fit what was asked for or what came before. kUnavailable: it is of a snapshot
  // that is older than view(), so the process lags. After both the stream has to be ended, and
  // view() stays.
  absl::StatusOr<bool> Apply(placement::v1::WatchResponse* message);
  ViewChange TakeChange() { return std::move(change_); }

  // To be called when the stream of the last Begin has ended, with its failure. Returns whether
  // something that had been received is lost, so that the next stream begins anew with a snapshot:
  // after REVISION_LOST, REVISION_COMPACTED and EPOCH_UNKNOWN, after a snapshot that broke off, and
  // after kDataLoss of Apply. Otherwise the next stream resumes, or asks again for the same
  // snapshot.
  bool End(const Failure& failure);

  // Null: no snapshot was complete so far.
  const std::shared_ptr<const View>& view() const { return view_; }

 private:
  absl::Status Check(const placement::v1::WatchResponse& message) const;
  void ApplyChange(placement::v1::Change* change);
  void Present(placement::v1::Entity* entity);
  template <typename Entity>
  void Put(placement::v1::EntityKind kind, Entity* sent, EntityMap<Entity>* map);

  const std::vector<placement::v1::EntityKind> kinds_;
  std::shared_ptr<const View> view_;
  View draft_;            // what becomes the next view
  uint64_t edition_ = 1;  // of what may be changed in `draft_`
  bool snapshot_ = true;  // the stream begins with a snapshot, which is not complete yet
  bool begun_ = false;    // something of the revision or snapshot `draft_.revision` has come
  absl::Status fits_;     // of the messages of this stream; of the first one that did not
  std::vector<EntityName> changed_;
  ViewChange change_;
};

}  // namespace berth::client

#endif  // BERTH_SERVICES_CLIENT_CPP_MIRROR_STATE_H_
