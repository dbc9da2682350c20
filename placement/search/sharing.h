// Sharing: the sharing providers of one State, i.e. providers that can serve trees other than their
// own (P-106..P-111).
//
// Holds references to the trees of the sharing providers. Made for one search. Immutable.
#ifndef BERTH_PLACEMENT_SEARCH_SHARING_H_
#define BERTH_PLACEMENT_SEARCH_SHARING_H_

#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "placement/state/state.h"

namespace berth::placement {

struct SharingProvider {
  TreePtr tree;
  int position = 0;
  ProviderId id;
};

class Sharing {
 public:
  // Collects the sharing providers of `state`, except those of retired nodes, which serve nobody
  // (T-40).
  explicit Sharing(const State& state);

  bool empty() const { return providers_.empty(); }
  const std::vector<SharingProvider>& providers() const { return providers_; }

  // Whether `provider` has the trait of sharing providers (P-106).
  bool IsSharing(const ProviderConfig& provider) const {
    return trait_ && provider.HasTrait(*trait_);
  }
  // The sharing providers of other trees that serve `tree`, in order of id. A sharing provider
  // serves `tree` if one of its aggregates contains a provider of `tree` (P-108, P-110).
  std::vector<const SharingProvider*> Reaching(const Tree& tree) const;

 private:
  std::optional<TraitId> trait_;
  std::vector<SharingProvider> providers_;                           // sorted by id
  absl::flat_hash_map<AggregateId, std::vector<int>> by_aggregate_;  // indices of providers_
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_SEARCH_SHARING_H_
