// ConsumerTable: all consumers by rising id, each packed into one block.
//
// There are millions of them, read one at a time: a consumer with three allocations takes about 160
// bytes here, table included, against 250 as a Consumer. Reading one unpacks it. A value with
// shared parts, like the PersistentMap underneath: a copy costs one pointer.
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

// A consumer without its id; immutable and counted. Times are kept to the microsecond.
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

  // The consumer, or null.
  ConsumerPtr Find(ConsumerId id) const;
  // The same without unpacking; valid until this table is changed or gone.
  const PackedConsumer* FindPacked(ConsumerId id) const { return consumers_.Find(id); }
  // Inserts or replaces; `owner`, which equals the consumer's own, is what the table keeps.
  void Put(const Consumer& consumer, std::shared_ptr<const Owner> owner);
  // Returns whether it was there.
  bool Erase(ConsumerId id) { return consumers_.Erase(id); }

  // Calls visit(id, consumer pointer) by rising id. A visit that returns false is the last one.
  template <typename Visit>
  void ForEach(Visit visit) const {
    consumers_.ForEach(Unpacking<Visit>{visit});
  }
  // The same for the ids after `after`.
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
