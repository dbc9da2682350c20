// FinalForest: who stands below whom, and who has which name, once an ApplyTopology is done.
//
// Pure; keeps references to the state and the command.
#ifndef BERTH_PLACEMENT_RULES_FINAL_FOREST_H_
#define BERTH_PLACEMENT_RULES_FINAL_FOREST_H_

#include <map>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "placement/commands/command.h"
#include "placement/state/state.h"

namespace berth::placement {

class FinalForest {
 public:
  // REQUIRES: the command names each provider once.
  FinalForest(const State& state, const ApplyTopology& command);

  // Whether there is such a provider, or will be; also one that goes.
  bool Knows(ProviderId id) const;
  // Whether the way up from `id` comes back to where it was. REQUIRES, like the next two: listed.
  bool IsInLoop(ProviderId id) const { return !ways_.at(id).has_value(); }
  // REQUIRES: the ways up end, at providers that are known.
  ProviderId RootOf(ProviderId id) const { return ways_.at(id)->root; }
  int DepthOf(ProviderId id) const { return ways_.at(id)->depth; }
  // The provider other than `id` that has `name` in the end.
  std::optional<ProviderId> OtherHolder(absl::string_view name, ProviderId id) const;
  // Whether anything stands below `place`'s provider in the end.
  bool HasChildren(const ProviderPlace& place) const;

 private:
  struct Way {
    ProviderId root;
    int depth = 0;
  };

  std::optional<ProviderId> ParentOf(ProviderId id) const;
  // Finds the way up from `id` and from all that stand on it.
  void WalkUp(ProviderId id);

  const State& state_;
  absl::flat_hash_map<ProviderId, std::optional<ProviderId>> parents_;  // of those listed
  // Of those listed and all above them, each walked once. None: it has no end.
  absl::flat_hash_map<ProviderId, std::optional<Way>> ways_;
  absl::flat_hash_set<ProviderId> parents_named_;  // some listed provider's parent in the end
  absl::flat_hash_set<ProviderId> removed_;
  std::multimap<std::string, ProviderId> names_;  // of those listed
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_RULES_FINAL_FOREST_H_
