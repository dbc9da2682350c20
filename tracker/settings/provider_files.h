// Reads the provider configuration files: with them an operator adds resource classes and traits to
// the providers that the tracker reports.
//
// Thread-safe.
#ifndef BERTH_TRACKER_SETTINGS_PROVIDER_FILES_H_
#define BERTH_TRACKER_SETTINGS_PROVIDER_FILES_H_

#include <string>

#include "absl/status/statusor.h"
#include "tracker/settings/provider_entry.h"

namespace berth::tracker {

// Reads the files `*.yaml` of `directory` in the order of their names (T-217). A directory that does
// not exist counts as empty. Leaves out entries that add nothing, with a warning.
//
// InvalidArgument if the directory or a file cannot be read, or if a file is not as the schema
// demands, and then if two entries name the same provider in the same way (T-218). The message has
// the file, the line and the field.
absl::StatusOr<ProviderFiles> ReadProviderFiles(const std::string& directory);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_SETTINGS_PROVIDER_FILES_H_
