// Parses the YAML text of one provider configuration file.
//
// A pure function. The exceptions of yaml-cpp end here.
#ifndef BERTH_TRACKER_SETTINGS_PROVIDER_YAML_H_
#define BERTH_TRACKER_SETTINGS_PROVIDER_YAML_H_

#include <string>

#include "absl/status/status.h"
#include "tracker/settings/provider_entry.h"

namespace berth::tracker {

// Adds the entries and the warnings of one file to `files`. `file` is the name of the file for
// messages, and `text` its content.
//
// InvalidArgument if `text` is not YAML or not as the schema demands (T-217); the message has the
// file, the line and the field. Then `files` may have some of the entries.
absl::Status ParseProviderFile(const std::string& file, const std::string& text,
                               ProviderFiles* files);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_SETTINGS_PROVIDER_YAML_H_
