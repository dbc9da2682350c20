// Which road the next batch takes.

#include "placement/writer/roads.h"

#include <gtest/gtest.h>

namespace berth::placement {
namespace {

TEST(Roads, AProcessThatWritesAloneTakesTheShortRoad) {
  Roads roads(LedgerRoads::kByHistory);
  EXPECT_EQ(roads.Next(false, false), Road::kLong);  // it has not written yet
  for (int i = 0; i < kLongBatches; ++i) roads.SawHead(false);
  EXPECT_EQ(roads.Next(true, false), Road::kShort);
  EXPECT_EQ(roads.Next(true, true), Road::kLong);  // a look-up
  EXPECT_EQ(roads.Next(true, false), Road::kShort);
}

TEST(Roads, AnotherProcessThatWritesClosesTheShortRoadForAWhile) {
  for (const bool published : {true, false}) {
    Roads roads(LedgerRoads::kByHistory);
    EXPECT_EQ(roads.Next(true, false), Road::kShort);
    if (published) {
      EXPECT_EQ(roads.Next(false, false), Road::kLong);  // the follower has published its batch
    } else {
      roads.SawHead(true);
    }
    for (int i = 0; i < kLongBatches; ++i) {
      EXPECT_EQ(roads.Next(true, false), Road::kLong) << i;
      roads.SawHead(false);
    }
    EXPECT_EQ(roads.Next(true, false), Road::kShort);
  }
}

TEST(Roads, AFailureSendsOneBatchTheLongWay) {
  for (const LedgerRoads allowed : {LedgerRoads::kByHistory, LedgerRoads::kShortFirst}) {
    Roads roads(allowed);
    EXPECT_EQ(roads.Next(true, false), Road::kShort);
    roads.Failed();
    EXPECT_EQ(roads.Next(true, false), Road::kLong);
    roads.SawHead(false);
    EXPECT_EQ(roads.Next(true, false), Road::kShort);
  }
}

TEST(Roads, AfterABatchThatWasNotWrittenOneBatchDoesNotFillUp) {
  Roads roads(LedgerRoads::kByHistory);
  EXPECT_TRUE(roads.MayFillUp());
  roads.Failed();
  EXPECT_TRUE(roads.MayFillUp());
  roads.NotWritten();
  EXPECT_EQ(roads.Next(true, false), Road::kLong);
  EXPECT_FALSE(roads.MayFillUp());
  EXPECT_TRUE(roads.MayFillUp());
}

TEST(Roads, ATestMayChooseOne) {
  Roads longer(LedgerRoads::kLong);
  Roads shorter(LedgerRoads::kShortFirst);
  shorter.SawHead(true);
  for (const bool wrote_last : {false, true}) {
    for (const bool looks_up : {false, true}) {
      EXPECT_EQ(longer.Next(wrote_last, looks_up), Road::kLong);
      EXPECT_EQ(shorter.Next(wrote_last, looks_up), Road::kShort);
    }
  }
}

}  // namespace
}  // namespace berth::placement
