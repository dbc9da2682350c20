// Sharing: the providers that serve trees other than their own (P-106..P-111), over one State.
//
// Keeps the trees that it names; lives as long as one search. Immutable once made.
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
  // Looks through the trees that hold a sharing provider. Those of a retired node serve nobody
  // (T-40).
  explicit Sharing(const State& state);

  bool empty() const { return providers_.empty(); }
  const std::vector<SharingProvider>& providers() const { return providers_; }

  // Whether the provider is a sharing one (P-106).
  bool IsSharing(const ProviderConfig& provider) const {
    return trait_ && provider.HasTrait(*trait_);
  }
  // Those of other trees that serve `tree`: a provider of its tree shares an aggregate with each
  // (P-108, P-110). By rising id.
  std::vector<const SharingProvider*> Reaching(const Tree& tree) const;

 private:
  std::optional<TraitId> trait_;
  std::vector<SharingProvider> providers_;                           // by rising id
  absl::flat_hash_map<AggregateId, std::vector<int>> by_aggregate_;  // indices of providers_
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_SEARCH_SHARING_H_
