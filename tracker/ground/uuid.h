// The text form of uuids: 32 hexadecimal digits in groups of 8-4-4-4-12. The functions return lower
// case.
//
// Pure functions, apart from RandomUuid. Thread-safe.
#ifndef BERTH_TRACKER_GROUND_UUID_H_
#define BERTH_TRACKER_GROUND_UUID_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace berth::tracker {

// Returns `text` in lower case, or nothing if `text` is not a uuid. Upper case is accepted.
std::optional<std::string> CanonicalUuid(absl::string_view text);
// Returns `text` in lower case if `text` is a uuid, and unchanged if it is none.
std::string CanonicalIfUuid(absl::string_view text);

// Returns a new random uuid (version 4).
std::string RandomUuid();

// Returns the uuid of the thing that has this name inside the thing with the uuid `space`. It is the
// same in every call (version 8: the bits come from StableHash).
std::string NamedUuid(absl::string_view space, absl::string_view name);

// Returns the text of the uuid that has these 16 bytes.
std::string UuidFromBytes(const unsigned char (&bytes)[16]);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_GROUND_UUID_H_
