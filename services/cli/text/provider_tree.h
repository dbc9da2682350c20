// Draws provider trees as text: one line for each provider, with its resources as bars and its most
// important traits. Pure: takes messages, returns text.
#ifndef BERTH_SERVICES_CLI_TEXT_PROVIDER_TREE_H_
#define BERTH_SERVICES_CLI_TEXT_PROVIDER_TREE_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "berth/placement/v1/provider.pb.h"
#include "services/cli/text/provider_view.h"
#include "services/cli/text/screen.h"

namespace berth::cli {

struct TreeOptions {
  bool all_traits = false;  // false: only the important traits, and the number of others
  absl::Time now;           // the ages of reports are computed at this time
};

// Draws the trees of `members`, which are in the full view and in any order. Roots and children are
// sorted by name. `sharing` are providers of other trees that share their resources with a tree
// through an aggregate; each of them is shown below every tree that it shares with. A member whose
// parent is missing is shown as a root.
std::string ProviderTree(const Providers& members, const Providers& sharing,
                         const TreeOptions& options, const Screen& screen);

// Whether the trait is shown even if `all_traits` is false.
bool IsTraitOfInterest(const std::string& trait);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_TEXT_PROVIDER_TREE_H_
