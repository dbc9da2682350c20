// Amounts as people type and read them: `VCPU=4,MEMORY_MB=8Gi`, `VCPU=32:ratio=4:reserved=2`.
//
// Pure. Errors are kInvalidArgument and name the text that is wrong and what would be right.
#ifndef BERTH_SERVICES_CLI_TEXT_AMOUNTS_H_
#define BERTH_SERVICES_CLI_TEXT_AMOUNTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace berth::cli {

using Amounts = std::map<std::string, int64_t>;

// A whole number, or for classes that count MiB (`..._MB`) or GiB (`..._GB`) a size with Mi, Gi, Ti
// or Pi that is a whole number of them.
absl::StatusOr<int64_t> ParseAmount(absl::string_view resource_class, absl::string_view text);

// `CLASS=AMOUNT`, several with commas; each class once in all texts.
absl::StatusOr<Amounts> ParseAmounts(const std::vector<std::string>& texts);

// What was said of one inventory; the rest is not said.
struct InventoryWords {
  std::string resource_class;
  std::optional<int64_t> total;
  std::optional<int64_t> reserved;
  std::optional<int64_t> min_unit;
  std::optional<int64_t> max_unit;
  std::optional<int64_t> step_size;
  std::optional<double> allocation_ratio;
};

// `CLASS[=TOTAL][:KEY=VALUE]...`, KEY one of ratio, reserved, min, max, step.
absl::StatusOr<InventoryWords> ParseInventory(absl::string_view text);

// The size that `amount` of a class stands for, with its unit ("8 GiB"); empty where the class counts
// no bytes.
std::string SizeOf(absl::string_view resource_class, int64_t amount);

// "VCPU 4, MEMORY_MB 8192", the well-known classes first.
std::string InWords(const Amounts& amounts);

// The classes in the order in which people look for them: VCPU, PCPU, MEMORY_MB, DISK_GB, the rest.
bool ClassBefore(const std::string& left, const std::string& right);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_TEXT_AMOUNTS_H_
