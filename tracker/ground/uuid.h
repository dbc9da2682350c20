// Uuid: 128 bits, the identity of a node, a provider, an instance or another consumer.
//
// Parse accepts hexadecimal digits of any case, with or without hyphens. ToString writes lower
// case, 8-4-4-4-12 (P-6). Uuids sort in the same order as their texts. Text becomes a Uuid where it
// enters the tracker, and a Uuid becomes text where it leaves. Inside the tracker the all-zero value
// says that there is no uuid, where the comment of a field allows that.
//
// Immutable values that threads may share, and functions that any thread may call.
#ifndef BERTH_TRACKER_GROUND_UUID_H_
#define BERTH_TRACKER_GROUND_UUID_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace berth::tracker {

struct Uuid {
  uint64_t high = 0;
  uint64_t low = 0;

  // The uuid in `text`: 32 hexadecimal digits, either without hyphens or with the four hyphens of
  // the canonical form. Nothing if `text` is anything else, for example if it has braces or begins
  // with `urn:uuid:`.
  static std::optional<Uuid> Parse(absl::string_view text);
  // A random (version 4) uuid from the operating system's generator.
  static Uuid Random();

  std::string ToString() const;

  friend auto operator<=>(const Uuid&, const Uuid&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Uuid& uuid) {
    return H::combine(std::move(h), uuid.high, uuid.low);
  }
};

inline bool IsNil(const Uuid& uuid) { return uuid == Uuid(); }

// The uuid in `text`, which names a thing. Nothing also if the uuid is nil.
std::optional<Uuid> ParseName(absl::string_view text);
// The uuid in `text`. Nil if `text` is none.
inline Uuid UuidOrNil(absl::string_view text) { return Uuid::Parse(text).value_or(Uuid()); }
// The text of `uuid`. Empty if `uuid` is nil.
std::string TextOrEmpty(const Uuid& uuid);

// Returns the uuid of the thing that has this name inside the thing with the uuid `space`. It is the
// same in every call (version 8: the bits come from StableHash).
Uuid NamedUuid(const Uuid& space, absl::string_view name);

// Returns the uuid that has these 16 bytes.
Uuid UuidFromBytes(const unsigned char (&bytes)[16]);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_GROUND_UUID_H_
