// Uuid: 128 bits. Id<Kind>: a Uuid with a type of its own for each kind of thing, e.g. ProviderId.
//
// Parse accepts hexadecimal digits of any case, with or without hyphens. ToString writes lower
// case, 8-4-4-4-12 (P-6). The all-zero value is a legal uuid. Ids sort in the same order as their
// texts. Uuids and ids are immutable values that threads may share.
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

// The Uuid of one kind of thing. Ids of different kinds have different types, so that they cannot
// be mixed up.
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
using AggregateId = Id<struct AggregateKind>;  // providers name any (P-22); some have a name
using InstanceId = Id<struct InstanceKind>;    // the guest and the consumer have the same uuid
using MigrationId = Id<struct MigrationKind>;  // the consumer of the move has the same uuid
using ServerGroupId = Id<struct ServerGroupKind>;
using BatchId = Id<struct BatchKind>;  // one committed batch of the ledger

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_GROUND_UUID_H_
