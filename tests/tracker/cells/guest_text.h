// Guests in short text, for tables of tests.
//
// Pure functions.
#ifndef BERTH_TESTS_TRACKER_CELLS_GUEST_TEXT_H_
#define BERTH_TESTS_TRACKER_CELLS_GUEST_TEXT_H_

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tracker/cells/topology.h"

namespace berth::tracker {

// Prints each cell as `shared+pinned memory`, and the size of its pages if it asks for one, joined
// by `; `. Example: `0-1+2 512 -3; 3+ 512 -3`. No topology: `none`.
inline std::string GuestText(const std::optional<GuestTopology>& guest) {
  if (!guest) return "none";
  std::string text;
  for (const GuestCell& cell : guest->cells) {
    absl::StrAppend(&text, text.empty() ? "" : "; ", cell.shared_cpus.ToString(), "+",
                    cell.pinned_cpus.ToString(), " ", cell.memory_mib);
    if (cell.page_size_kib != kNoPageSize) absl::StrAppend(&text, " ", cell.page_size_kib);
  }
  return text;
}

}  // namespace berth::tracker

#endif  // BERTH_TESTS_TRACKER_CELLS_GUEST_TEXT_H_
