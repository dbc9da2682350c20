// Text of a uuid: 32 hexadecimal digits in groups of 8-4-4-4-12, lower case when we write it.
//
// Functions of values; thread-safe.
#ifndef BERTH_TRACKER_GROUND_UUID_H_
#define BERTH_TRACKER_GROUND_UUID_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace berth::tracker {

// The canonical text of `text`, or nothing when it is not a uuid. Upper case is accepted.
std::optional<std::string> CanonicalUuid(absl::string_view text);

// A new random (version 4) uuid.
std::string RandomUuid();

// The uuid that 16 bytes stand for.
std::string UuidFromBytes(const unsigned char (&bytes)[16]);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_GROUND_UUID_H_
