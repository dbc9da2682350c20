// Adds the classes and traits of provider configuration files to the providers of a report.
//
// Pure functions.
#ifndef BERTH_TRACKER_AUDIT_ADDITIONS_H_
#define BERTH_TRACKER_AUDIT_ADDITIONS_H_

#include <string>
#include <vector>

#include "tracker/audit/report.h"
#include "tracker/settings/added_traits.h"
#include "tracker/settings/provider_entry.h"

namespace berth::tracker {

struct Additions {
  // The entries that cannot be applied, each with the reason. They add nothing.
  std::vector<std::string> problems;
  // The entries with a name or uuid that none of the providers has.
  std::vector<std::string> absent;
};

// Applies `entries` to `providers` (T-219). An entry that names a provider is for that provider. An
// entry for every root is for those roots that no other entry names. Two entries that name the same
// provider, one by its uuid and one by its name, are both problems. An entry is also a problem if
// the provider already has one of its classes, or if the tracker decides about one of its traits.
//
// A trait in `added_before` that no entry adds now must be removed from its provider (T-220).
Additions AddConfigured(const std::vector<ProviderEntry>& entries, const AddedTraits& added_before,
                        std::vector<WantedProvider>* providers);

// Returns the traits that AddConfigured would add at most.
AddedTraits ConfiguredTraits(const std::vector<ProviderEntry>& entries,
                             const std::vector<WantedProvider>& providers);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_ADDITIONS_H_
