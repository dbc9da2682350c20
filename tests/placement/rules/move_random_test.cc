// Random moves and their ends, decided by the rules and by a model side by side: the same answers,
// and what every consumer holds after each step. No end of a move leaves the part of one side
// behind.
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/rules/rules.h"
#include "placement/values/move_end.h"
#include "placement/values/refusal.h"
#include "tests/worlds/model_state.h"
#include "tests/worlds/safety.h"
#include "tests/worlds/seed.h"

namespace berth::placement {
namespace {

using enum MoveEnd;
using enum MigrationType;

constexpr int kMoveSteps = kSanitized ? 1000 : 10'000;
constexpr int kMoveHosts = 3;
constexpr int kMoveInstances = 5;
constexpr int kMoveCapacity = 12;  // of each host, so that some claims do not fit

// One instance as the model knows it. A part is an amount on a host; 0: there is none.
struct Life {
  int host = 0;          // where its record says that it is
  Amount at_home = 0;    // the part on the source; all that it holds while it does not move; 0: it
                         // has lost its part, and gets a new one when it moves
  Amount ahead = 0;      // the part on the destination
  bool moves = false;    // it has a migration that is not over
  bool leaves = false;   // an evacuation that is done and not ended: holds both parts
  bool divided = false;  // the migration's consumer has the part on the source
  MigrationType type = kCold;
  int source = 0;
  int destination = 0;
  MigrationId migration;
};

class MoveLife {
 public:
  explicit MoveLife(uint64_t seed) : random_(seed) {
    EXPECT_EQ(Do(EnsureStandardNames{{"VCPU"}, {}}), "OK");
    for (int host = 0; host < kMoveHosts; ++host) {
      EXPECT_EQ(Do(CreateProvider{Node(host), HostName(host), std::nullopt}), "OK");
      const Generation made = state_.FindProvider(Node(host))->config().generation;
      EXPECT_EQ(Do(SetInventories{Node(host), made, {{"VCPU", {.total = kMoveCapacity}}}}), "OK");
    }
    for (int i = 0; i < kMoveInstances; ++i) {
      Life& life = lives_[i];
      life.host = Below(kMoveHosts);
      life.at_home = 1;
      EXPECT_EQ(Do(SetInstance{RecordOn(i, life.host), std::nullopt}), "OK");
      EXPECT_EQ(Do(SetAllocations{{Wanted(ConsumerOf(i), {{life.host, 1}})}, false}), "OK");
    }
  }

  void Step() {
    const int i = Below(kMoveInstances);
    Life& life = lives_[i];
    if (!life.moves && !life.leaves) return Begin(i);
    if (Below(4) == 0) return SetStatus(i);
    End(i);
  }

  // What every consumer holds, and the records, as the model has them.
  void ExpectAsInModel() {
    std::map<ConsumerId, std::map<ProviderId, Amount>> held;
    for (int i = 0; i < kMoveInstances; ++i) {
      const Life& life = lives_[i];
      EXPECT_EQ(Instance(i)->host, HostName(life.host));
      if (!life.moves && !life.leaves) {
        if (life.at_home > 0) held[ConsumerOf(i)][Node(life.host)] = life.at_home;
        continue;
      }
      const ConsumerId with_source = life.divided ? ConsumerId{life.migration.uuid} : ConsumerOf(i);
      held[with_source][Node(life.source)] += life.at_home;
      held[ConsumerOf(i)][Node(life.destination)] += life.ahead;
    }
    std::map<ConsumerId, std::map<ProviderId, Amount>> actual;
    state_.consumers().ForEach([&](const ConsumerId& id, const ConsumerPtr& consumer) {
      for (const Allocation& row : consumer->allocations) actual[id][row.provider] = row.amount;
    });
    EXPECT_EQ(actual, held);  // T-173, T-174, T-177, T-221
    CheckSafety(state_);
    ExpectSame(state_, model_);
  }

  const std::map<std::string, int>& met() const { return met_; }

 private:
  int Below(int bound) { return static_cast<int>(random_() % static_cast<uint64_t>(bound)); }
  static std::string HostName(int host) { return absl::StrCat("h", host); }
  static ProviderId Node(int host) { return ProviderId{Uuid{10, static_cast<uint64_t>(host)}}; }
  static ConsumerId ConsumerOf(int i) { return ConsumerId{Uuid{11, static_cast<uint64_t>(i)}}; }
  InstancePtr Instance(int i) {
    return state_.records().FindInstance(InstanceId{ConsumerOf(i).uuid});
  }
  MigrationPtr Migration(int i) { return state_.records().FindMigration(lives_[i].migration); }

