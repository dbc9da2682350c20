#include "tracker/ground/uuid.h"

#include <sys/random.h>

#include <array>
#include <cstddef>

#include "tracker/ground/check.h"
#include "tracker/ground/stable_hash.h"

namespace berth::tracker {
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

std::optional<Uuid> ParseName(absl::string_view text) {
  const std::optional<Uuid> uuid = Uuid::Parse(text);
  return uuid && !IsNil(*uuid) ? uuid : std::nullopt;
}

std::string TextOrEmpty(const Uuid& uuid) { return IsNil(uuid) ? "" : uuid.ToString(); }

Uuid NamedUuid(const Uuid& space, absl::string_view name) {
  StableHash hash;
  hash.Add(space.ToString());
  hash.Add(name);
  unsigned char bytes[16];
  for (int i = 0; i < 8; ++i) {
    bytes[i] = static_cast<unsigned char>(hash.high() >> (8 * i));
    bytes[8 + i] = static_cast<unsigned char>(hash.low() >> (8 * i));
  }
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0f) | 0x80);
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3f) | 0x80);
  return UuidFromBytes(bytes);
}

Uuid UuidFromBytes(const unsigned char (&bytes)[16]) {
  Uuid uuid;
  for (int i = 0; i < 8; ++i) {
    uuid.high = uuid.high << 8 | bytes[i];
    uuid.low = uuid.low << 8 | bytes[8 + i];
  }
  return uuid;
}

}  // namespace berth::tracker
