// What BruteForce knows of a world: its providers by name, and what each can give. Shares no code
// with the search.
#ifndef BERTH_TESTS_WORLDS_BRUTE_WORLD_H_
#define BERTH_TESTS_WORLDS_BRUTE_WORLD_H_

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "placement/state/state.h"

namespace berth::placement {

// A provider with all that the rules ask about, by name.
struct PlainProvider {
  ProviderId id;
  ProviderId root;
  std::vector<ProviderId> line;  // itself, its parent, ... up to the root
  std::set<std::string> traits;
  std::set<AggregateId> aggregates;
  std::map<std::string, Inventory> inventories;
  std::map<std::string, Amount> used;
  bool shares() const { return traits.contains("MISC_SHARES_VIA_AGGREGATE"); }
};
using PlainWorld = std::vector<PlainProvider>;

PlainWorld WorldOf(const State& state);

template <typename Set, typename Item>
bool HasAny(const Set& set, const std::vector<Item>& items) {
  return std::any_of(items.begin(), items.end(),
                     [&set](const Item& item) { return set.contains(item); });
}
template <typename Set, typename Item>
bool HasAnyOfEach(const Set& set, const std::vector<std::vector<Item>>& terms) {
  return std::all_of(terms.begin(), terms.end(),
                     [&set](const auto& term) { return HasAny(set, term); });
}

// Whether `amount` fits on top of what is used (P-27, P-30).
bool FitsIn(const PlainProvider& provider, const std::string& name, Amount amount,
            bool ignore_use = false);
// Whether the provider may serve the root (P-108, P-176).
bool MayServe(const PlainWorld& world, const PlainProvider& provider, const PlainProvider& root);
// The largest of 1 to `amount` that fits on top of `taken`, by its own units and with what is taken
// together; 0: none.
Amount LargestShare(const PlainProvider& provider, const std::string& name, Amount taken,
                    Amount amount);

}  // namespace berth::placement

#endif  // BERTH_TESTS_WORLDS_BRUTE_WORLD_H_
