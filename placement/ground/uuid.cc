#include "placement/ground/uuid.h"

#include <sys/random.h>

#include <array>
#include <cstddef>

#include "placement/ground/check.h"

namespace berth::placement {
namespace {

constexpr bool IsHyphenAt(size_t position) {
  return position == 8 || position == 13 || position == 18 || position == 23;
}

int DigitOf(char character) {
  if (character >= '0' && character <= '9') return character - '0';
  if (character >= 'a' && character <= 'f') return character - 'a' + 10;
  if (character >= 'A' && character <= 'F') return character - 'A' + 10;
  return -1;
}

}  // namespace

std::optional<Uuid> Uuid::Parse(absl::string_view text) {
  const bool hyphens = text.size() == 36;
  if (!hyphens && text.size() != 32) return std::nullopt;
  Uuid uuid;
  for (size_t i = 0; i < text.size(); ++i) {
    if (hyphens && IsHyphenAt(i)) {
      if (text[i] != '-') return std::nullopt;
      continue;
    }
    const int digit = DigitOf(text[i]);
    if (digit < 0) return std::nullopt;
    uuid.high = uuid.high << 4 | uuid.low >> 60;
    uuid.low = uuid.low << 4 | static_cast<uint64_t>(digit);
  }
  return uuid;
}

Uuid Uuid::Random() {
  Uuid uuid;
  // Once the kernel has seeded its generator at boot, getrandom fills the whole buffer if that has
  // at most 256 bytes.
  BERTH_CHECK(getrandom(&uuid, sizeof(uuid), 0) == sizeof(uuid));
  uuid.high = (uuid.high & ~uint64_t{0xf000}) | 0x4000;              // version 4
  uuid.low = (uuid.low & ~(uint64_t{3} << 62)) | uint64_t{2} << 62;  // its variant
  return uuid;
}

std::string Uuid::ToString() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text(36, '-');
  int shift = 60;
  uint64_t half = high;
  for (size_t i = 0; i < text.size(); ++i) {
    if (IsHyphenAt(i)) continue;
    text[i] = kDigits[half >> shift & 15];
    shift -= 4;
    if (shift < 0) {
      shift = 60;
      half = low;
    }
  }
  return text;
}

}  // namespace berth::placement
