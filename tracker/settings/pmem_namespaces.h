// The namespaces of persistent memory that guests may get, by the labels that flavors use.
//
// Pure functions.
#ifndef BERTH_TRACKER_SETTINGS_PMEM_NAMESPACES_H_
#define BERTH_TRACKER_SETTINGS_PMEM_NAMESPACES_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace berth::tracker {

// Names of namespaces, by the resource class that offers them.
using PmemNamespaces = std::map<std::string, std::set<std::string>>;

// Reads `LABEL:NAMESPACE|NAMESPACE`, one or several separated by commas or in several texts, for
// example `128G:ns0|ns1,MEDIUM:ns2`. The namespaces of LABEL are offered as
// CUSTOM_PMEM_NAMESPACE_LABEL.
//
// InvalidArgument if a text has another form, or if a label or a namespace is there twice.
absl::StatusOr<PmemNamespaces> ParsePmemNamespaces(const std::vector<std::string>& texts);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_SETTINGS_PMEM_NAMESPACES_H_
