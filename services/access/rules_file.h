// The operator's file of what identities may do, access.toml: text to AccessRules.
//
//   denied = ["scheduler/old", "tracker/host-7"]   # or [[denied]] with identity and reason
//
//   [scheduler.nova]                # one section for each scheduler that is limited
//   projects = ["p1", "p2"]
//
//   [rates]                         # for each identity of a ROLE, or for one ROLE/NAME
//   scheduler = {calls_per_second = 200, burst = 400}
//   "reader/dashboard" = {calls_per_second = 5, burst = 20}
//
//   [withheld]                      # only operators give these to providers (limits_file.h)
//   traits = ["CUSTOM_LICENSED"]
//   resource_classes = ["CUSTOM_GOLD"]
//
//   [ceilings]                      # for each tracker, or for one tracker/NAME (limits_file.h)
//   tracker = {VCPU = 512}
//   "tracker/compute-1" = {VCPU = 64, MEMORY_MB = 262144}
//
//   [daily]                         # for each tracker, or for one (limits_file.h)
//   tracker = {facts_mib = 256, names = 100, providers = 2000, nodes = 16, services = 4}
//   "tracker/compute-1" = {facts_mib = 64}
//
// kSections in rules_file.cc has the sections of the file, kSchedulerKeys the keys of a scheduler's
// section.
#ifndef BERTH_SERVICES_ACCESS_RULES_FILE_H_
#define BERTH_SERVICES_ACCESS_RULES_FILE_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/access/rules.h"

namespace berth::services {

// toml11 counts the lines before each value anew, so its time grows with the square of the size.
inline constexpr size_t kRulesFileBytesMax = 128 << 10;

// Reads the rules in `text`. Pure. A text of nothing but comments limits nothing. Fails with
// kInvalidArgument for the first fault in the text; the message begins with FILE:LINE. A fault is
//   - an empty text, which is more likely a file that is being written than a wish;
//   - what is no TOML;
//   - a key that nobody knows, or a value of the wrong kind;
//   - an identity that no certificate can have, a pattern, or an identity that is named twice;
//   - a limit of trackers that names no trait or class, or is no total of an inventory.
absl::StatusOr<AccessRules> ParseRules(absl::string_view text, absl::string_view file);

// Reads the text of `file`. Nothing: there is no such file. Fails with kFailedPrecondition if the
// file is a link, a directory or no file, is larger than kRulesFileBytesMax or cannot be read.
absl::StatusOr<std::optional<std::string>> ReadRulesText(const std::string& file);

}  // namespace berth::services

#endif  // BERTH_SERVICES_ACCESS_RULES_FILE_H_
