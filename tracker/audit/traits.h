// Decides which traits a node's root provider must have and which it must not have.
//
// Pure functions.
#ifndef BERTH_TRACKER_AUDIT_TRAITS_H_
#define BERTH_TRACKER_AUDIT_TRAITS_H_

#include <map>
#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "tracker/facts/facts.h"
#include "tracker/settings/configuration.h"

namespace berth::tracker {

// The traits that the tracker decides about, by name. True: the provider must have the trait.
// False: it must not. The tracker never changes any other trait, since operators set those (T-211,
// T-214).
using OwnedTraits = std::map<std::string, bool>;

// Decides about all traits of a root for CPU features, architectures, devices and capabilities, and
// about COMPUTE_NODE and OWNER_NOVA. Leaves out CPU features if they were not read (T-215), and
// COMPUTE_STATUS_DISABLED if `service_disabled`, which decides about it (T-212), is absent. Leaves
// out names that are not in the compiled-in list of standard traits (T-213).
OwnedTraits DescribeRootTraits(const Facts& facts, const NodeConfiguration& configuration,
                               std::optional<bool> service_disabled);

// Returns `current` without the traits that `owned` maps to false, and with those that it maps to
// true (T-211).
std::set<std::string> EffectiveTraits(const std::set<std::string>& current,
                                      const OwnedTraits& owned);

// Whether the compiled-in list of standard traits has `name`.
bool IsStandardTrait(absl::string_view name);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_TRAITS_H_
