#include "placement/values/capacity.h"

#include <limits>

#include "gtest/gtest.h"

namespace berth::placement {
namespace {

constexpr Amount kMost = std::numeric_limits<Amount>::max();

TEST(Capacity, TruncatesTheDoubleProduct) {
  struct Case {
    Amount total, reserved;
    double ratio;
    Amount capacity;
  };
  for (const Case& c : std::vector<Case>{
           {3, 0, 1.5, 4},      // P-27
           {10, 0, 0.1, 1},     // P-27
           {100, 0, 0.29, 28},  // P-27: the double product is 28.999...
           {10, 4, 1.0, 6},
           {10, 10, 16.0, 0},  // P-16
           {1, 0, 0.5, 0},
           {24, 0, 16.0, 384},
           {kAmountMax, 0, 1.0, kAmountMax},
           {kAmountMax, 0, 4294967296.0, kAmountMax << 32},
           {kAmountMax, 0, 3.4e38, kMost},
       }) {
    Inventory inventory{.total = c.total, .reserved = c.reserved};
    inventory.allocation_ratio = c.ratio;
    EXPECT_EQ(CapacityOf(inventory), c.capacity)
        << c.total << " - " << c.reserved << " x " << c.ratio;
  }
}

// A sum is at most the product where it is at most the product without its fraction.
TEST(Capacity, TheFractionMakesNoDifference) {
  for (const double ratio : {0.1, 0.29, 0.5, 0.999, 1.0, 1.5, 16.0, 1.0 / 3}) {
    for (Amount total = 1; total <= 100; ++total) {
      Inventory inventory{.total = total};
      inventory.allocation_ratio = ratio;
      const double product = static_cast<double>(total) * ratio;
      for (const Amount sum : {Amount{0}, static_cast<Amount>(product), total}) {
        for (const Amount around : {sum, sum + 1}) {
          EXPECT_EQ(RoomAllows(CapacityOf(inventory), 0, around),
                    static_cast<double>(around) <= product)  // P-28
              << around << " of " << total << " x " << ratio;
        }
      }
    }
  }
}

TEST(Capacity, FitsWithinUnitsAndRoom) {
  struct Case {
    Amount min_unit, max_unit, step_size, capacity, used, amount;
    bool units, fits;
  };
  for (const Case& c : std::vector<Case>{
           {1, 100, 1, 10, 0, 10, true, true},
           {1, 100, 1, 10, 0, 11, true, false},  // P-30: room
           {1, 100, 1, 10, 4, 6, true, true},    // P-30
           {1, 100, 1, 10, 4, 7, true, false},   // P-30
           {1, 100, 1, 10, 12, 1, true, false},  // P-90
           {4, 100, 1, 10, 0, 3, false, false},  // P-30: min_unit
           {4, 100, 1, 10, 0, 4, true, true},
           {1, 5, 1, 10, 0, 6, false, false},  // P-30: max_unit
           {1, 5, 1, 10, 0, 5, true, true},
           {1, 100, 4, 10, 0, 6, false, false},  // P-30: step_size
           {1, 100, 4, 10, 0, 8, true, true},
           {10, 5, 1, 10, 0, 7, false, false},  // P-18
           {1, 5, 10, 10, 0, 5, false, false},  // P-18
           {1, kAmountMax, 1, kMost, 0, kAmountMax, true, true},
       }) {
    Inventory inventory{.total = 1};
    inventory.min_unit = c.min_unit;
    inventory.max_unit = c.max_unit;
    inventory.step_size = c.step_size;
    EXPECT_EQ(UnitsAllow(inventory, c.amount), c.units) << c.amount;
    EXPECT_EQ(Fits(inventory, c.capacity, c.used, c.amount), c.fits) << c.amount;
  }
}

TEST(Capacity, SumsEndAtTheMost) {
  EXPECT_EQ(AddCapped(1, 2), 3);
  EXPECT_EQ(AddCapped(kMost - 1, 1), kMost);
  EXPECT_EQ(AddCapped(kMost, 1), kMost);
  EXPECT_EQ(AddCapped(kMost, kMost), kMost);
}

TEST(Capacity, RoomAllowsWhatDoesNotRise) {
  EXPECT_TRUE(RoomAllows(10, 0, 10));    // P-132
  EXPECT_FALSE(RoomAllows(10, 0, 11));   // P-132
  EXPECT_TRUE(RoomAllows(10, 15, 15));   // P-133: handed over
  EXPECT_TRUE(RoomAllows(10, 15, 12));   // P-133: lowered
  EXPECT_FALSE(RoomAllows(10, 15, 16));  // P-132
}

}  // namespace
}  // namespace berth::placement
