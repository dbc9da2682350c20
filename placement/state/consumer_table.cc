#include "placement/state/consumer_table.h"

#include <algorithm>
#include <new>

#include "placement/ground/check.h"

namespace berth::placement {

// The beginning of a block of memory. The allocations follow it in the same block, and then, if the
// consumer has a lease, the end of the lease. Few of the millions of consumers have a lease.
struct PackedConsumer::Block {
  std::atomic<uint32_t> references{1};
  uint32_t count : 31 = 0;
  uint32_t leased : 1 = 0;
  Generation generation;
  std::shared_ptr<const Owner> owner;
  int64_t created_at_us = 0;
  int64_t updated_at_us = 0;

  Allocation* allocations() { return reinterpret_cast<Allocation*>(this + 1); }
  int64_t* lease_expires_at_us() { return reinterpret_cast<int64_t*>(allocations() + count); }
};

PackedConsumer::PackedConsumer(const Consumer& consumer, std::shared_ptr<const Owner> owner) {
  static_assert(std::is_trivially_copyable_v<Allocation>);
  static_assert(alignof(Allocation) <= alignof(Block) && alignof(Allocation) >= alignof(int64_t));
  const size_t count = consumer.allocations.size();
  const size_t lease_size = consumer.lease_expires_at ? sizeof(int64_t) : 0;
  block_ = new (::operator new(sizeof(Block) + count * sizeof(Allocation) + lease_size)) Block;
  block_->count = static_cast<uint32_t>(count);
  block_->generation = consumer.generation;
  block_->owner = std::move(owner);
  block_->created_at_us = absl::ToUnixMicros(consumer.created_at);
  block_->updated_at_us = absl::ToUnixMicros(consumer.updated_at);
  std::uninitialized_copy(consumer.allocations.begin(), consumer.allocations.end(),
                          block_->allocations());
  if (consumer.lease_expires_at) {
    block_->leased = 1;
    *block_->lease_expires_at_us() = absl::ToUnixMicros(*consumer.lease_expires_at);
  }
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
                  .updated_at = absl::FromUnixMicros(block_->updated_at_us),
                  .lease_expires_at = lease_expires_at()};
}

Generation PackedConsumer::generation() const { return block_->generation; }

const std::shared_ptr<const Owner>& PackedConsumer::owner() const { return block_->owner; }

absl::Span<const Allocation> PackedConsumer::allocations() const {
  return {block_->allocations(), block_->count};
}

std::optional<absl::Time> PackedConsumer::lease_expires_at() const {
  if (!block_->leased) return std::nullopt;
  return absl::FromUnixMicros(*block_->lease_expires_at_us());
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
