// Who is alive, and whose turn it is to send a snapshot.
#include "services/report/liveness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "services/report/liveness_recorder.h"
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
const placement::BootTime kStart = absl::Hours(1000);
const absl::Time kWallTime = absl::FromUnixSeconds(2'000'000);  // judges nothing

placement::BootTime At(int seconds) { return kStart + absl::Seconds(seconds); }

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

std::vector<bool> UpsOf(const std::vector<MarkService>& found) {
  std::vector<bool> ups;
  for (const MarkService& transition : found) ups.push_back(transition.up);
  return ups;
}

std::vector<MarkService> Judged(Liveness& liveness, const State& state, placement::BootTime now) {
  Liveness::Transitions found = liveness.Judge(state, now, 100);
  found.up.insert(found.up.end(), found.down.begin(), found.down.end());
  return found.up;
}
// The same right after the record of kKey became that of `state`.
std::vector<MarkService> JudgedAnew(Liveness& liveness, const State& state,
                                    placement::BootTime now) {
  liveness.NoteChange(kKey);
  return Judged(liveness, state, now);
}

TEST(LivenessTest, DownOnlyAfterTheDownTime) {  // T-291
  Liveness liveness(absl::Seconds(60));
  const State up = Recorded(kOne, true);
  liveness.Hear(kKey, kOne, Beat{1}, At(0), kWallTime);
  EXPECT_THAT(Judged(liveness, up, At(60)), IsEmpty());                  // C-14: inclusive
  EXPECT_THAT(UpsOf(Judged(liveness, up, At(61))), ElementsAre(false));  // C-14
  EXPECT_THAT(Judged(liveness, up, At(62)), IsEmpty());                  // told once
}

TEST(LivenessTest, ForcedDownIsDownWhateverIsHeard) {
  placement::ServiceRecord service;
  service.up = true;
  pb::Service shown;
  FillService(service, nullptr, &shown);
  EXPECT_EQ(shown.state(), pb::SERVICE_STATE_UP);
  service.forced_down = true;
  FillService(service, nullptr, &shown);
  EXPECT_EQ(shown.state(), pb::SERVICE_STATE_DOWN);  // C-14
}

TEST(LivenessTest, SixBeatsComeInADownTimeHoweverShort) {
  const auto interval = [](int seconds) {
    return LivenessRecorder::HeartbeatIntervalFor(absl::Seconds(seconds));
  };
  EXPECT_EQ(interval(60), absl::Seconds(10));
  EXPECT_EQ(interval(600), absl::Seconds(10));
  EXPECT_EQ(interval(10), absl::Seconds(10) / 6);  // C-14: never 10, so 10 is not raised to 25
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
  liveness.Hear(kKey, kOne, Beat{1, true}, At(0), kWallTime);
  EXPECT_TRUE(liveness.Find(kKey)->stale_audit);
  liveness.HearElsewhere(kKey, At(10));
  EXPECT_FALSE(liveness.Find(kKey).has_value());
  liveness.Hear(kKey, kOne, std::nullopt, At(20), kWallTime);
  EXPECT_FALSE(liveness.Find(kKey)->stale_audit);
}

TEST(LivenessTest, ABeatTurnsItUpAgain) {
  Liveness liveness(absl::Seconds(60));
  liveness.Hear(kKey, kOne, Beat{7}, At(0), kWallTime);
  const State down = Recorded(kOne, false);
  EXPECT_THAT(UpsOf(JudgedAnew(liveness, down, At(1))), ElementsAre(true));
  EXPECT_EQ(liveness.Find(kKey)->count, 7);  // T-288
}

TEST(LivenessTest, ReassertsWhatAnotherProcessTookBack) {
  Liveness liveness(absl::Seconds(60));
  liveness.Hear(kKey, kOne, Beat{1}, At(0), kWallTime);
  EXPECT_THAT(JudgedAnew(liveness, Recorded(kOne, true), At(1)), IsEmpty());
  EXPECT_THAT(UpsOf(JudgedAnew(liveness, Recorded(kOne, false), At(2))), ElementsAre(true));
  EXPECT_THAT(JudgedAnew(liveness, Recorded(kOne, true), At(3)), IsEmpty());
  EXPECT_THAT(UpsOf(JudgedAnew(liveness, Recorded(kOne, false), At(4))), ElementsAre(true));
}

