// The entries of a table of TOML, in the order of the file, and what is wrong with them.
//
// Pure functions. A fault begins with the line, without the name of the file: "LINE: what is wrong".
#ifndef BERTH_SERVICES_ACCESS_TOML_ENTRIES_H_
#define BERTH_SERVICES_ACCESS_TOML_ENTRIES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "toml.hpp"

namespace berth::services {

struct Entry {
  std::string key;
  const toml::value* value;
  int64_t line;
};

// A fault at `value`.
absl::Status At(const toml::value& value, absl::string_view what);
// OK if `status` is OK, else its message as a fault at `value`.
absl::Status At(const toml::value& value, const absl::Status& status);

// The entries of `table`, so that the first fault is the first in the file.
std::vector<Entry> EntriesOf(const toml::value& table);

// `where` completes "unknown key 'KEY'", for example " of a rate".
absl::Status UnknownKey(const Entry& entry, absl::string_view where, absl::string_view known);

// The row of a table of keys that is about `entry`; or UnknownKey.
template <typename Row, size_t kRows>
absl::StatusOr<const Row*> RowOf(const Row (&rows)[kRows], const Entry& entry,
                                 absl::string_view where) {
  std::vector<absl::string_view> known;
  for (const Row& row : rows) {
    if (entry.key == row.key) return &row;
    known.emplace_back(row.key);
  }
  return UnknownKey(entry, where, absl::StrJoin(known, ", "));
}

// The text that `value` is; or a fault that begins with `what`.
absl::StatusOr<std::string> TextOf(const toml::value& value, absl::string_view what);

}  // namespace berth::services

#endif  // BERTH_SERVICES_ACCESS_TOML_ENTRIES_H_
