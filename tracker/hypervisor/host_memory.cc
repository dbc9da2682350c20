#include "tracker/hypervisor/host_memory.h"

#include <map>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace berth::tracker {

absl::StatusOr<int64_t> UsedMemoryMib(absl::string_view meminfo) {
  std::map<absl::string_view, int64_t> kib_by_field;
  for (const absl::string_view line : absl::StrSplit(meminfo, '\n')) {
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    const std::pair<absl::string_view, absl::string_view> amount =
        absl::StrSplit(absl::StripAsciiWhitespace(field.second), absl::MaxSplits(' ', 1));
    int64_t kib = 0;
    if (absl::SimpleAtoi(amount.first, &kib)) kib_by_field[field.first] = kib;
  }
  for (const char* const name : {"MemTotal", "MemFree", "Buffers", "Cached"}) {
    if (kib_by_field.count(name) == 0) {
      return absl::InvalidArgumentError(absl::StrCat("/proc/meminfo has no field ", name));
    }
  }
  const int64_t used_kib = kib_by_field["MemTotal"] - kib_by_field["MemFree"] -
                           kib_by_field["Buffers"] - kib_by_field["Cached"];
  return used_kib >= 0 ? used_kib / 1024 : -((-used_kib + 1023) / 1024);
}

}  // namespace berth::tracker
