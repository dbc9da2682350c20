// The traits with which placement and trackers mark the providers of nodes.
#ifndef BERTH_PLACEMENT_VALUES_NODE_TRAITS_H_
#define BERTH_PLACEMENT_VALUES_NODE_TRAITS_H_

#include "absl/strings/string_view.h"

namespace berth::placement {

// The trait of each provider that a tracker made. A report may remove only providers with this
// trait (T-202).
inline constexpr absl::string_view kOwnedTrait = "OWNER_NOVA";
// The trait that the root of a node has while the node's service is disabled (T-212).
inline constexpr absl::string_view kDisabledTrait = "COMPUTE_STATUS_DISABLED";

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_VALUES_NODE_TRAITS_H_
