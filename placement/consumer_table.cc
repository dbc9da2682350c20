#include "placement/consumer_table.h"

#include <algorithm>
#include <new>

#include "placement/check.h"

namespace berth::placement {

// The allocations stand behind it in the same allocation.
struct PackedConsumer::Block {
  std::atomic<uint32_t> references{1};
  uint32_t count = 0;
  Generation generation;
  std::shared_ptr<const Owner> owner;
  int64_t created_at_us = 0;
  int64_t updated_at_us = 0;

  Allocation* allocations() { return reinterpret_cast<Allocation*>(this + 1); }
};

PackedConsumer::PackedConsumer(const Consumer& consumer, std::shared_ptr<const Owner> owner) {
  static_assert(std::is_trivially_copyable_v<Allocation>);
  static_assert(alignof(Allocation) <= alignof(Block));
  const size_t count = consumer.allocations.size();
  block_ = new (::operator new(sizeof(Block) + count * sizeof(Allocation))) Block;
  block_->count = static_cast<uint32_t>(count);
  block_->generation = consumer.generation;
  block_->owner = std::move(owner);
  block_->created_at_us = absl::ToUnixMicros(consumer.created_at);
  block_->updated_at_us = absl::ToUnixMicros(consumer.updated_at);
  std::uninitialized_copy(consumer.allocations.begin(), consumer.allocations.end(),
                          block_->allocations());
}

PackedConsumer::PackedConsumer(const PackedConsumer& other) : block_(other.block_) {
  block_->references.fetch_add(1, std::memory_order_relaxed);
}

PackedConsumer::~PackedConsumer() {
  if (block_ == nullptr || block_->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  block_->~Block();
  ::operator delete(block_);
}

Consumer PackedConsumer::Unpack(ConsumerId id) const {
  const absl::Span<const Allocation> rows = allocations();
  return Consumer{.id = id,
                  .generation = block_->generation,
                  .owner = block_->owner,
                  .allocations = {rows.begin(), rows.end()},
                  .created_at = absl::FromUnixMicros(block_->created_at_us),
                  .updated_at = absl::FromUnixMicros(block_->updated_at_us)};
}

Generation PackedConsumer::generation() const { return block_->generation; }

const std::shared_ptr<const Owner>& PackedConsumer::owner() const { return block_->owner; }

absl::Span<const Allocation> PackedConsumer::allocations() const {
  return {block_->allocations(), block_->count};
}

ConsumerPtr ConsumerTable::Find(ConsumerId id) const {
  const PackedConsumer* packed = consumers_.Find(id);
  if (packed == nullptr) return nullptr;
  return std::make_shared<const Consumer>(packed->Unpack(id));
}

void ConsumerTable::Put(const Consumer& consumer, std::shared_ptr<const Owner> owner) {
  BERTH_CHECK(*consumer.owner == *owner);
  consumers_.Put(consumer.id, PackedConsumer(consumer, std::move(owner)));
}

}  // namespace berth::placement
