// HostIndex: what each host view is made of in a mirror, and which views a revision touches.
//
// Knows no lock and no clock. For one thread.
#ifndef BERTH_SERVICES_CLIENT_CPP_HOST_INDEX_H_
#define BERTH_SERVICES_CLIENT_CPP_HOST_INDEX_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "services/client/cpp/filters.h"
#include "services/client/cpp/host_view.h"
#include "services/client/cpp/mirror_state.h"

namespace berth::client {

class HostIndex {
 public:
  using Uuids = absl::flat_hash_set<std::string>;
  struct Touched {
    Uuids nodes;
    Uuids groups;
  };

  // Takes the next revision over. Returns what it may have changed: nodes and groups that were made,
  // changed or removed.
  Touched Follow(const ViewChange& change);

  // What the node's view is made of, in the revision that was taken over last (T-335). Nothing: there
  // is no such node, or it is retired.
  std::optional<HostParts> PartsOf(const std::string& node_uuid);
  // Nothing: there is no such group.
  std::optional<HostGroup> GroupOf(const std::string& group_uuid) const;

 private:
  void BeginAnew(Touched* touched);
  void Note(const EntityName& name, const View& before, Touched* touched);
  void NoteInstance(const pb::Instance& instance, bool exists, Touched* touched);
  void NoteService(const pb::Service& service, bool exists, Touched* touched);
  void NoteNode(const pb::Node& node, bool exists, Touched* touched);
  void NoteProvider(const pb::Provider& provider, bool exists);
  void NoteAggregate(const std::string& uuid, Touched* touched);
  std::shared_ptr<const pb::HostAggregate> AggregateOf(const std::string& uuid);

  std::shared_ptr<const View> view_;
  absl::flat_hash_map<std::string, Uuids> nodes_by_host_;
  absl::flat_hash_map<std::string, std::string> services_by_host_;  // of trackers
  absl::flat_hash_map<std::string, Uuids> instances_by_node_;
  absl::flat_hash_map<std::string, Uuids> members_by_group_;
  absl::flat_hash_map<std::string, Uuids> providers_by_aggregate_;  // a node's root has its uuid
  absl::flat_hash_map<std::string, std::shared_ptr<const pb::HostAggregate>> aggregates_;
};

}  // namespace berth::client

#endif  // BERTH_SERVICES_CLIENT_CPP_HOST_INDEX_H_
