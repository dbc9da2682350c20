#include "tracker/ground/uuid.h"

#include <cstdint>
#include <cstring>

#include "absl/random/random.h"
#include "absl/strings/ascii.h"
#include "tracker/ground/stable_hash.h"

namespace berth::tracker {

std::optional<std::string> CanonicalUuid(absl::string_view text) {
  if (text.size() != 36) return std::nullopt;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !absl::ascii_isxdigit(static_cast<unsigned char>(text[i]))) {
      return std::nullopt;
    }
  }
  return absl::AsciiStrToLower(text);
}

std::string CanonicalIfUuid(absl::string_view text) {
  return CanonicalUuid(text).value_or(std::string(text));
}

std::string RandomUuid() {
  absl::BitGen random;
  unsigned char bytes[16];
  const uint64_t words[2] = {absl::Uniform<uint64_t>(random), absl::Uniform<uint64_t>(random)};
  std::memcpy(bytes, words, sizeof bytes);
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3f) | 0x80);
  return UuidFromBytes(bytes);
}

std::string NamedUuid(absl::string_view space, absl::string_view name) {
  StableHash hash;
  hash.Add(space);
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

std::string UuidFromBytes(const unsigned char (&bytes)[16]) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

}  // namespace berth::tracker
