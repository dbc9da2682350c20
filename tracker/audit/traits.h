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

// The traits that the tracker sets or removes, by name. True: the provider must have the trait.
// False: the provider must not have the trait. The tracker never changes any other trait, because
// operators set those (T-211, T-214).
using OwnedTraits = std::map<std::string, bool>;

// Returns which traits a root must and must not have: all traits for CPU features, architectures,
// devices and capabilities, and COMPUTE_NODE and OWNER_NOVA. Some traits are left out, so that the
// tracker does not change them: the traits of CPU features if the features were not read (T-215),
// COMPUTE_STATUS_DISABLED if `service_disabled` is absent (T-212), and names that are not in the
// compiled-in list of standard traits (T-213).
OwnedTraits DescribeRootTraits(const Facts& facts, const NodeConfiguration& configuration,
                               std::optional<bool> service_disabled);

// Returns `current` with the traits added that `owned` maps to true, and with the traits removed
// that `owned` maps to false (T-211).
std::set<std::string> EffectiveTraits(const std::set<std::string>& current,
                                      const OwnedTraits& owned);

// Whether the compiled-in list of standard traits has `name`.
bool IsStandardTrait(absl::string_view name);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_TRAITS_H_
