#include "tracker/ground/message_text.h"

#include <algorithm>
#include <cstdint>

namespace berth::tracker {
namespace {

bool IsContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// The bytes of the character at the beginning of `text`. 0: a message cannot have what is there.
size_t CharacterSize(absl::string_view text) {
  constexpr uint32_t kSmallest[] = {0, 1, 0x80, 0x800, 0x10000};  // by the number of bytes
  const auto first = static_cast<unsigned char>(text[0]);
  const size_t size = first < 0x80 ? 1 : first < 0xC0 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (size == 0 || size > text.size() || first >= 0xF8) return 0;
  uint32_t character = size == 1 ? first : first & (0x7Fu >> size);
  for (size_t i = 1; i < size; ++i) {
    if (!IsContinuation(text[i])) return 0;
    character = character << 6 | (static_cast<unsigned char>(text[i]) & 0x3Fu);
  }
  const bool surrogate = character >= 0xD800 && character <= 0xDFFF;
  return character < kSmallest[size] || surrogate || character > 0x10FFFF ? 0 : size;
}

}  // namespace

absl::string_view CutText(absl::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  size_t end = bytes_max;
  while (end > 0 && IsContinuation(text[end])) --end;
  return text.substr(0, end);
}

std::string MessageText(absl::string_view text) {
  std::string good;
  good.reserve(text.size());
  while (!text.empty()) {
    const size_t size = CharacterSize(text);
    if (size == 0) good += '?';
    good.append(text.data(), size);
    text.remove_prefix(std::max<size_t>(size, 1));
  }
  return good;
}

}  // namespace berth::tracker
