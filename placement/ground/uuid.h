// Uuid: 128 bits, and the ids made of it, each a type of its own.
//
// Text in: hexadecimal of any case, with or without hyphens; text out: lower case 8-4-4-4-12 (P-6).
// The all-zero value is a legal uuid. Ids order like their text. Immutable values; safe to share
// between threads.
#ifndef BERTH_PLACEMENT_GROUND_UUID_H_
#define BERTH_PLACEMENT_GROUND_UUID_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace berth::placement {

struct Uuid {
  uint64_t high = 0;
  uint64_t low = 0;

  // The uuid that `text` spells, or nothing where it spells none: 32 hexadecimal digits, bare or
  // with the four hyphens of the canonical form. Braces and `urn:uuid:` are refused.
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

// A Uuid that names one kind of thing; `Kind` keeps the kinds apart.
template <typename Kind>
struct Id {
  Uuid uuid;

  static std::optional<Id> Parse(absl::string_view text) {
    const std::optional<Uuid> parsed = Uuid::Parse(text);
    if (!parsed) return std::nullopt;
    return Id{*parsed};
  }
  std::string ToString() const { return uuid.ToString(); }

  friend auto operator<=>(const Id&, const Id&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Id& id) {
    return H::combine(std::move(h), id.uuid);
  }
};

using ProviderId =
    Id<struct ProviderKind>;  // a resource provider; a node has the id of its root provider
using ConsumerId =
    Id<struct ConsumerKind>;  // an instance, a migration, or whatever holds allocations
using AggregateId = Id<struct AggregateKind>;  // nothing but a uuid (P-22)
using BatchId = Id<struct BatchKind>;          // one committed batch of the ledger

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_GROUND_UUID_H_
