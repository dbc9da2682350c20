#include "tracker/cells/memory_wishes.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tracker/cells/guest_fault.h"
#include "tracker/cells/topology.h"

namespace berth::tracker {
namespace {

using Kind = GuestFaultKind;

// No memory page is larger than this.
constexpr double kPageBytesMax = 1024.0 * 1024 * 1024 * 1024 * 1024;

bool IsDigits(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return absl::ascii_isdigit(c); });
}

// Converts a number with a unit, for example 2MB, 1.5GB or 1Gb, to KiB. The unit is B, or b or bit
// for bits, after an optional letter K, M, G and so on, each 1024 times the one before. The number
// has no sign, and a digit after its point. Returns nothing for every other text.
std::optional<int64_t> KibOf(absl::string_view text) {
  double unit = 1;
  if (absl::ConsumeSuffix(&text, "bit") || absl::ConsumeSuffix(&text, "b")) {
    unit = 0.125;
  } else if (!absl::ConsumeSuffix(&text, "B")) {
    return std::nullopt;
  }
  constexpr absl::string_view kLetters = "KMGTP";
  const size_t letter = text.empty() ? kLetters.npos : kLetters.find(text.back());
  if (letter != kLetters.npos) {
    unit *= std::pow(1024.0, static_cast<double>(letter) + 1);
    text.remove_suffix(1);
  }
  double number = 0;
  const bool plain =
      text.find_first_not_of("0123456789.") == text.npos && !absl::EndsWith(text, ".");
  if (!plain || !absl::SimpleAtod(text, &number)) return std::nullopt;
  const double bytes = std::ceil(number * unit);
  if (bytes < 1024 || bytes > kPageBytesMax) return std::nullopt;
  return static_cast<int64_t>(bytes) / 1024;
}

absl::StatusOr<int64_t> PageSizeOf(absl::string_view name, absl::string_view text) {
  if (text == "small") return kSmallPages;
  if (text == "large") return kLargePages;
  if (text == "any") return kAnyPages;
  std::optional<int64_t> size = KibOf(text);
  if (int64_t number = 0; IsDigits(text) && absl::SimpleAtoi(text, &number)) size = number;
  if (size && *size <= static_cast<int64_t>(kPageBytesMax) / 1024) return *size;
  return RefuseGuest(
      Kind::kPageSizeInvalid, name,
      absl::StrCat("must be small, large, any, or a size such as 2MB, but is '", text, "'"));
}

}  // namespace

absl::StatusOr<int64_t> ReadPageSize(const GuestWishes& wishes) {
  const absl::string_view flavor = SettingOf(wishes.flavor, "hw:mem_page_size");
  const absl::string_view image = SettingOf(wishes.image, "hw_mem_page_size");
  absl::StatusOr<int64_t> size = kNoPageSize;
  if (!flavor.empty()) size = PageSizeOf("hw:mem_page_size", flavor);
  if (!size.ok() || image.empty()) return size;
  if (*size == kAnyPages || *size == kLargePages) return PageSizeOf("hw_mem_page_size", image);
  return RefuseGuest(
      Kind::kPageSizeForbidden, "hw_mem_page_size",
      "the image may choose a page size only if the flavor has hw:mem_page_size=any or large");
}

absl::Status CheckLockedMemory(const GuestWishes& wishes) {
  const auto flavor = wishes.flavor.find("hw:locked_memory");
  const auto image = wishes.image.find("hw_locked_memory");
  const bool by_flavor = flavor != wishes.flavor.end();
  const bool by_image = image != wishes.image.end();
  const bool locked = by_flavor ? IsYes(flavor->second) : by_image && IsYes(image->second);
  if (by_flavor && by_image && IsYes(image->second) != locked) {
    return RefuseGuest(
        Kind::kLockedMemoryConflict, "hw_locked_memory",
        "the flavor and the image contradict each other: one locks the memory, the other does not");
  }
  if (!locked || !SettingOf(wishes.flavor, "hw:mem_page_size").empty() ||
      !SettingOf(wishes.image, "hw_mem_page_size").empty()) {
    return absl::OkStatus();
  }
  return RefuseGuest(
      Kind::kLockedMemoryNeedsPageSize, by_flavor ? "hw:locked_memory" : "hw_locked_memory",
      "locked memory is only possible if the flavor or the image also sets a page size");
}

}  // namespace berth::tracker
