// The room of those who wait for a revision, by itself.
#include "placement/publish/waiting_room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class WaitingRoomTest : public ::testing::Test {
 protected:
  // "OK", or the reason why the reader may not wait.
  std::string Admit(WaitingRoom* room, const std::string& owner, Revision minimum = {0, 1}) {
    WaitingRoom::Waiter waiter{minimum, absl::InfiniteDuration(), {owner, nullptr}, nullptr};
    waiter.ready = [this, owner](const absl::StatusOr<StatePtr>& state) {
      const auto refusal = RefusalOf(state.status());
      told_.push_back(absl::StrCat(owner, " ", refusal ? refusal->reason : "OK"));
    };
    const absl::Status admitted = room->Admit(&waiter);
    EXPECT_EQ(waiter.ready == nullptr, admitted.ok());  // NOLINT: it is left if it was refused
    return admitted.ok() ? "OK" : RefusalOf(admitted)->reason;
  }
  std::vector<std::string> Told(std::vector<WaitingRoom::Call> calls) {
    for (WaitingRoom::Call& call : calls) call();
    return std::exchange(told_, {});
  }

  std::vector<std::string> told_;
};

TEST_F(WaitingRoomTest, OneOwnerHasATenthOfAFullRoom) {
  WaitingRoom room(50);
  for (int owner = 0; owner < 9; ++owner) {
    for (int i = 0; i < 5; ++i) EXPECT_EQ(Admit(&room, absl::StrCat("reader/", owner)), "OK");
  }
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Admit(&room, "reader/a"), "OK");
  EXPECT_EQ(Admit(&room, "reader/b"), "TOO_MANY_WAIT");
  EXPECT_EQ(Admit(&room, "reader/a"), "OK");  // in the yard
  EXPECT_THAT(Told(room.ClearYard(9)), ElementsAre("reader/a OVERLOADED"));
  room.TakeUpTo({0, 1}, [](const WaitingRoom::Waiter& waiter) {
    std::optional<WaitingRoom::Answer> answer;
    if (waiter.call.owner == "reader/a") answer = absl::CancelledError("");
    return answer;
  });
  EXPECT_EQ(Admit(&room, "reader/0"), "OK");
  EXPECT_THAT(Told(room.ClearYard(9)), ElementsAre("reader/0 OVERLOADED"));
  EXPECT_EQ(Admit(&room, "reader/b"), "OK");
  EXPECT_EQ(Admit(&room, "reader/a"), "OK");
  EXPECT_THAT(Told(room.ClearYard(9)), IsEmpty());
}

// A third of the room is one owner's: then the free places are twice as many.
TEST_F(WaitingRoomTest, OneOwnerHasMoreOfAnEmptyRoom) {
  WaitingRoom room(300);
  for (const auto& [owner, admitted] : {std::pair("reader/a", 100), std::pair("reader/b", 67)}) {
    for (int i = 0; i < 300; ++i) EXPECT_EQ(Admit(&room, owner), "OK");
    EXPECT_EQ(Told(room.ClearYard(1000)).size(), 300 - admitted) << owner;
  }
}

TEST_F(WaitingRoomTest, EachOwnerMayHaveOneInASmallRoom) {
  WaitingRoom room(2);
  EXPECT_EQ(Admit(&room, "a"), "OK");
  EXPECT_EQ(Admit(&room, "a"), "OK");
  EXPECT_THAT(Told(room.ClearYard(9)), ElementsAre("a OVERLOADED"));
  EXPECT_EQ(Admit(&room, ""), "OK");
  EXPECT_EQ(Admit(&room, "b"), "TOO_MANY_WAIT");
}

TEST_F(WaitingRoomTest, TheYardIsClearedInTurnAndIsNoLargerThanTheRoom) {
  WaitingRoom room(4);
  for (int i = 1; i <= 2; ++i) EXPECT_EQ(Admit(&room, "a"), "OK");
  EXPECT_EQ(Admit(&room, "b"), "OK");
  EXPECT_EQ(Admit(&room, "b"), "OK");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Admit(&room, "a"), "OK");
  EXPECT_EQ(Admit(&room, "a"), "OVERLOADED");
  EXPECT_THAT(Told(room.ClearYard(2)), ElementsAre("a OVERLOADED", "b OVERLOADED"));
  EXPECT_EQ(Admit(&room, "c"), "OK");  // nobody in the yard has a place
  EXPECT_THAT(Told(room.ClearYard(1)), ElementsAre("a OVERLOADED"));
}

