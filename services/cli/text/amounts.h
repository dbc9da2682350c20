// Parses and formats amounts, for example `VCPU=4,MEMORY_MB=8Gi` or `VCPU=32:ratio=4:reserved=2`.
//
// Pure. Errors are kInvalidArgument. They quote the wrong text and say what would be right.
#ifndef BERTH_SERVICES_CLI_TEXT_AMOUNTS_H_
#define BERTH_SERVICES_CLI_TEXT_AMOUNTS_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace berth::cli {

using Amounts = std::map<std::string, int64_t>;

// Parses a whole number. If the class counts MiB (`..._MB`) or GiB (`..._GB`), the text may also be
// a size in Ki, Mi, Gi, Ti or Pi. This size must be a whole number of the class's units.
absl::StatusOr<int64_t> ParseAmount(absl::string_view resource_class, absl::string_view text);

// Parses `CLASS=AMOUNT` pairs separated by commas. Each class may occur only once in all texts
// together.
absl::StatusOr<Amounts> ParseAmounts(const std::vector<std::string>& texts);

// The values of one inventory that the user gave. Absent values were not given.
struct InventoryWords {
  std::string resource_class;
  std::optional<int64_t> total;
  std::optional<int64_t> reserved;
  std::optional<int64_t> min_unit;
  std::optional<int64_t> max_unit;
  std::optional<int64_t> step_size;
  std::optional<double> allocation_ratio;
};

// Parses `CLASS[=TOTAL][:KEY=VALUE]...`. KEY is ratio, reserved, min, max or step.
absl::StatusOr<InventoryWords> ParseInventory(absl::string_view text);

// Returns the size that `amount` of the class means, with its unit, for example "8 GiB". Empty if
// the class does not count bytes.
std::string SizeOf(absl::string_view resource_class, int64_t amount);

// Formats amounts, for example "VCPU 4, MEMORY_MB 8192". The well-known classes come first.
std::string InWords(const Amounts& amounts);

// Whether `left` is shown before `right`. The order is VCPU, PCPU, MEMORY_MB, DISK_GB, then the
// other classes.
bool ClassBefore(const std::string& left, const std::string& right);

// The classes that are the keys of `map`, in the order in which they are shown.
template <typename Map>
std::vector<std::string> ClassesOf(const Map& map) {
  std::vector<std::string> classes;
  for (const auto& [name, value] : map) classes.push_back(name);
  std::sort(classes.begin(), classes.end(), ClassBefore);
  return classes;
}

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_TEXT_AMOUNTS_H_