TEST(LivenessTest, JudgesWhatItNeverHeardAfterTheSameTime) {
  Liveness liveness(absl::Seconds(60));
  const State up = Recorded(kOne, true);
  liveness.NoteAll(up);
  EXPECT_THAT(Judged(liveness, up, At(1)), IsEmpty());
  EXPECT_THAT(Judged(liveness, up, At(61)), IsEmpty());
  EXPECT_THAT(UpsOf(Judged(liveness, up, At(62))), ElementsAre(false));
  EXPECT_THAT(liveness.All(), IsEmpty());  // not heard here
}

TEST(LivenessTest, LeavesAloneWhatAnotherProcessHears) {
  Liveness liveness(absl::Seconds(60));
  const State up = Recorded(kOne, true);
  liveness.NoteAll(up);
  EXPECT_THAT(Judged(liveness, up, At(0)), IsEmpty());
  EXPECT_THAT(UpsOf(Judged(liveness, up, At(61))), ElementsAre(false));
  liveness.HearElsewhere(kKey, At(55));
  EXPECT_THAT(Judged(liveness, up, At(115)), IsEmpty());
  EXPECT_THAT(UpsOf(Judged(liveness, up, At(116))), ElementsAre(false));  // that one is gone, too
}

TEST(LivenessTest, TellsAgainWhatWasRefused) {
  Liveness liveness(absl::Seconds(60));
  const State up = Recorded(kOne, true);
  liveness.Hear(kKey, kOne, Beat{1}, At(0), kWallTime);
  EXPECT_THAT(UpsOf(Judged(liveness, up, At(61))), ElementsAre(false));
  EXPECT_THAT(Judged(liveness, up, At(62)), IsEmpty());
  liveness.Retry(kKey);
  EXPECT_THAT(UpsOf(Judged(liveness, up, At(63))), ElementsAre(false));
}

TEST(LivenessTest, SaysNothingOfAnotherIncarnation) {
  Liveness liveness(absl::Seconds(60));
  liveness.Hear(kKey, kOne, Beat{1}, At(0), kWallTime);
  EXPECT_THAT(JudgedAnew(liveness, Recorded(kTwo, true), At(100)), IsEmpty());
  EXPECT_FALSE(liveness.Find(kKey).has_value());
}

TEST(LivenessTest, ForgetsWhatIsRecordedAsDown) {
  Liveness liveness(absl::Seconds(60));
  liveness.Hear(kKey, kOne, Beat{1}, At(0), kWallTime);
  EXPECT_THAT(JudgedAnew(liveness, Recorded(kOne, true), At(1)), IsEmpty());
  EXPECT_THAT(UpsOf(Judged(liveness, Recorded(kOne, true), At(61))), ElementsAre(false));
  EXPECT_THAT(JudgedAnew(liveness, Recorded(kOne, false), At(62)), IsEmpty());
  EXPECT_THAT(liveness.All(), IsEmpty());
  liveness.Hear(kKey, kOne, Beat{2}, At(70), kWallTime);
  EXPECT_THAT(UpsOf(Judged(liveness, Recorded(kOne, false), At(71))), ElementsAre(true));
}

