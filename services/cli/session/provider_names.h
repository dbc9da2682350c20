// Providers as people name them: by name or by uuid; and back, from uuids to names.
#ifndef BERTH_SERVICES_CLI_SESSION_PROVIDER_NAMES_H_
#define BERTH_SERVICES_CLI_SESSION_PROVIDER_NAMES_H_

#include <map>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/cli/session/session.h"

namespace berth::cli {

// Whether `text` has the form of a uuid, with or without hyphens.
bool IsUuid(absl::string_view text);

// The uuid of the provider that is called `text`, or `text` itself where it is a uuid.
// kNotFound / PROVIDER_NOT_FOUND; errors of the call.
absl::StatusOr<std::string> ProviderUuid(Session& session, const std::string& text);

// The names of some providers by uuid. Those that are gone, and those past the first hundred, are
// called by their uuid. Errors of the call.
absl::StatusOr<std::map<std::string, std::string>> ProviderNames(
    Session& session, const std::set<std::string>& uuids);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_SESSION_PROVIDER_NAMES_H_
