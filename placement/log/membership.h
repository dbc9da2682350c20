// Membership: to which nodes the providers that a command concerns belong, before and after it.
//
// A provider belongs to the closest provider, at or above it, that has the record of a node. If no
// provider at or above it has one, it belongs to the root of its tree. Made for one command. Keeps
// no state of the ledger. Not thread-safe.
#ifndef BERTH_PLACEMENT_LOG_MEMBERSHIP_H_
#define BERTH_PLACEMENT_LOG_MEMBERSHIP_H_

#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "placement/state/state.h"

namespace berth::placement {

class Membership {
 public:
  // Notes to which node `provider` belongs in `before`, the state before the command. To be called
  // for each provider that the command puts or removes, and for each whose record of a node it puts
  // or removes.
  void TakeBefore(const State& before, ProviderId provider);

  // The node to which `provider` belongs after the command; for a provider that the command
  // removes, the node of before. None if this is the root of the tree. `after`: the same state in
  // every call. `place`: the provider there; none if it does not exist.
  std::optional<ProviderId> BelowRoot(const State& after, ProviderId provider,
                                      const std::optional<ProviderPlace>& place);
  // The nodes that gained or lost providers, sorted: for each noted provider that belongs to
  // another node in `after`, both nodes. What is below it has changed its node with it.
  std::vector<ProviderId> Regrouped(const State& after);

 private:
  // Finds the nodes of providers in one state. Looks at no provider above another twice, as a peer
  // decides how deep a tree is.
  class Finder {
   public:
    ProviderId NodeOf(const State& state, const ProviderPlace& place);

   private:
    absl::flat_hash_map<ProviderId, ProviderId> known_;
  };

  Finder finder_before_;
  Finder finder_after_;
  absl::flat_hash_map<ProviderId, ProviderId> before_;  // what TakeBefore has noted
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LOG_MEMBERSHIP_H_