// Ten thousand services that are up and heard cost a step next to nothing, and hold up no heartbeat.
TEST(LivenessTest, AStepLooksAtWhatMayHaveChanged) {
  constexpr int kServices = 10'000;
  constexpr int kSeconds = 150;
  Liveness liveness(absl::Seconds(60));
  placement::Changes changes;
  std::vector<Liveness::Key> keys;
  for (int i = 0; i < kServices; ++i) {
    auto service = std::make_shared<placement::ServiceRecord>();
    service->host = absl::StrCat("host-", i);
    service->binary = "berth-tracker";
    service->incarnation = kOne;
    service->up = true;
    keys.emplace_back(service->host, service->binary);
    changes.push_back(placement::ServicePut{std::move(service)});
  }
  State state;
  state.Apply(changes);
  liveness.NoteAll(state);
  int judged = 0;
  int judged_at_once = 0;
  for (int second = 1; second <= kSeconds; ++second) {
    for (int i = second % 10; i < kServices; i += 10) {
      liveness.Hear(keys[i], kOne, Beat{second}, At(second), kWallTime);
    }
    const Liveness::Transitions found = liveness.Judge(state, At(second), 100);
    EXPECT_THAT(found.up, IsEmpty());
    EXPECT_THAT(found.down, IsEmpty());
    judged += found.judged;
    judged_at_once = std::max(judged_at_once, found.judged);
  }
  // Each once at first and once in about 50 s.
  EXPECT_LE(judged, kServices * (1 + kSeconds / 50));
  EXPECT_LE(judged_at_once, kServices / 2);
  // Then all of them fall silent at once.
  size_t down = 0;
  for (int second = kSeconds + 1; second <= kSeconds + 200; ++second) {
    down += liveness.Judge(state, At(second), 100).down.size();
  }
  EXPECT_EQ(down, static_cast<size_t>(kServices));
}

ProviderId Node(uint64_t number) { return ProviderId{Uuid{0, number}}; }

TEST(SnapshotSlotsTest, GivesTurnsInOrder) {  // T-230
  SnapshotSlots slots(2, 2, absl::Seconds(30));
  EXPECT_TRUE(slots.Ask("host", Node(1), At(0)));
  EXPECT_TRUE(slots.Ask("host", Node(1), At(0)));  // has one already
  EXPECT_TRUE(slots.Ask("host", Node(2), At(0)));
  EXPECT_FALSE(slots.Ask("host", Node(3), At(0)));
  EXPECT_FALSE(slots.Ask("host", Node(4), At(0)));
  EXPECT_FALSE(slots.Ask("host", Node(4), At(0)));
  EXPECT_EQ(slots.waiting(), 2);
  EXPECT_THAT(slots.Due(At(1)), IsEmpty());
  slots.Release(Node(1));
  EXPECT_THAT(slots.Due(At(1)), ElementsAre(Node(3)));  // T-366
  slots.Release(Node(4));                               // went away while it waited
  EXPECT_THAT(slots.Due(At(31)), IsEmpty());
  EXPECT_TRUE(slots.Ask("host", Node(5), At(31)));  // 2 and 3 let their time pass
  EXPECT_TRUE(slots.Ask("host", Node(6), At(31)));
  EXPECT_FALSE(slots.Ask("host", Node(7), At(31)));
}

// A tracker that announces many nodes keeps neither the slots nor the queue from another host.
TEST(SnapshotSlotsTest, HostsTakeTurnsAndHaveAShare) {  // T-230
  SnapshotSlots slots(4, 2, absl::Seconds(30));
  for (uint64_t node = 1; node <= 100; ++node) {
    EXPECT_EQ(slots.Ask("crowd", Node(node), At(0)), node <= 2) << node;
  }
  EXPECT_EQ(slots.waiting(), 98);
  EXPECT_TRUE(slots.Ask("a", Node(201), At(1)));
  EXPECT_TRUE(slots.Ask("a", Node(202), At(1)));
  for (const uint64_t node : {301, 302}) EXPECT_FALSE(slots.Ask("b", Node(node), At(2)));
  slots.Release(Node(1));
  slots.Release(Node(2));
  EXPECT_THAT(slots.Due(At(2)), ElementsAre(Node(301), Node(3)));  // who waits without a slot first
  EXPECT_THAT(slots.Due(At(30)), IsEmpty());
  EXPECT_THAT(slots.Due(At(31)), ElementsAre(Node(302), Node(4)));  // a's time is over
  // A node that waits for a host that does not have it need not wait there when its host comes.
  EXPECT_FALSE(slots.Ask("owner", Node(50), At(31)));
  slots.Release(Node(301));
  EXPECT_THAT(slots.Due(At(31)), ElementsAre(Node(50)));
  for (uint64_t node = 1; node <= 302; ++node) slots.Release(Node(node));
  EXPECT_EQ(slots.waiting(), 0);
  EXPECT_TRUE(slots.Ask("crowd", Node(1), At(33)));
}

}  // namespace
}  // namespace berth::services
