// Finds the namespaces of persistent memory that a host has and that guests may get.
//
// Pure functions.
#ifndef BERTH_TRACKER_FACTS_PMEM_H_
#define BERTH_TRACKER_FACTS_PMEM_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tracker/settings/pmem_namespaces.h"

namespace berth::tracker {

// Returns the names of the namespaces in the output of `ndctl list -X` that are character devices
// and so can be given to guests. InvalidArgument if `output` has another form.
absl::StatusOr<std::set<std::string>> ParseNdctlList(absl::string_view output);

// Returns the namespaces of `configured` that `existing` has. If it is not known which exist, all
// count. A class without namespaces is left out.
PmemNamespaces OfferedNamespaces(const PmemNamespaces& configured,
                                 const std::optional<std::set<std::string>>& existing);

// Returns the namespaces of `configured` that `existing` does not have.
std::vector<std::string> MissingNamespaces(const PmemNamespaces& configured,
                                           const std::set<std::string>& existing);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_FACTS_PMEM_H_
