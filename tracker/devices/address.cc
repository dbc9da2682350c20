#include "tracker/devices/address.h"

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tracker/ground/status_macros.h"

namespace berth::tracker {
namespace {

struct PartLimits {
  absl::string_view name;
  uint32_t max;
  int width;
};
constexpr std::array<PartLimits, 4> kParts = {
    {{"domain", 0xFFFF, 4}, {"bus", 0xFF, 2}, {"slot", 0x1F, 2}, {"function", 0x7, 1}}};
constexpr absl::string_view kAny = "*";

bool IsFullNumber(const std::string& text, int width) {
  if (static_cast<int>(text.size()) != width) return false;
  for (const char digit : text) {
    if (!absl::ascii_isxdigit(static_cast<unsigned char>(digit))) return false;
  }
  return true;
}

// Returns `text` in the form of part `index`; InvalidArgument if it is no number in its limits.
absl::StatusOr<std::string> NormalPart(size_t index, absl::string_view text) {
  const PartLimits& part = kParts[index];
  const std::optional<uint32_t> number = ParseHexNumber(text);
  if (!number) {
    return absl::InvalidArgumentError(
        absl::StrCat(part.name, " '", text, "' is not a hexadecimal number"));
  }
  if (*number > part.max) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s %X is larger than %X (hexadecimal)", part.name, *number, part.max));
  }
  return absl::StrFormat("%0*x", part.width, *number);
}

// Splits `domain:bus:slot.function` into its parts; parts on the left may be absent. Returns
// nothing if there are more than three parts before the function.
std::optional<std::array<absl::string_view, 4>> SplitParts(absl::string_view text) {
  std::array<absl::string_view, 4> parts;
  const std::pair<absl::string_view, absl::string_view> halves =
      absl::StrSplit(text, absl::MaxSplits('.', 1));
  parts[3] = absl::StripAsciiWhitespace(halves.second);
  const std::vector<absl::string_view> fields = absl::StrSplit(halves.first, ':');
  if (fields.size() > 3) return std::nullopt;
  for (size_t i = 0; i < fields.size(); ++i) {
    parts[3 - fields.size() + i] = absl::StripAsciiWhitespace(fields[i]);
  }
  return parts;
}

}  // namespace

std::optional<uint32_t> ParseHexNumber(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  uint32_t number = 0;
  if (absl::StartsWith(text, "+") || !absl::SimpleHexAtoi(text, &number)) return std::nullopt;
  return number;
}

std::optional<AddressParts> SplitAddress(absl::string_view address) {
  const auto parts = SplitParts(address);
  if (!parts) return std::nullopt;
  AddressParts normal;
  for (size_t i = 0; i < kParts.size(); ++i) {
    absl::StatusOr<std::string> part = NormalPart(i, (*parts)[i]);
    if (!part.ok()) return std::nullopt;
    normal[i] = *std::move(part);
  }
  return normal;
}

absl::StatusOr<AddressPattern> AddressPattern::FromGlob(absl::string_view text) {
  const auto parts = SplitParts(text);
  if (!parts)
    return absl::InvalidArgumentError(
        "is not valid: write DOMAIN:BUS:SLOT.FUNCTION, such as 0000:81:00.0");
  AddressPattern pattern;
  AddressParts normal;
  bool single = true;
  for (size_t i = 0; i < kParts.size(); ++i) {
    if ((*parts)[i].empty() || (*parts)[i] == kAny) {
      single = false;
      continue;
    }
    BERTH_ASSIGN_OR_RETURN(std::string part, NormalPart(i, (*parts)[i]));
    normal[i] = part;
    pattern.parts_[i] = std::move(part);
  }
  if (single) pattern.single_ = std::move(normal);
  return pattern;
}

absl::StatusOr<AddressPattern> AddressPattern::FromExpressions(
    const std::array<std::optional<std::string>, 4>& expressions) {
  AddressPattern pattern;
  AddressParts normal;
  bool single = true;
  for (size_t i = 0; i < kParts.size(); ++i) {
    const std::string text = expressions[i].value_or(".*");
    try {
      pattern.parts_[i] = std::regex(text, std::regex::ECMAScript | std::regex::icase);
    } catch (const std::regex_error& error) {  // the only way in which std::regex refuses a text
      return absl::InvalidArgumentError(absl::StrCat(
          kParts[i].name, " '", text, "' is not a regular expression: ", error.what()));
    }
    single = single && IsFullNumber(text, kParts[i].width);
    normal[i] = absl::AsciiStrToLower(text);
  }
  if (single) pattern.single_ = std::move(normal);
  return pattern;
}

bool AddressPattern::Matches(const AddressParts& address) const {
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (const auto* const text = std::get_if<std::string>(&parts_[i])) {
      if (*text != kAny && *text != address[i]) return false;
    } else if (!std::regex_search(address[i], std::get<std::regex>(parts_[i]),
                                  std::regex_constants::match_continuous)) {
      return false;
    }
  }
  return true;
}

}  // namespace berth::tracker
