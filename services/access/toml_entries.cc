#include "services/access/toml_entries.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"

namespace berth::services {

absl::Status At(const toml::value& value, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(value.location().line(), ": ", what));
}

absl::Status At(const toml::value& value, const absl::Status& status) {
  return status.ok() ? status : At(value, status.message());
}

std::vector<Entry> EntriesOf(const toml::value& table) {
  std::vector<Entry> entries;
  for (const auto& [key, value] : table.as_table()) {
    // toml11 counts the lines from the begin of the file each time that it is asked.
    entries.push_back({key, &value, static_cast<int64_t>(value.location().line())});
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.line, a.key) < std::tie(b.line, b.key);
  });
  return entries;
}

absl::Status UnknownKey(const Entry& entry, absl::string_view where, absl::string_view known) {
  return At(*entry.value,
            absl::StrCat("unknown key '", entry.key, "'", where, ": known are ", known));
}

absl::StatusOr<std::string> TextOf(const toml::value& value, absl::string_view what) {
  if (!value.is_string()) return At(value, absl::StrCat(what, " must be a text"));
  return value.as_string().str;
}

}  // namespace berth::services
