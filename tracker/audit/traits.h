// The traits that a node's root provider has, may not have, or leaves to others.
//
// Pure functions of values; the tables are in trait_tables.cc.
#ifndef BERTH_TRACKER_AUDIT_TRAITS_H_
#define BERTH_TRACKER_AUDIT_TRAITS_H_

#include <map>
#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "tracker/facts/facts.h"
#include "tracker/settings/configuration.h"

namespace berth::tracker {

// The traits that the tracker owns: true is put on, false is taken off. Every other trait belongs
// to operators and is never touched (T-211, T-214).
using OwnedTraits = std::map<std::string, bool>;

// Every owned trait of a root: CPU features unless they were not reported (T-215), architectures,
// devices, capabilities, COMPUTE_NODE, OWNER_NOVA and, by `service_disabled`,
// COMPUTE_STATUS_DISABLED (T-212); without knowledge of the service that one is left as it is.
// Names that the compiled-in standard list does not know are left out (T-213).
OwnedTraits DescribeRootTraits(const Facts& facts, const NodeConfiguration& configuration,
                               std::optional<bool> service_disabled);

// (current - owned false) + owned true (T-211).
std::set<std::string> EffectiveTraits(const std::set<std::string>& current,
                                      const OwnedTraits& owned);

// Whether the standard list knows the name.
bool IsStandardTrait(absl::string_view name);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_TRAITS_H_
