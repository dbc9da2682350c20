// The value types of the domain, with the meaning of each number.
//
// Plain values that threads may share. The rules check the ranges that are given here; the types do
// not.
#ifndef BERTH_PLACEMENT_VALUES_TYPES_H_
#define BERTH_PLACEMENT_VALUES_TYPES_H_

#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "placement/ground/uuid.h"

namespace berth::placement {

// The largest total, unit or request (P-7, P-25).
inline constexpr int64_t kAmountMax = std::numeric_limits<int32_t>::max();

// An amount of a resource class. One allocation has 1..kAmountMax. Sums may be larger, for example
// an inventory's capacity or how much of the inventory is used.
using Amount = int64_t;

// The index of a resource class or trait in the Catalog. Never reused within one ledger.
enum class ClassId : uint32_t {};
enum class TraitId : uint32_t {};

// An entity's counter for optimistic locking. The counter starts at the number of the command that
// made the entity and rises by 1 per change. So it never repeats, even if an entity with the same
// uuid existed before (P-5, D-39). Compare for equality only (P-94).
struct Generation {
  int64_t value = 0;
  Generation Next() const { return Generation{value + 1}; }
  friend auto operator<=>(const Generation&, const Generation&) = default;
};

// A point in the ledger's history. `number` counts the committed batches from 1; a new epoch does
// not restart the count. An operator starts a new epoch after the database lost commits, for
// example when an old backup was restored. {0, 0} is the empty ledger.
struct Revision {
  int64_t epoch = 0;
  int64_t number = 0;
  // The first half of the id of the batch that made this revision; 0 if it is not known. The order
  // and the equality of revisions ignore this field. A restored database gives the same numbers to
  // other batches; this field then distinguishes the old revision from the new one.
  uint64_t batch = 0;

  friend bool operator==(const Revision& a, const Revision& b) {
    return a.epoch == b.epoch && a.number == b.number;
  }
  friend std::strong_ordering operator<=>(const Revision& a, const Revision& b) {
    return a.epoch != b.epoch ? a.epoch <=> b.epoch : a.number <=> b.number;
  }
};

// Whether the equal revisions `a` and `b` may be from one history: they are from the same batch, or
// the batch of one of them is not known.
inline bool MayBeOneHistory(const Revision& a, const Revision& b) {
  return a.batch == 0 || b.batch == 0 || a.batch == b.batch;
}

// The inventory that a provider offers of one class. If the caller omits a field, the default here
// applies (P-14).
struct Inventory {
  Amount total = 0;     // 1..kAmountMax
  Amount reserved = 0;  // 0..total
  Amount min_unit = 1;  // 1..kAmountMax; if it exceeds max_unit, nothing can be allocated (P-18)
  Amount max_unit = kAmountMax;   // 1..kAmountMax
  Amount step_size = 1;           // 1..kAmountMax
  double allocation_ratio = 1.0;  // finite, > 0, <= 3.40282e38

  friend bool operator==(const Inventory&, const Inventory&) = default;
};

struct ClassAmount {
  ClassId resource_class{};
  Amount amount = 0;
  friend auto operator<=>(const ClassAmount&, const ClassAmount&) = default;
};

// One allocation of a consumer (P-25). It takes only 24 bytes, because there are millions of
// allocations.
struct Allocation {
  ProviderId provider;
  ClassId resource_class{};
  int32_t amount = 0;  // 1..kAmountMax
  friend auto operator<=>(const Allocation&, const Allocation&) = default;
};

// Amounts and inventories as callers give them, with the name of the class. A rule looks up the
// name in the catalog of the state that it decides on.
struct NamedAmount {
  std::string resource_class;
  Amount amount = 0;
};
struct ProviderAmounts {
  ProviderId provider;
  std::vector<NamedAmount> amounts;
};
struct NamedInventory {
  std::string resource_class;
  Inventory inventory;
};

template <typename H>
H AbslHashValue(H h, const Generation& generation) {
  return H::combine(std::move(h), generation.value);
}

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_VALUES_TYPES_H_
