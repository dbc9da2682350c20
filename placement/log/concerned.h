// Concerned: the hosts and the nodes that a command concerns, each with the changes that concern
// it.
//
// A committed command is told to the trackers that it names, and to no others. A tracker's stream
// does not look at changes that concern others: an import of a whole fleet has one part for each
// host. Values.
#ifndef BERTH_PLACEMENT_LOG_CONCERNED_H_
#define BERTH_PLACEMENT_LOG_CONCERNED_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "placement/log/scope.h"
#include "placement/values/change.h"

namespace berth::placement {

// A node, and the changes of a command that concern the node.
struct NodeNews {
  ProviderId node;
  // Whether more of the node has changed for its tracker than the changes name (Scope::renewed).
  bool renewed = false;
  Positions changes;

  friend bool operator==(const NodeNews&, const NodeNews&) = default;
};

struct Concerned {
  // The hosts of the changed records, before and after the command. A migration has two. A changed
  // instance concerns both hosts of each of its migrations, if that may still hold resources; a
  // removed instance those of all its migrations. Sorted by host.
  std::vector<HostNews> hosts;
  // The nodes to which the changed providers belong, before and after the command (membership.h). A
  // changed consumer concerns the nodes of the providers on which it holds or held something. The
  // node of a tree without any record of a node is the root of the tree. Sorted by node.
  std::vector<NodeNews> nodes;

  // The news of the host or of the node; null if the command does not concern it. The cost does not
  // grow with the number of changes.
  const HostNews* Find(absl::string_view host) const;
  const NodeNews* Find(ProviderId node) const;
};

// Looks at each change once, and at each place of `scope`.
Concerned ConcernedBy(const Changes& changes, const Scope& scope);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LOG_CONCERNED_H_
