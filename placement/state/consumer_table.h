// ConsumerTable: all consumers in order of id, each packed into one block of memory.
//
// There are millions of consumers. A consumer with three allocations takes about 160 bytes in the
// table, but 250 bytes as a Consumer. Find unpacks a consumer. The table is a value. A copy shares
// everything with the original and costs one pointer, like a copy of the PersistentMap in the
// table.
#ifndef BERTH_PLACEMENT_STATE_CONSUMER_TABLE_H_
#define BERTH_PLACEMENT_STATE_CONSUMER_TABLE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "absl/types/span.h"
#include "placement/state/persistent_map.h"
#include "placement/values/consumer.h"

namespace berth::placement {

// A consumer without its id, immutable and reference-counted. Times are in whole microseconds.
class PackedConsumer {
 public:
  PackedConsumer(const Consumer& consumer, std::shared_ptr<const Owner> owner);
  PackedConsumer(const PackedConsumer& other);
  PackedConsumer(PackedConsumer&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  PackedConsumer& operator=(PackedConsumer other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~PackedConsumer();

  Consumer Unpack(ConsumerId id) const;
  Generation generation() const;
  const std::shared_ptr<const Owner>& owner() const;
  absl::Span<const Allocation> allocations() const;
  std::optional<absl::Time> lease_expires_at() const;

 private:
  struct Block;
  Block* block_;
};

class ConsumerTable {
 public:
  int64_t size() const { return consumers_.size(); }
  bool empty() const { return consumers_.empty(); }

  // The consumer `id`, unpacked; null if it is absent.
  ConsumerPtr Find(ConsumerId id) const;
  // The consumer `id`, packed; null if it is absent. Valid until this table is changed or
  // destroyed.
  const PackedConsumer* FindPacked(ConsumerId id) const { return consumers_.Find(id); }
  // Inserts `consumer`, or replaces the consumer with the same id. The table keeps `owner` instead
  // of the consumer's own owner, so that equal owners share one object. REQUIRES: both owners are
  // equal.
  void Put(const Consumer& consumer, std::shared_ptr<const Owner> owner);
  // Removes the consumer. Returns whether the consumer was present.
  bool Erase(ConsumerId id) { return consumers_.Erase(id); }

  // Calls visit(id, consumer pointer) in order of id, until a call returns false. If `visit`
  // returns void, it is called for all consumers.
  template <typename Visit>
  void ForEach(Visit visit) const {
    consumers_.ForEach(Unpacking<Visit>{visit});
  }
  // Like ForEach, but only for the ids greater than `after`.
  template <typename Visit>
  void ForEachFrom(ConsumerId after, Visit visit) const {
    consumers_.ForEachFrom(after, Unpacking<Visit>{visit});
  }

 private:
  template <typename Visit>
  struct Unpacking {
    Visit& visit;
    auto operator()(ConsumerId id, const PackedConsumer& packed) const {
      return visit(id, std::make_shared<const Consumer>(packed.Unpack(id)));
    }
  };

  PersistentMap<ConsumerId, PackedConsumer> consumers_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STATE_CONSUMER_TABLE_H_
