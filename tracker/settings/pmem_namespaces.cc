#include "tracker/settings/pmem_namespaces.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace berth::tracker {
namespace {

// Returns the class of a label, or an empty text if the label cannot be a part of its name.
std::string PmemClass(absl::string_view label) {
  const std::string upper = absl::AsciiStrToUpper(label);
  const bool good = !upper.empty() && std::all_of(upper.begin(), upper.end(), [](unsigned char c) {
    return absl::ascii_isupper(c) || absl::ascii_isdigit(c) || c == '_';
  });
  return good ? absl::StrCat("CUSTOM_PMEM_NAMESPACE_", upper) : "";
}

}  // namespace

absl::StatusOr<PmemNamespaces> ParsePmemNamespaces(const std::vector<std::string>& texts) {
  PmemNamespaces namespaces;
  std::set<std::string> seen;
  const std::string all = absl::StrJoin(texts, ",");
  for (const absl::string_view part : absl::StrSplit(all, ',', absl::SkipWhitespace())) {
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(part, absl::MaxSplits(':', 1));
    const std::string resource_class = PmemClass(absl::StripAsciiWhitespace(field.first));
    const std::vector<std::string> names =
        absl::StrSplit(field.second, '|', absl::SkipWhitespace());
    if (resource_class.empty() || names.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", part,
                       "' must be LABEL:NAMESPACE|NAMESPACE, such as 128G:ns0|ns1; a "
                       "label has letters, digits and underscores"));
    }
    const auto [of_class, added] = namespaces.try_emplace(resource_class);
    if (!added) {
      return absl::InvalidArgumentError(absl::StrCat("the label of '", part, "' is there twice"));
    }
    for (const std::string& name : names) {
      of_class->second.emplace(absl::StripAsciiWhitespace(name));
      if (!seen.emplace(absl::StripAsciiWhitespace(name)).second) {
        return absl::InvalidArgumentError(absl::StrCat("namespace ", name, " is there twice"));
      }
    }
  }
  return namespaces;
}

}  // namespace berth::tracker
