// Uuids that tests name in short: "i1"_uuid. The uuids of two names are different, and sort like the
// names.
//
// Pure functions.
#ifndef BERTH_TESTS_PROCESSES_SHORT_UUID_H_
#define BERTH_TESTS_PROCESSES_SHORT_UUID_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "tracker/ground/check.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {

// The bytes of the uuid are those of the name, with zeros behind them. The empty name is the nil
// uuid, and the text of a uuid is this uuid.
inline Uuid ShortUuid(absl::string_view name) {
  if (const std::optional<Uuid> whole = Uuid::Parse(name)) return *whole;
  unsigned char bytes[16] = {};
  BERTH_CHECK(name.size() <= sizeof bytes);
  for (size_t i = 0; i < name.size(); ++i) bytes[i] = static_cast<unsigned char>(name[i]);
  return UuidFromBytes(bytes);
}

inline Uuid operator""_uuid(const char* name, size_t size) { return ShortUuid({name, size}); }

// The name of which `uuid` was made; the text of a uuid that was not made of a name.
inline std::string ShortName(const Uuid& uuid) {
  std::string name;
  for (int shift = 120; shift >= 0; shift -= 8) {
    const uint64_t half = shift >= 64 ? uuid.high : uuid.low;
    const char byte = static_cast<char>(half >> (shift % 64) & 0xff);
    if (byte != '\0' && !absl::ascii_isprint(static_cast<unsigned char>(byte))) {
      return uuid.ToString();
    }
    if (byte != '\0') name += byte;
  }
  return name;
}

// `text` with the names in the place of the uuids.
inline std::string WithShortNames(absl::string_view text) {
  constexpr size_t kSize = 36;
  std::string result;
  while (!text.empty()) {
    const std::optional<Uuid> uuid = Uuid::Parse(text.substr(0, kSize));
    result += uuid ? ShortName(*uuid) : std::string(text.substr(0, 1));
    text.remove_prefix(uuid ? kSize : 1);
  }
  return result;
}

}  // namespace berth::tracker

#endif  // BERTH_TESTS_PROCESSES_SHORT_UUID_H_
