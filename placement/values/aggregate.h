// Aggregates: the names and the metadata of sets of providers, such as racks or zones.
//
// An aggregate is an entity of the ledger beside the bare uuids that providers name (P-22). The uuid
// that a provider names needs no aggregate, and an aggregate needs no provider that names it.
#ifndef BERTH_PLACEMENT_VALUES_AGGREGATE_H_
#define BERTH_PLACEMENT_VALUES_AGGREGATE_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "placement/values/types.h"

namespace berth::placement {

// The maximum numbers of entries in the metadata of an aggregate, of characters in the value of an
// entry, and of bytes in all keys and values together.
inline constexpr size_t kMetadataEntriesMax = 256;
inline constexpr int64_t kMetadataValueMax = 1024;
inline constexpr size_t kMetadataBytesMax = 64 << 10;

struct Aggregate {
  AggregateId id;
  Generation generation;
  std::string name;  // 1..255 characters, one line; no other aggregate has it
  // What schedulers read. A key has 1..255 characters and one line, a value 0..1024 characters.
  std::map<std::string, std::string> metadata;
  absl::Time created_at;
  absl::Time updated_at;

  friend bool operator==(const Aggregate&, const Aggregate&) = default;
};
using AggregatePtr = std::shared_ptr<const Aggregate>;

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_VALUES_AGGREGATE_H_
