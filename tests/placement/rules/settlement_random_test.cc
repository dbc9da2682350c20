// Random divisions of the parts of a move, random records and ends. Whatever callers have made, no
// end loses what a guest uses, takes what belongs to others, or ends the process.
#include <cstdio>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "tests/placement/rules/move_world.h"
#include "tests/worlds/safety.h"
#include "tests/worlds/seed.h"

namespace berth::placement {
namespace {

using Rows = std::set<std::string>;  // each as "n1{VCPU:2}"

class RandomSettlement {
 public:
  explicit RandomSettlement(uint64_t seed) : random_(seed) {}

  // Begins a move, ends it once, and checks what is held then.
  void Run(std::map<std::string, int>* met) {
    MoveWorld move;
    ASSERT_EQ(move.Answer(SetInstance{move.On(1), std::nullopt}), "OK");
    InstanceRecord other = move.On(2);
    other.id = InstanceId{move.world().consumer("other").uuid};
    ASSERT_EQ(move.Answer(SetInstance{other, std::nullopt}), "OK");
    for (const char* consumer : {"vm", "move", "other"}) move.Hold(consumer, SomeRows());
    if (!Create(move, other.id, met)) return;
    const Rows own = RowsOf(move, "vm");
    const Rows moved = RowsOf(move, "move");
    const Rows others = RowsOf(move, "other");
    const auto end = static_cast<MoveEnd>(1 + Below(6));
    const int host = Below(4);
    const std::string answer = move.Answer(move.End(end, host));
    ++(*met)[answer];
    CheckSafety(move.world().state());
    EXPECT_EQ(RowsOf(move, "other"), others);
    if (answer != "OK") return;
    EXPECT_EQ(move.Held("move"), "");  // T-221
    Check(move, own, moved, end, host);
  }

 private:
  int Below(int bound) { return static_cast<int>(random_() % static_cast<uint64_t>(bound)); }

  std::string SomeRows() {
    std::string rows;
    for (const char* row :
         {"n1{VCPU:", "n1-gpu{VGPU:", "n1-gpu2{VGPU:", "n2{VCPU:", "n3{VCPU:", "pool{DISK_GB:"}) {
      if (Below(3) == 0) absl::StrAppend(&rows, row, 1 + Below(2), "} ");
    }
    return rows;
  }

  // False if the migration was refused, because it had the uuid of an instance.
  bool Create(MoveWorld& move, InstanceId other, std::map<std::string, int>* met) {
    const auto type = static_cast<MigrationType>(1 + Below(kMigrationTypeMax));
    destination_ = Below(4);
    MigrationRecord record = move.Move(type, 1, destination_);
    record.destination_node.reset();
    if (destination_ > 0 && Below(2) == 0) {
      record.destination_node = move.world().provider(absl::StrCat("n", destination_));
    }
    has_second_ = Below(2) == 0;
    MigrationRecord second = move.Move(MigrationType::kLive, 1, 3);
    second.id = MigrationId{Uuid{12, 1}};
    if (has_second_) {
      EXPECT_EQ(move.Answer(CreateMigration{second}), "OK");
    }
    const int same = Below(8);
    if (same == 0) record.id = MigrationId{move.vm().uuid};
    if (same == 1) record.id = MigrationId{other.uuid};
    const std::string answer = move.Answer(CreateMigration{record});
    ++(*met)["create " + answer];
    EXPECT_EQ(answer == "OK", same > 1);
    return answer == "OK";
  }

  static Rows RowsOf(MoveWorld& move, const char* consumer) {
    return absl::StrSplit(move.Held(consumer), ' ', absl::SkipEmpty());
  }
  // The number of the node of the row; 0: of none.
  static int NodeOf(const std::string& row) { return row[0] == 'n' ? row[1] - '0' : 0; }
  static bool HasNode(const Rows& rows, int node) {
    for (const std::string& row : rows) {
      if (NodeOf(row) == node) return true;
    }
    return false;
  }

  void Check(MoveWorld& move, const Rows& own, const Rows& moved, MoveEnd end, int host) {
    const Rows held = RowsOf(move, "vm");
    for (const std::string& row : held)
      EXPECT_TRUE(own.contains(row) || moved.contains(row)) << row;
    Rows before = own;
    before.insert(moved.begin(), moved.end());
    const bool on_nodes = HasNode(before, 1) || HasNode(before, 2) || HasNode(before, 3);
    const bool is_a_side = host == 1 || host == destination_;
    if (on_nodes && host > 0 && is_a_side) {
      EXPECT_TRUE(HasNode(held, host)) << "nothing held";
    }
    for (const std::string& row : own) {
      const bool stays =
          NodeOf(row) == 0 || (NodeOf(row) == 3 && destination_ != 3 && (has_second_ || host == 3));
      // Of a provider without a node, the row of the other consumer may count.
      const std::string provider = row.substr(0, row.find('{') + 1);
      bool is_held = held.contains(row);
      for (const std::string& other : moved) {
        is_held = is_held || (held.contains(other) && absl::StartsWith(other, provider));
      }
      if (stays) {
        EXPECT_TRUE(is_held) << row << " is lost";
      }
    }
    if (end == MoveEnd::kDone || destination_ == 1) return;
    if (host != 1) {
      EXPECT_FALSE(HasNode(held, 1)) << "the source still holds";
    }
    if (host == 1 && destination_ > 0 && !(destination_ == 3 && has_second_)) {
      EXPECT_FALSE(HasNode(held, destination_)) << "the destination still holds";
    }
  }

  std::mt19937_64 random_;
  int destination_ = 0;      // of the move; 0: not known
  bool has_second_ = false;  // the instance also moves to h3
};

TEST(SettlementRandom, NoEndLosesOrTakesTooMuch) {
  const uint64_t seed = Seed();
  RandomSettlement settlement(seed);
  std::map<std::string, int> met;
  constexpr int kRuns = 1000;
  for (int run = 1; run <= kRuns && !testing::Test::HasFailure(); ++run) {
    SCOPED_TRACE(testing::Message() << "BERTH_SEED=" << seed << " run " << run);
    settlement.Run(&met);
  }
  for (const auto& [answer, count] : met) std::printf("%6d %s\n", count, answer.c_str());
  for (const char* answer :
       {"OK", "WRONG_MOVE_END end", "INSTANCE_ELSEWHERE end", "NOTHING_HELD end", "create OK",
        "create INVALID_FIELD migration.uuid", "create UUID_IN_USE migration.uuid"}) {
    EXPECT_TRUE(met.contains(answer)) << answer << " never came up";
  }
}

}  // namespace
}  // namespace berth::placement
