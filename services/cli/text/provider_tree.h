// The provider tree: each provider on a line, with its resources as bars and the traits that tell
// providers apart. Pure: messages in, text out.
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
  bool all_traits = false;  // else those that tell providers apart, and how many more there are
  absl::Time now;           // ages are counted to here
};

// Whole trees: `members` in the full view, in any order; roots and children are ordered by name.
// `sharing`: providers of other trees that share with a tree through an aggregate, told with each
// tree they share with. Members whose parent is missing stand as roots.
std::string ProviderTree(const Providers& members, const Providers& sharing,
                         const TreeOptions& options, const Screen& screen);

// Whether a trait tells something that one wants to see at a glance.
bool IsTraitOfInterest(const std::string& trait);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_TEXT_PROVIDER_TREE_H_