TEST_F(WaitingRoomTest, WhoWaitsInTheYardIsAnsweredAndMayComeIn) {
  WaitingRoom room(2);
  for (int number : {1, 2, 3}) EXPECT_EQ(Admit(&room, "a", {0, number}), "OK");
  const auto tell = [](const WaitingRoom::Waiter&) { return WaitingRoom::Answer(StatePtr()); };
  EXPECT_THAT(Told(room.TakeUpTo({0, 2}, tell)), ElementsAre("a OK", "a OK"));
  EXPECT_THAT(Told(room.ClearYard(9)), IsEmpty());  // the third has the place of the first
  EXPECT_EQ(Admit(&room, "a", {0, 4}), "OK");
  EXPECT_THAT(Told(room.ClearYard(9)), ElementsAre("a OVERLOADED"));
  EXPECT_THAT(Told(room.TakeAny(tell)), ElementsAre("a OK"));
}

TEST_F(WaitingRoomTest, WhoWaitsInTheYardDoesNotComeIntoAFullRoom) {
  WaitingRoom room(2);
  for (int number : {1, 2}) EXPECT_EQ(Admit(&room, "a", {0, number}), "OK");
  const auto tell = [](const WaitingRoom::Waiter&) { return WaitingRoom::Answer(StatePtr()); };
  EXPECT_THAT(Told(room.TakeUpTo({0, 1}, tell)), ElementsAre("a OK"));
  EXPECT_EQ(Admit(&room, "b", {0, 9}), "OK");
  EXPECT_EQ(Admit(&room, "c", {0, 9}), "OK");
  EXPECT_THAT(Told(room.ClearYard(9)), ElementsAre("a TOO_MANY_WAIT"));
  EXPECT_EQ(Admit(&room, "d"), "TOO_MANY_WAIT");
}

TEST_F(WaitingRoomTest, TakeSomeComesToEachWhileOthersComeAndGo) {
  WaitingRoom room(1000);
  for (int i = 0; i < 6; ++i) Admit(&room, absl::StrCat(i), {0, i});
  std::vector<std::string> asked;
  const auto ask = [&](const WaitingRoom::Waiter& waiter) {
    asked.push_back(waiter.call.owner);
    std::optional<WaitingRoom::Answer> answer;
    if (waiter.call.owner == "1") answer = StatePtr();
    return answer;
  };
  const auto tell = [](const WaitingRoom::Waiter&) { return WaitingRoom::Answer(StatePtr()); };
  EXPECT_THAT(Told(room.TakeSome(3, ask)), ElementsAre("1 OK"));
  Told(room.TakeUpTo({0, 3}, tell));  // takes the next one, too
  EXPECT_THAT(Told(room.TakeSome(5, ask)), IsEmpty());
  EXPECT_THAT(asked, ElementsAre("0", "1", "2", "4", "5"));
  Admit(&room, "6", {0, 6});
  room.TakeSome(3, ask);
  EXPECT_THAT(asked, ElementsAre("0", "1", "2", "4", "5", "4", "5", "6"));
}

TEST_F(WaitingRoomTest, ARevisionTouchesOnlyThoseWhoAreDue) {
  WaitingRoom room(1000);
  for (int i = 1; i <= 5; ++i) Admit(&room, absl::StrCat(i), {0, i % 2 == 0 ? i : 100 * i});
  Admit(&room, "next epoch", {1, 1});
  int asked = 0;
  const auto tell = [&](const WaitingRoom::Waiter& waiter) {
    ++asked;
    std::optional<WaitingRoom::Answer> answer;
    if (waiter.call.owner != "2") answer = StatePtr();
    return answer;
  };
  EXPECT_THAT(Told(room.TakeUpTo({0, 4}, tell)), ElementsAre("4 OK"));
  EXPECT_EQ(asked, 2);
  EXPECT_THAT(Told(room.TakeUpTo({0, 4}, tell)), IsEmpty());
  EXPECT_THAT(Told(room.TakeUpTo({0, 300}, tell)), ElementsAre("1 OK", "3 OK"));
  EXPECT_EQ(asked, 6);
  EXPECT_THAT(Told(room.TakeAny(tell)), ElementsAre("5 OK", "next epoch OK"));
}

}  // namespace
}  // namespace berth::placement
