// The value types of the domain: what each number means.
//
// Plain values without invariants of their own beyond the ranges named here; rules check them. Safe
// to copy and share.
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

// How much of a class: of one allocation 1..kAmountMax; sums (used, capacity) may be larger.
using Amount = int64_t;

// Index of a resource class or trait in the Catalog. Never reused within one ledger.
enum class ClassId : uint32_t {};
enum class TraitId : uint32_t {};

// An entity's counter for optimistic locking. It starts at the number of the command that made the
// entity and rises by 1 per change, so that it never repeats for a uuid that existed before (P-5,
// D-39). Compare for equality only (P-94).
struct Generation {
  int64_t value = 0;
  Generation Next() const { return Generation{value + 1}; }
  friend auto operator<=>(const Generation&, const Generation&) = default;
};

// A point in the ledger's history: `number` counts committed batches from 1 and goes on across
// epochs; an operator starts a new epoch when the database went back in time. {0, 0} is the empty
// ledger.
struct Revision {
  int64_t epoch = 0;
  int64_t number = 0;
  // The first half of the id of the batch that made this revision; 0: not known. Revisions are
  // ordered and compared without it. A restored database gives the same numbers to other batches;
  // this field then tells the old revision from the new one.
  uint64_t batch = 0;

  friend bool operator==(const Revision& a, const Revision& b) {
    return a.epoch == b.epoch && a.number == b.number;
  }
  friend std::strong_ordering operator<=>(const Revision& a, const Revision& b) {
    return a.epoch != b.epoch ? a.epoch <=> b.epoch : a.number <=> b.number;
  }
};

// Whether `a` and `b`, which are equal, may be of one history: their batches are the same, or one
// of them is not known.
inline bool MayBeOneHistory(const Revision& a, const Revision& b) {
  return a.batch == 0 || b.batch == 0 || a.batch == b.batch;
}

// What a provider offers of one class (spec 1.3). The defaults are those of an omitted field
// (P-14).
struct Inventory {
  Amount total = 0;     // 1..kAmountMax
  Amount reserved = 0;  // 0..total
  Amount min_unit =
      1;  // 1..kAmountMax; may exceed max_unit, the inventory is then unallocatable (P-18)
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

// One allocation row of a consumer (P-25): 24 bytes, for there are millions.
struct Allocation {
  ProviderId provider;
  ClassId resource_class{};
  int32_t amount = 0;  // 1..kAmountMax
  friend auto operator<=>(const Allocation&, const Allocation&) = default;
};

// The same as they are asked for, by name: rules resolve names against the catalog of the state
// that they decide on.
struct NamedAmount {
  std::string resource_class;
  Amount amount = 0;
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
