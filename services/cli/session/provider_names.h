// Finds providers by name or uuid, and the names of providers by uuid.
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

// Returns the uuid of the provider named `text`, or `text` itself if `text` is a uuid. Fails with
// kNotFound / PROVIDER_NOT_FOUND, or like the call that looks up the name.
absl::StatusOr<std::string> ProviderUuid(Session& session, const std::string& text);

// The uuids of the providers of which `consumers` hold something.
template <typename Consumers>
std::set<std::string> HeldProviders(const Consumers& consumers) {
  std::set<std::string> uuids;
  for (const auto& consumer : consumers) {
    for (const auto& held : consumer.allocations()) uuids.insert(held.provider_uuid());
  }
  return uuids;
}

// Returns the names of these providers by uuid, if the output is for people; programs get no names.
// Providers that do not exist, and the providers after the first hundred, have their uuid as the
// name. Fails like the call that looks up the names.
absl::StatusOr<std::map<std::string, std::string>> ProviderNames(
    Session& session, const std::set<std::string>& uuids);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_SESSION_PROVIDER_NAMES_H_
