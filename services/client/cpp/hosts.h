// Hosts: the views of all hosts, kept by a mirror (T-338, T-341), with what this scheduler has
// promised on them since.
//
// Trackers do not repeat the list of their instances here, and nobody compares it (T-339): the mirror
// has each record of the ledger, in order and once, so its list cannot differ.
//
// The mirror tells it each revision, and a scheduler asks for the views of the roots that placement
// answered. Views never change, so whoever has one may read it for as long as it likes. Thread-safe.
//
//   Hosts hosts;
//   Mirror mirror(endpoints, {Hosts::Kinds()},
//                 {[&hosts](const ViewChange& change) { hosts.Follow(change); }});
//
// Invariants:
//   1. What one call of ViewsOf returns is of one revision.
//   2. What was consumed stays taken until the node's next report (T-334). Trackers count allocations
//      as soon as placement tells them, so only a report that was on its way then does not have it.
//   3. An instance that was consumed is on its node, and on the hosts of its group, until the mirror
//      has it with a host, or no longer.
#ifndef BERTH_SERVICES_CLIENT_CPP_HOSTS_H_
#define BERTH_SERVICES_CLIENT_CPP_HOSTS_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "services/client/cpp/filters.h"
#include "services/client/cpp/host_index.h"
#include "services/client/cpp/host_view.h"
#include "services/client/cpp/mirror_state.h"
#include "services/client/cpp/mutex.h"

namespace berth::client {

class Hosts {
 public:
  using Host = std::shared_ptr<const HostView>;
  struct Views {
    pb::Revision revision;  // epoch 0: no snapshot was complete so far
    std::vector<Host> hosts;
    std::optional<HostGroup> group;  // nothing: there is no such group
    // For the log of the scheduler: which nodes were left out because they have no service, or the
    // same host and name as an earlier one (T-338), and which are stale (T-341): their service is not
    // up, or they were never audited. That audits are overdue is not in the ledger, so a view does not
    // know it; Mirror::status says how old the views themselves are.
    std::vector<std::string> warnings;
  };

  // What a mirror has to follow for a Hosts.
  static std::vector<pb::EntityKind> Kinds();

  // Takes a revision over. To be called with each change of one mirror, in order, by one thread.
  void Follow(const ViewChange& change);

  // The hosts whose nodes are `root_uuids`, in that order, and a server group, as filters and weighers
  // want them. A root that is no node's is left out, and so is a retired node. Each root is to be
  // named once. Empty `group_uuid`: without a group.
  Views ViewsOf(const std::vector<absl::string_view>& root_uuids,
                const std::string& group_uuid = "") const;

  // Takes what the flavor of the instance needs from the view of the node, and puts the instance there
  // and on the hosts of its group, for later calls of ViewsOf (ConsumeFromHost). To be called when
  // placement has allocated it. An instance that was consumed on another node moves. This object must
  // not be called by `take_cells`. Fails with kNotFound if there is no such node, or as `take_cells`;
  // then nothing is taken (T-336).
  absl::Status Consume(
      const std::string& node_uuid, const pb::Instance& instance,
      TakeCells take_cells = [](const HostView& /*view*/) { return absl::OkStatus(); });

 private:
  // Where an instance was consumed that has no host yet.
  struct Promise {
    std::string node_uuid;
    std::string host;
  };
  using Group = std::shared_ptr<const HostGroup>;

  void Settle(const ViewChange& change, HostIndex::Touched* touched)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(writers_);
  void Drop(const std::string& instance_uuid) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writers_);
  Host HostOf(const std::string& node_uuid, const HostView* old)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(writers_);
  Group GroupOf(const std::string& group_uuid) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(writers_);
  // Makes what is touched anew.
  void Refresh(const HostIndex::Touched& touched) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writers_);
  // `by` is 1 when a host is taken up, and -1 when it is given up.
  void CountName(const HostView& host, int by) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex writers_;  // held during a change; readers do not wait for it
  HostIndex index_ ABSL_GUARDED_BY(writers_);
  std::shared_ptr<const View> view_ ABSL_GUARDED_BY(writers_);  // the revision taken over last
  absl::flat_hash_map<std::string, Promise> promises_ ABSL_GUARDED_BY(writers_);  // by instance
  absl::flat_hash_map<std::string, HostIndex::Uuids> promised_on_
      ABSL_GUARDED_BY(writers_);  // instances by node

  mutable Mutex mutex_;  // held while pointers are copied or exchanged
  pb::Revision revision_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, Host> hosts_ ABSL_GUARDED_BY(mutex_);  // by node
  // How many of hosts_ have this host and name; and how many names are those of several.
  absl::flat_hash_map<std::pair<std::string, std::string>, int> names_ ABSL_GUARDED_BY(mutex_);
  int shared_names_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<std::string, Group> groups_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::client

#endif  // BERTH_SERVICES_CLIENT_CPP_HOSTS_H_
