#include "services/cli/text/display_width.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace berth::cli {
namespace {

struct CodePoint {
  uint32_t value;
  size_t bytes;
};

struct Range {
  uint32_t first;
  uint32_t last;
};

constexpr Range kCombining[] = {{0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD},
                                {0x0610, 0x061A}, {0x064B, 0x065F}, {0x1AB0, 0x1AFF},
                                {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x20D0, 0x20FF},
                                {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}};
constexpr Range kWide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},
                           {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
                           {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F},
                           {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
constexpr char kEllipsis[] = "…";

template <size_t kCount>
bool In(const Range (&ranges)[kCount], uint32_t value) {
  return std::any_of(std::begin(ranges), std::end(ranges), [value](const Range& range) {
    return value >= range.first && value <= range.last;
  });
}

// Returns the first code point of `text`, which must not be empty. Each byte that is not part of
// valid UTF-8 counts as one code point.
CodePoint Front(absl::string_view text) {
  const auto byte = [text](size_t at) { return static_cast<uint8_t>(text[at]); };
  const uint8_t lead = byte(0);
  const size_t length = lead < 0x80    ? 1
                        : lead >= 0xF0 ? 4
                        : lead >= 0xE0 ? 3
                        : lead >= 0xC0 ? 2
                                       : 1;
  if (length == 1 || length > text.size()) return {lead, 1};
  uint32_t value = lead & (0x7F >> length);
  for (size_t at = 1; at < length; ++at) {
    if ((byte(at) & 0xC0) != 0x80) return {lead, 1};
    value = (value << 6) | (byte(at) & 0x3F);
  }
  return {value, length};
}

int WidthOf(uint32_t value) {
  if (value < 0x20 || value == 0x7F || In(kCombining, value)) return 0;
  return In(kWide, value) ? 2 : 1;
}

// Returns the length in bytes of the colour sequence at the beginning of `text`. 0: `text` does not
// begin with one.
size_t ColourBytes(absl::string_view text) {
  if (text.size() < 2 || text[0] != '\x1b' || text[1] != '[') return 0;
  const size_t end = text.find('m');
  return end == absl::string_view::npos ? 0 : end + 1;
}

}  // namespace

int DisplayWidth(absl::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const size_t colour = ColourBytes(text);
    if (colour > 0) {
      text.remove_prefix(colour);
      continue;
    }
    const CodePoint front = Front(text);
    width += WidthOf(front.value);
    text.remove_prefix(front.bytes);
  }
  return width;
}

std::string Printable(absl::string_view text) {
  std::string printable;
  while (!text.empty()) {
    const CodePoint front = Front(text);
    const bool control = front.value < 0x20 || (front.value >= 0x7F && front.value < 0xA0);
    const bool direction = (front.value >= 0x202A && front.value <= 0x202E) ||
                           (front.value >= 0x2066 && front.value <= 0x2069);
    const bool broken = front.bytes == 1 && front.value >= 0x80;
    if (control || direction || broken) {
      printable += "?";
    } else {
      absl::StrAppend(&printable, text.substr(0, front.bytes));
    }
    text.remove_prefix(front.bytes);
  }
  return printable;
}

std::string Fitted(absl::string_view text, int width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  std::string fitted;
  int taken = 1;  // the column of the ellipsis
  while (!text.empty() && width > 0) {
    const CodePoint front = Front(text);
    taken += WidthOf(front.value);
    if (taken > width) break;
    absl::StrAppend(&fitted, text.substr(0, front.bytes));
    text.remove_prefix(front.bytes);
  }
  return width > 0 ? fitted + kEllipsis : "";
}

std::string PaddedRight(absl::string_view text, int width) {
  return absl::StrCat(text, std::string(std::max(0, width - DisplayWidth(text)), ' '));
}

std::string PaddedLeft(absl::string_view text, int width) {
  return absl::StrCat(std::string(std::max(0, width - DisplayWidth(text)), ' '), text);
}

}  // namespace berth::cli