  InstanceRecord RecordOn(int i, int host) {
    InstanceRecord record;
    record.id = InstanceId{ConsumerOf(i).uuid};
    record.name = "guest";
    record.project = "project";
    record.user = "user";
    record.host = HostName(host);
    record.node = Node(host);
    record.vm_state = "active";
    return record;
  }

  // Decides the command, and applies it to the state and to the model. "OK" or the reason.
  std::string Do(CommandBody body) {
    ++commands_;
    const RuleContext context{absl::UnixEpoch() + absl::Seconds(commands_), Generation{commands_}};
    const absl::StatusOr<Outcome> outcome =
        Decide(state_, Command{"", "", "", {}, std::move(body)}, context);
    if (!outcome.ok()) return RefusalOf(outcome.status())->reason;
    const State before = state_;
    state_.Apply(outcome->changes);
    model_.Apply(outcome->changes);
    CheckStep(before, state_, context.fresh);
    return "OK";
  }

  using Parts = std::vector<std::pair<int, Amount>>;  // host and amount
  ConsumerAllocations Wanted(ConsumerId consumer, const Parts& parts) {
    ConsumerAllocations wanted{consumer, std::nullopt, "project", "user", "INSTANCE", {}};
    const ConsumerPtr before = state_.FindConsumer(consumer);
    if (before != nullptr) wanted.expected_generation = before->generation;
    for (const auto& [host, amount] : parts) {
      wanted.allocations.push_back({Node(host), {{"VCPU", amount}}});
    }
    return wanted;
  }
  // The scheduler claims the destination and creates the migration.
  void Begin(int i) {
    Life& life = lives_[i];
    if (life.at_home == 0) {
      if (Do(SetAllocations{{Wanted(ConsumerOf(i), {{life.host, 1}})}, false}) != "OK") return;
      life.at_home = 1;
    }
    Life next = life;
    next.type = static_cast<MigrationType>(1 + Below(kMigrationTypeMax));
    next.source = life.host;
    next.destination = Below(kMoveHosts);
    if (next.destination == next.source && next.type != kResize) return;
    next.divided = next.destination == next.source || (next.type != kEvacuation && Below(4) > 0);
    next.ahead = 1 + Below(4);
    next.moves = true;
    next.migration = MigrationId{Uuid{12, ++migrations_}};
    SetAllocations claim;
    const std::pair<int, Amount> source(next.source, next.at_home);
    const std::pair<int, Amount> destination(next.destination, next.ahead);
    if (next.divided) {
      claim.consumers.push_back(Wanted(ConsumerId{next.migration.uuid}, {source}));
      claim.consumers.push_back(Wanted(ConsumerOf(i), {destination}));
    } else {
      claim.consumers.push_back(Wanted(ConsumerOf(i), {source, destination}));
    }
    const std::string claimed = Do(claim);
    ++met_["claim " + claimed];
    if (claimed != "OK") return;
    MigrationRecord record;
    record.id = next.migration;
    record.instance = InstanceId{ConsumerOf(i).uuid};
    record.type = next.type;
    record.source_host = HostName(next.source);
    record.source_node = Node(next.source);
    record.destination_host = HostName(next.destination);
    record.destination_node = Node(next.destination);
    EXPECT_EQ(Do(CreateMigration{record}), "OK");
    life = next;
  }

  // A status alone: one that does not end the move, or one that would.
  void SetStatus(int i) {
    Life& life = lives_[i];
    const MoveEnding& ending = MoveEndings()[static_cast<size_t>(Below(6))];
    const bool ends = Below(2) == 0;
    const std::string status = ends ? std::string(ending.status) : "running";
    if (status == Migration(i)->status) return;
    std::string expected = life.leaves ? "WRONG_MOVE_END" : "OK";  // it does not begin again
    if (ends) expected = Expected(i, ending.end, life.host);
    // Each move of this test has a part on both sides, and each end but `done` releases one.
    if (ends && expected == "OK" && (ending.end != kDone || life.divided)) {
      expected = "MOVE_HOLDS_ALLOCATIONS";
    }
    EXPECT_EQ(Do(UpdateMigration{life.migration, Migration(i)->status, status, {}, {}}), expected);
    ++met_["status " + expected];
    if (ends && expected == "OK") {
      life.moves = false;
      life.leaves = true;
    }
  }

