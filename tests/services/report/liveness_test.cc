// Who is alive, and whose turn it is to send a snapshot.
#include "services/report/liveness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/report/messages.h"
#include "services/report/snapshot_slots.h"

namespace berth::services {
namespace {

using placement::MarkService;
using placement::ProviderId;
using placement::State;
using placement::Uuid;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Liveness::Key kKey = {"h1", "berth-tracker"};
const Uuid kOne = {1, 1};
const Uuid kTwo = {2, 2};
const absl::Time kStart = absl::FromUnixSeconds(1'000'000);

absl::Time At(int seconds) { return kStart + absl::Seconds(seconds); }

// `state` with the service of kKey recorded as `up` by `incarnation`.
State Recorded(Uuid incarnation, bool up) {
  auto service = std::make_shared<placement::ServiceRecord>();
  service->host = kKey.first;
  service->binary = kKey.second;
  service->incarnation = incarnation;
  service->up = up;
  State state;
  state.Apply({placement::ServicePut{service}});
  return state;
}

std::vector<bool> UpsOf(const std::vector<MarkService>& turns) {
  std::vector<bool> ups;
  for (const MarkService& turn : turns) ups.push_back(turn.up);
  return ups;
}

std::vector<MarkService> TurnsOf(Liveness& liveness, const State& state, absl::Time now) {
  Liveness::TurnList turns = liveness.Turns(state, now, 100);
  turns.up.insert(turns.up.end(), turns.down.begin(), turns.down.end());
  return turns.up;
}

TEST(LivenessTest, DownOnlyAfterTheDownTime) {  // T-291
  Liveness liveness(absl::Seconds(60));
  const State up = Recorded(kOne, true);
  liveness.Hear(kKey, kOne, Beat{1}, At(0));
  EXPECT_THAT(TurnsOf(liveness, up, At(60)), IsEmpty());  // inclusive
  EXPECT_THAT(UpsOf(TurnsOf(liveness, up, At(61))), ElementsAre(false));
  EXPECT_THAT(TurnsOf(liveness, up, At(62)), IsEmpty());  // told once
}

TEST(LivenessTest, OneOverdueAuditOfSeveralIsWorthALook) {
  pb::Heartbeat heartbeat;
  heartbeat.set_count(7);
  heartbeat.add_nodes()->set_audit_overdue(false);
  EXPECT_FALSE(BeatOf(heartbeat).stale_audit);
  heartbeat.add_nodes()->set_audit_overdue(true);
  heartbeat.add_nodes()->set_audit_overdue(false);
  EXPECT_TRUE(BeatOf(heartbeat).stale_audit);  // T-293
  EXPECT_EQ(BeatOf(heartbeat).count, 7);       // T-288
}

TEST(LivenessTest, WhatWasSaidBeforeAStreamWentElsewhereIsOver) {
  Liveness liveness(absl::Seconds(60));
  liveness.Hear(kKey, kOne, Beat{1, true}, At(0));
  EXPECT_TRUE(liveness.Find(kKey)->stale_audit);
  liveness.HearElsewhere(kKey, At(10));
  EXPECT_FALSE(liveness.Find(kKey).has_value());
  liveness.Hear(kKey, kOne, std::nullopt, At(20));
  EXPECT_FALSE(liveness.Find(kKey)->stale_audit);
}

TEST(LivenessTest, ABeatTurnsItUpAgain) {
  Liveness liveness(absl::Seconds(60));
  liveness.Hear(kKey, kOne, Beat{7}, At(0));
  const State down = Recorded(kOne, false);
  EXPECT_THAT(UpsOf(TurnsOf(liveness, down, At(1))), ElementsAre(true));
  EXPECT_EQ(liveness.Find(kKey)->count, 7);  // T-288
}

TEST(LivenessTest, ReassertsWhatAnotherProcessTookBack) {
  Liveness liveness(absl::Seconds(60));
  liveness.Hear(kKey, kOne, Beat{1}, At(0));
  EXPECT_THAT(TurnsOf(liveness, Recorded(kOne, true), At(1)), IsEmpty());
  EXPECT_THAT(UpsOf(TurnsOf(liveness, Recorded(kOne, false), At(2))), ElementsAre(true));
  EXPECT_THAT(TurnsOf(liveness, Recorded(kOne, true), At(3)), IsEmpty());
  EXPECT_THAT(UpsOf(TurnsOf(liveness, Recorded(kOne, false), At(4))), ElementsAre(true));
}

TEST(LivenessTest, JudgesWhatItNeverHeardAfterTheSameTime) {
  Liveness liveness(absl::Seconds(60));
  const State up = Recorded(kOne, true);
  EXPECT_THAT(TurnsOf(liveness, up, At(1)), IsEmpty());
  EXPECT_THAT(TurnsOf(liveness, up, At(61)), IsEmpty());
  EXPECT_THAT(UpsOf(TurnsOf(liveness, up, At(62))), ElementsAre(false));
  EXPECT_THAT(liveness.All(), IsEmpty());  // not heard here
}

TEST(LivenessTest, LeavesAloneWhatAnotherProcessHears) {
  Liveness liveness(absl::Seconds(60));
  const State up = Recorded(kOne, true);
  EXPECT_THAT(TurnsOf(liveness, up, At(0)), IsEmpty());
  EXPECT_THAT(UpsOf(TurnsOf(liveness, up, At(61))), ElementsAre(false));
  liveness.HearElsewhere(kKey, At(55));
  EXPECT_THAT(TurnsOf(liveness, up, At(115)), IsEmpty());
  EXPECT_THAT(UpsOf(TurnsOf(liveness, up, At(116))), ElementsAre(false));  // that one is gone, too
}

TEST(LivenessTest, TellsAgainWhatWasRefused) {
  Liveness liveness(absl::Seconds(60));
  const State up = Recorded(kOne, true);
  liveness.Hear(kKey, kOne, Beat{1}, At(0));
  EXPECT_THAT(UpsOf(TurnsOf(liveness, up, At(61))), ElementsAre(false));
  EXPECT_THAT(TurnsOf(liveness, up, At(62)), IsEmpty());
  liveness.Retry(kKey);
  EXPECT_THAT(UpsOf(TurnsOf(liveness, up, At(63))), ElementsAre(false));
}

TEST(LivenessTest, SaysNothingOfAnotherIncarnation) {
  Liveness liveness(absl::Seconds(60));
  liveness.Hear(kKey, kOne, Beat{1}, At(0));
  EXPECT_THAT(TurnsOf(liveness, Recorded(kTwo, true), At(100)), IsEmpty());
  EXPECT_FALSE(liveness.Find(kKey).has_value());
}

ProviderId Node(uint64_t number) { return ProviderId{Uuid{0, number}}; }

TEST(SnapshotSlotsTest, GivesTurnsInOrder) {  // T-230
  SnapshotSlots slots(2, absl::Seconds(30));
  EXPECT_TRUE(slots.Ask(Node(1), At(0)));
  EXPECT_TRUE(slots.Ask(Node(1), At(0)));  // has one already
  EXPECT_TRUE(slots.Ask(Node(2), At(0)));
  EXPECT_FALSE(slots.Ask(Node(3), At(0)));
  EXPECT_FALSE(slots.Ask(Node(4), At(0)));
  EXPECT_FALSE(slots.Ask(Node(4), At(0)));
  EXPECT_EQ(slots.waiting(), 2);
  EXPECT_THAT(slots.Due(At(1)), IsEmpty());
  slots.Release(Node(1));
  EXPECT_THAT(slots.Due(At(1)), ElementsAre(Node(3)));  // T-366
  slots.Release(Node(4));                               // went away while it waited
  EXPECT_THAT(slots.Due(At(31)), IsEmpty());
  EXPECT_EQ(slots.in_use(), 0);  // 2 and 3 let their time pass
}

}  // namespace
}  // namespace berth::services
