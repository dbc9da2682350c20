#include "services/cli/text/amounts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "placement/ground/status_macros.h"

namespace berth::cli {
namespace {

constexpr int64_t kAmountMax = std::numeric_limits<int32_t>::max();
constexpr const char* kOrder[] = {"VCPU", "PCPU", "MEMORY_MB", "DISK_GB"};

struct Unit {
  const char* suffix;
  int power;  // of 1024, counted from bytes
};
constexpr Unit kUnits[] = {{"Ki", 1}, {"Mi", 2}, {"Gi", 3}, {"Ti", 4}, {"Pi", 5}};

// Returns the power of 1024 in which the class counts bytes: 2 for MiB, 3 for GiB. Returns 0 if the
// class does not count bytes.
int PowerOf(absl::string_view resource_class) {
  if (absl::EndsWith(resource_class, "_MB")) return 2;
  return absl::EndsWith(resource_class, "_GB") ? 3 : 0;
}

absl::Status Wrong(absl::string_view text, absl::string_view wanted) {
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is wrong: ", wanted));
}

absl::StatusOr<std::pair<std::string, std::string>> SplitPair(absl::string_view text,
                                                              absl::string_view wanted) {
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
  if (parts.size() != 2 || parts[0].empty() || parts[1].empty()) return Wrong(text, wanted);
  return std::make_pair(parts[0], parts[1]);
}

size_t RankOf(const std::string& name) {
  return std::find(std::begin(kOrder), std::end(kOrder), name) - std::begin(kOrder);
}

absl::Status ReadProperty(absl::string_view text, InventoryWords* words) {
  const auto pair = SplitPair(text, "write a property as ratio=4 or reserved=2");
  if (!pair.ok()) return pair.status();
  const auto& [key, value] = *pair;
  if (key == "ratio") {
    double ratio = 0;
    if (!absl::SimpleAtod(value, &ratio) || !std::isfinite(ratio)) {
      return Wrong(text, "the ratio must be a number such as 1.5");
    }
    words->allocation_ratio = ratio;
    return absl::OkStatus();
  }
  BERTH_ASSIGN_OR_RETURN(const auto amount, ParseAmount(words->resource_class, value));
  const std::pair<const char*, std::optional<int64_t>*> properties[] = {
      {"total", &words->total},
      {"reserved", &words->reserved},
      {"min", &words->min_unit},
      {"max", &words->max_unit},
      {"step", &words->step_size}};
  for (const auto& [name, target] : properties) {
    if (key == name) {
      *target = amount;
      return absl::OkStatus();
    }
  }
  return Wrong(text, "the properties are total, reserved, ratio, min, max and step");
}

}  // namespace

absl::StatusOr<int64_t> ParseAmount(absl::string_view resource_class, absl::string_view text) {
  int64_t amount = 0;
  if (absl::SimpleAtoi(text, &amount)) return amount;
  const int power = PowerOf(resource_class);
  for (const Unit& unit : kUnits) {
    absl::string_view digits = text;
    if (!absl::ConsumeSuffix(&digits, unit.suffix)) continue;
    double size = 0;
    if (!absl::SimpleAtod(digits, &size)) break;
    if (power == 0) {
      return Wrong(text,
                   absl::StrCat(resource_class, " is not counted in bytes: write a plain number"));
    }
    const double counted = size * std::pow(1024.0, unit.power - power);
    if (counted != std::floor(counted) || std::abs(counted) > static_cast<double>(kAmountMax)) {
      return Wrong(text, absl::StrCat(resource_class, " is counted in whole ",
                                      power == 2 ? "MiB" : "GiB", ", ", kAmountMax, " at most"));
    }
    return static_cast<int64_t>(counted);
  }
  return Wrong(text, power == 0 ? "it must be a whole number"
                                : "it must be a whole number or a size such as 512Mi or 8Gi");
}

absl::StatusOr<Amounts> ParseAmounts(const std::vector<std::string>& texts) {
  Amounts amounts;
  for (const std::string& text : texts) {
    for (absl::string_view part : absl::StrSplit(text, ',', absl::SkipEmpty())) {
      BERTH_ASSIGN_OR_RETURN(const auto pair,
                             SplitPair(part, "write resources as VCPU=4,MEMORY_MB=8Gi"));
      BERTH_ASSIGN_OR_RETURN(const auto amount, ParseAmount(pair.first, pair.second));
      if (!amounts.emplace(pair.first, amount).second) {
        return Wrong(part, absl::StrCat(pair.first, " is given twice"));
      }
    }
  }
  return amounts;
}

absl::StatusOr<InventoryWords> ParseInventory(absl::string_view text) {
  InventoryWords words;
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  const std::vector<std::string> head = absl::StrSplit(parts[0], absl::MaxSplits('=', 1));
  words.resource_class = head[0];
  if (head[0].empty()) return Wrong(text, "write an inventory as VCPU=32:ratio=4:reserved=2");
  if (head.size() == 2) {
    BERTH_ASSIGN_OR_RETURN(words.total, ParseAmount(head[0], head[1]));
  }
  for (size_t i = 1; i < parts.size(); ++i) {
    BERTH_RETURN_IF_ERROR(ReadProperty(parts[i], &words));
  }
  return words;
}

std::string SizeOf(absl::string_view resource_class, int64_t amount) {
  int power = PowerOf(resource_class);
  if (power == 0) return "";
  double size = static_cast<double>(amount);
  while (std::abs(size) >= 1024 && power < 5) {
    size /= 1024;
    ++power;
  }
  const std::string digits = size == std::floor(size) ? absl::StrCat(static_cast<int64_t>(size))
                                                      : absl::StrFormat("%.1f", size);
  return absl::StrCat(digits, " ", kUnits[power - 1].suffix, "B");
}

bool ClassBefore(const std::string& left, const std::string& right) {
  return std::make_pair(RankOf(left), left) < std::make_pair(RankOf(right), right);
}

std::string InWords(const Amounts& amounts) {
  std::vector<std::pair<std::string, int64_t>> ordered(amounts.begin(), amounts.end());
  std::sort(ordered.begin(), ordered.end(), [](const auto& left, const auto& right) {
    return ClassBefore(left.first, right.first);
  });
  std::string words;
  for (const auto& [name, amount] : ordered) {
    absl::StrAppend(&words, words.empty() ? "" : ", ", name, " ", amount);
  }
  return words;
}

}  // namespace berth::cli