  static bool Allows(const Life& life, MoveEnd end) {
    if (life.leaves) return end == kCompleted || end == kFailed;
    switch (life.type) {
      case kCold:
      case kResize:
        return end == kConfirmed || end == kReverted || end == kFailed;
      case kLive:
        return end == kCompleted || end == kFailed || end == kCancelled;
      case kEvacuation:
        return end == kDone || end == kCompleted || end == kFailed;
    }
    return false;
  }

  void End(int i) {
    Life& life = lives_[i];
    EndMove command;
    command.migration = life.migration;
    command.end = static_cast<MoveEnd>(1 + Below(6));
    const bool returns = Returns(command.end);
    command.expected_generation = Migration(i)->generation;
    command.expected_instance_generation = Instance(i)->generation;
    int host = life.host;  // of the instance afterwards
    if (Below(4) > 0) {
      host = Below(5) == 0 ? Below(kMoveHosts) : (returns ? life.source : life.destination);
      command.instance = std::make_shared<const InstanceRecord>(RecordOn(i, host));
    }
    std::string expected = Expected(i, command.end, host);
    SpoilGenerations(command, expected);
    EXPECT_EQ(Do(command), expected);
    ++met_[expected];
    if (expected != "OK") return;
    life.host = host;
    if (command.end == kDone) {
      life.moves = false;
      life.leaves = true;
      return;
    }
    EXPECT_EQ(state_.FindConsumer(ConsumerId{life.migration.uuid}), nullptr);  // T-221
    // A move that failed, and of which the instance is on a third host, releases both parts.
    if (returns && host != life.source) life.at_home = 0;
    if (!returns) life.at_home = life.ahead;
    life.ahead = 0;
    life.moves = life.leaves = life.divided = false;
    if (life.at_home == 0) return;
    // The record may be on a third host; the next move starts from where the allocations are.
    life.host = Settled(i, returns);
  }

  static bool Returns(MoveEnd end) {
    return end == kReverted || end == kFailed || end == kCancelled;
  }

  // The answer if the move ends so with the instance on `host`.
  std::string Expected(int i, MoveEnd end, int host) const {
    const Life& life = lives_[i];
    if (!Allows(life, end)) return "WRONG_MOVE_END";
    const bool is_on_source = host == life.source;
    const bool is_on_destination = host == life.destination;
    bool fits = is_on_destination || !is_on_source;
    if (Returns(end)) fits = is_on_source || (end == kFailed && !is_on_destination);
    return fits ? "OK" : "INSTANCE_ELSEWHERE";
  }

  // Sometimes one generation is stale, and the first stale one decides the answer.
  void SpoilGenerations(EndMove& command, std::string& expected) {
    if (Below(6) > 0) return;
    const Generation stale{1};
    switch (Below(3)) {
      case 0:
        command.expected_generation = stale;
        expected = "RECORD_CONFLICT";
        return;
      case 1:
        command.expected_instance_generation = stale;
        expected = "RECORD_CONFLICT";
        return;
      default:
        command.expected_instance_consumer = stale;
        expected = "CONSUMER_GENERATION_CONFLICT";
        return;
    }
  }

  // Puts the record where the allocations are.
  int Settled(int i, bool returns) {
    const int host = returns ? lives_[i].source : lives_[i].destination;
    if (Instance(i)->host != HostName(host)) {
      EXPECT_EQ(Do(SetInstance{RecordOn(i, host), Instance(i)->generation}), "OK");
    }
    return host;
  }

  std::mt19937_64 random_;
  State state_;
  ModelState model_;
  int64_t commands_ = 0;
  Life lives_[kMoveInstances];
  uint64_t migrations_ = 0;
  std::map<std::string, int> met_;
};

TEST(RulesMoveRandom, NoEndLeavesTheAllocationsOfOneSide) {
  const uint64_t seed = Seed();
  MoveLife life(seed);
  for (int step = 1; step <= kMoveSteps && !testing::Test::HasFailure(); ++step) {
    SCOPED_TRACE(testing::Message() << "BERTH_SEED=" << seed << " step " << step);
    life.Step();
    life.ExpectAsInModel();
  }
  for (const auto& [answer, count] : life.met()) std::printf("%6d %s\n", count, answer.c_str());
  for (const char* answer : {"OK", "WRONG_MOVE_END", "INSTANCE_ELSEWHERE", "RECORD_CONFLICT",
                             "CONSUMER_GENERATION_CONFLICT", "claim CAPACITY_EXCEEDED", "status OK",
                             "status MOVE_HOLDS_ALLOCATIONS"}) {
    EXPECT_TRUE(life.met().contains(answer)) << answer << " never came up";
  }
}

}  // namespace
}  // namespace berth::placement
