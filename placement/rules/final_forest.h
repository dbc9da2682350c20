// FinalForest: the parents, roots and names of providers as they will be after an ApplyTopology.
//
// In this file a provider is "listed" if the command names it, and "known" if it exists before or
// after the command. Pure; keeps references to the state and the command.
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

  // Whether the provider `id` exists before or after the command.
  bool Knows(ProviderId id) const;
  // Whether the parents above `id` will form a loop. REQUIRES: `id` is listed. The next two methods
  // require the same.
  bool IsInLoop(ProviderId id) const { return !ways_.at(id).has_value(); }
  // The root of the tree in which `id` will be. RootOf and DepthOf require that IsInLoop(id) is
  // false, and that all parents above `id` are known.
  ProviderId RootOf(ProviderId id) const { return ways_.at(id)->root; }
  int DepthOf(ProviderId id) const { return ways_.at(id)->depth; }
  // The provider that will have `name` and is not `id`; none if there is no such provider.
  std::optional<ProviderId> OtherHolder(absl::string_view name, ProviderId id) const;
  // Whether the provider at `place` will have children after the command.
  bool HasChildren(const ProviderPlace& place) const;

 private:
  struct Way {
    ProviderId root;
    int depth = 0;
  };

  std::optional<ProviderId> ParentOf(ProviderId id) const;
  // Stores the root and the depth of `id`, and of all providers above it, in `ways_`.
  void WalkUp(ProviderId id);

  const State& state_;
  absl::flat_hash_map<ProviderId, std::optional<ProviderId>> parents_;  // of listed ones
  // The root and the depth of each listed provider, and of all providers above it. None: the
  // provider is in a loop or below one.
  absl::flat_hash_map<ProviderId, std::optional<Way>> ways_;
  absl::flat_hash_set<ProviderId> parents_named_;  // parents of listed providers
  absl::flat_hash_set<ProviderId> removed_;
  std::multimap<std::string, ProviderId> names_;  // of the listed providers
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_RULES_FINAL_FOREST_H_
