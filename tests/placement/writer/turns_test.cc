// Whose batch comes next: the table of turns cell by cell, and walks of random events.

#include "placement/writer/turns.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/worlds/seed.h"

namespace berth::placement {
namespace {

constexpr LastBatch kLastBatches[] = {LastBatch::kShared, LastBatch::kAlone, LastBatch::kLarge};
constexpr Turn kTurns[] = {Turn::kSettle, Turn::kAlone, Turn::kLarge, Turn::kShared};

// One line of the table; a missing value means "either".
struct Line {
  std::optional<LastBatch> last;
  std::optional<bool> unsettled, shared, alone, large;
  Turn turn;
};

constexpr auto kAny = std::nullopt;
const Line kTable[] = {
    // last batch        unsettled shared alone  large  turn
    {kAny, true, kAny, kAny, kAny, Turn::kSettle},
    {LastBatch::kShared, false, kAny, true, kAny, Turn::kAlone},
    {LastBatch::kShared, false, kAny, false, true, Turn::kLarge},
    {LastBatch::kShared, false, kAny, false, false, Turn::kShared},
    {LastBatch::kAlone, false, true, kAny, kAny, Turn::kShared},
    {LastBatch::kAlone, false, false, true, kAny, Turn::kAlone},
    {LastBatch::kAlone, false, false, false, true, Turn::kLarge},
    {LastBatch::kAlone, false, false, false, false, Turn::kShared},
    {LastBatch::kLarge, false, true, kAny, kAny, Turn::kShared},
    {LastBatch::kLarge, false, false, true, kAny, Turn::kAlone},
    {LastBatch::kLarge, false, false, false, true, Turn::kLarge},
    {LastBatch::kLarge, false, false, false, false, Turn::kShared},
};

template <typename T>
bool Fits(const std::optional<T>& wanted, const T& value) {
  return !wanted || *wanted == value;
}

TEST(Turns, EveryCellOfTheTableHasOneTurn) {
  for (const LastBatch last : kLastBatches) {
    for (int bits = 0; bits < 16; ++bits) {
      const TurnsWaiting waiting = {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0,
                                    (bits & 8) != 0};
      SCOPED_TRACE(absl::StrCat("last ", static_cast<int>(last), ", waiting ", bits));
      int lines = 0;
      for (const Line& line : kTable) {
        if (!Fits(line.last, last) || !Fits(line.unsettled, waiting.unsettled) ||
            !Fits(line.shared, waiting.shared) || !Fits(line.alone, waiting.alone) ||
            !Fits(line.large, waiting.large)) {
          continue;
        }
        ++lines;
        EXPECT_EQ(NextTurn(last, waiting), line.turn);
      }
      EXPECT_EQ(lines, 1);
    }
  }
}

PendingPtr NewCommand(bool begun) {
  auto pending = std::make_shared<Pending>();
  pending->command.actor = "tester";
  pending->command.request_id = "r";
  pending->command.body = FindRequest{"tester", "r"};
  pending->deadline = absl::InfiniteDuration();
  if (begun) pending->Begin();
  return pending;
}

// A batch that has decided `commands`: each of them looks up a request id and finds nothing.
std::unique_ptr<Batch> BatchOf(const std::vector<PendingPtr>& commands) {
  const std::vector<KeptRequest> kept;
  auto batch = std::make_unique<Batch>(std::make_shared<const State>(), absl::UnixEpoch(), kept);
  for (const PendingPtr& pending : commands) {
    EXPECT_EQ(batch->Offer(pending, 2000, true), Batch::Verdict::kDecided);
  }
  return batch;
}

// Turns whose last batch was `last` and where nothing waits.
Turns After(LastBatch last) {
  Turns turns;
  if (last == LastBatch::kAlone) turns.AddAlone(NewCommand(true));
  EXPECT_TRUE(last != LastBatch::kLarge || turns.AddLarge(NewCommand(false)));
  if (turns.Begin(false) != Turn::kShared) turns.TakeCommand();
  turns.Decided(false);
  return turns;
}

// What the last batch was, as the next choice shows it: shared work passes by an own batch only
// after an own batch, and after a large one a shared batch may not be large.
LastBatch LastOf(Turns& turns) {
  turns.AddAlone(NewCommand(true));
  if (turns.Begin(true) == Turn::kAlone) return LastBatch::kShared;
  return turns.MayBeLarge(true) ? LastBatch::kAlone : LastBatch::kLarge;
}

TEST(Turns, EveryBatchLeavesItsKind) {
  for (const LastBatch last : kLastBatches) {
    for (const Turn turn : kTurns) {
      for (const bool large : {false, true}) {
        if (turn == Turn::kSettle && large) continue;
        SCOPED_TRACE(absl::StrCat("last ", static_cast<int>(last), ", turn ",
                                  static_cast<int>(turn), ", large ", large));
        Turns turns = After(last);
        if (turn == Turn::kAlone) turns.AddAlone(NewCommand(true));
        ASSERT_TRUE(turn != Turn::kLarge || turns.AddLarge(NewCommand(false)));
        if (turn == Turn::kSettle) {
          turns.Begin(true);
          turns.Lost(BatchOf({}));
        }
        ASSERT_EQ(turns.Begin(false), turn);
        if (turn == Turn::kAlone || turn == Turn::kLarge) turns.TakeCommand();
        if (turn == Turn::kSettle) turns.Missing();
        turns.Decided(large);
        if (turn == Turn::kSettle) turns.TakeProven();
        LastBatch wanted = last;  // a settle turn is nobody's turn
        if (turn == Turn::kShared) wanted = large ? LastBatch::kLarge : LastBatch::kShared;
        if (turn == Turn::kAlone) wanted = large ? LastBatch::kLarge : LastBatch::kAlone;
        if (turn == Turn::kLarge) wanted = LastBatch::kLarge;
        EXPECT_EQ(LastOf(turns), wanted);
      }
    }
  }
}

// Whether the batch of a turn may touch more rows than a shared one may.
TEST(Turns, ALargeBatchMakesWayForOthers) {
  for (const LastBatch last : kLastBatches) {
    for (const bool others_wait : {false, true}) {
      Turns turns = After(last);
      ASSERT_EQ(turns.Begin(others_wait), Turn::kShared);
      EXPECT_EQ(turns.MayBeLarge(others_wait), last != LastBatch::kLarge || !others_wait);
    }
  }
  Turns turns = After(LastBatch::kLarge);
  turns.AddAlone(NewCommand(true));
  ASSERT_EQ(turns.Begin(false), Turn::kAlone);
  EXPECT_TRUE(turns.MayBeLarge(true));  // nobody waited when its turn began
}

TEST(Turns, OneLargeCommandWaitsAtATime) {
  Turns turns;
  const PendingPtr first = NewCommand(false);
  EXPECT_TRUE(turns.AddLarge(first));
  EXPECT_FALSE(turns.AddLarge(NewCommand(false)));
  ASSERT_EQ(turns.Begin(true), Turn::kLarge);
  EXPECT_EQ(turns.TakeCommand(), first);
  EXPECT_TRUE(turns.AddLarge(NewCommand(false)));
}

// Found in the log: the answers wait for a later commit, however often that one is lost.
TEST(Turns, AFoundBatchIsSettledByALaterCommit) {
  Turns turns;
  const PendingPtr pending = NewCommand(false);
  ASSERT_EQ(turns.Begin(true), Turn::kShared);
  turns.Decided(false);
  turns.Lost(BatchOf({pending}));
  for (int attempt = 0; attempt < 3; ++attempt) {
    ASSERT_EQ(turns.Begin(true), Turn::kSettle);
    EXPECT_EQ(turns.Begun(), std::vector<PendingPtr>{pending});
    EXPECT_EQ(turns.in_doubt() != nullptr, attempt == 0);
    if (attempt == 0) turns.Found();
    turns.Decided(false);
    turns.Lost(BatchOf({}));  // its row should have proved the first batch; it holds no command
  }
  ASSERT_EQ(turns.Begin(true), Turn::kSettle);
  turns.Decided(false);
  EXPECT_FALSE(turns.settled());
  const auto proven = turns.TakeProven();
  ASSERT_EQ(proven.size(), 1u);
  EXPECT_EQ(proven[0]->Commands(), std::vector<PendingPtr>{pending});
  EXPECT_EQ(pending->losses, 1);
  EXPECT_TRUE(turns.settled());
  EXPECT_EQ(turns.Begin(true), Turn::kShared);
}

// Not in the log: each command is decided alone, in order, and others get a turn after each.
TEST(Turns, CommandsThatWereNotDoneAreDecidedAlone) {
  Turns turns;
  const PendingPtr a = NewCommand(false), b = NewCommand(false), answered = NewCommand(false);
  turns.Begin(true);
  turns.Decided(false);
  turns.Lost(BatchOf({a, answered, b}));
  answered->Settle(OnlyStatus(OutcomeUnknown()));  // by the watchdog
  ASSERT_EQ(turns.Begin(true), Turn::kSettle);
  turns.Missing();
  turns.Decided(false);
  EXPECT_TRUE(turns.TakeProven().empty());
  EXPECT_EQ(turns.Begun(), (std::vector<PendingPtr>{a, b}));
  for (const PendingPtr& next : {a, b}) {
    ASSERT_EQ(turns.Begin(true), Turn::kAlone);
    EXPECT_EQ(turns.TakeCommand(), next);
    EXPECT_EQ(next->losses, 1);
    turns.Decided(false);
    ASSERT_EQ(turns.Begin(true), Turn::kShared);
    turns.Decided(false);
  }
  EXPECT_TRUE(turns.settled());
}

// The message of a missing batch may still arrive: nothing is concluded before a later row is
// there.
TEST(Turns, AMissingBatchIsLookedUpAgainUntilARowIsCommitted) {
  Turns turns;
  const PendingPtr pending = NewCommand(false);
  turns.Begin(true);
  turns.Decided(false);
  turns.Lost(BatchOf({pending}));
  ASSERT_EQ(turns.Begin(true), Turn::kSettle);
  turns.Missing();
  turns.Decided(false);
  turns.Lost(BatchOf({}));
  ASSERT_EQ(turns.Begin(true), Turn::kSettle);
  turns.Missing();
  turns.Decided(false);
  EXPECT_TRUE(turns.unsettled());  // PostgreSQL has refused the row
  ASSERT_EQ(turns.Begin(true), Turn::kSettle);
  ASSERT_NE(turns.in_doubt(), nullptr);
  turns.Found();  // the message has arrived after all
  turns.Decided(false);
  const auto proven = turns.TakeProven();
  ASSERT_EQ(proven.size(), 1u);
  EXPECT_EQ(proven[0]->Commands(), std::vector<PendingPtr>{pending});
  EXPECT_TRUE(turns.settled());
}

// A command whose write breaks the connection counts every loss; its neighbours count one.
TEST(Turns, LossesAreCountedPerCommand) {
  Turns turns;
  const PendingPtr poison = NewCommand(false), neighbour = NewCommand(false);
  turns.Begin(true);
  turns.Decided(false);
  turns.Lost(BatchOf({poison, neighbour}));
  turns.Begin(true);
  turns.Missing();
  turns.Decided(false);
  turns.TakeProven();
  ASSERT_EQ(turns.Begin(true), Turn::kAlone);
  ASSERT_EQ(turns.TakeCommand(), poison);
  turns.Decided(false);
  turns.Lost(BatchOf({poison}));
  EXPECT_EQ(poison->losses, kLossesMax);
  ASSERT_EQ(turns.Begin(true), Turn::kSettle);
  turns.Missing();
  turns.Decided(false);
  turns.TakeProven();
  EXPECT_EQ(turns.Begin(true), Turn::kShared);  // not the neighbour: the last batch was alone
  turns.Decided(false);
  ASSERT_EQ(turns.Begin(true), Turn::kAlone);
  EXPECT_EQ(turns.TakeCommand(), neighbour);
  EXPECT_EQ(neighbour->losses, 1);
}

TEST(Turns, GivingUpLeavesNothing) {
  Turns turns;
  const PendingPtr in_doubt = NewCommand(false), alone = NewCommand(true),
                   large = NewCommand(false);
  turns.Begin(true);
  turns.Decided(false);
  turns.Lost(BatchOf({in_doubt}));
  turns.AddAlone(alone);
  turns.AddLarge(large);
  EXPECT_EQ(turns.GiveUpUnsettled(), std::vector<PendingPtr>{in_doubt});
  EXPECT_EQ(turns.GiveUpWaiting(), (std::vector<PendingPtr>{alone, large}));
  EXPECT_TRUE(turns.settled());
  EXPECT_EQ(turns.Begin(false), Turn::kShared);
}

// A writer without a database: commands come, batches are refused, lost and settled at random.
class Walk {
 public:
  explicit Walk(uint64_t seed) : random_(seed) {}

  void Step() {
    for (int n = Upto(3); n > 0; --n) Come();
    leases_wait_ = leases_wait_ || Upto(10) == 0;
    const bool shared_waits = !queue_.empty() || leases_wait_;
    const bool unsettled = turns_.unsettled();
    const Turn turn = turns_.Begin(shared_waits);
    EXPECT_EQ(turn == Turn::kSettle, unsettled);
    EXPECT_FALSE(turn == Turn::kLarge && last_was_large_ && shared_waits);
    std::vector<PendingPtr> commands = Commands(turn);
    if (Upto(8) == 0) return NotBegun(turn, commands);
    const bool own = turn == Turn::kAlone || turn == Turn::kLarge;
    passed_by_ = turn == Turn::kShared ? 0 : passed_by_ + (own && shared_waits ? 1 : 0);
    EXPECT_LT(passed_by_, 2) << "shared work waits for two batches";
    Decide(turn, std::move(commands));
  }

  // Everything that came and was not answered, after all that waits was given up.
  std::set<PendingPtr> Unanswered() {
    std::set<PendingPtr> open = open_;
    for (const auto& list : {turns_.GiveUpUnsettled(), turns_.GiveUpWaiting()}) {
      for (const PendingPtr& pending : list) EXPECT_EQ(open.erase(pending), 1u);
    }
    for (const PendingPtr& pending : queue_) EXPECT_EQ(open.erase(pending), 1u);
    return open;
  }

 private:
  int Upto(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }

  void Come() {
    queue_.push_back(NewCommand(false));
    open_.insert(queue_.back());
  }

  std::vector<PendingPtr> Commands(Turn turn) {
    if (turn == Turn::kSettle) return {};
    if (turn != Turn::kShared) return {turns_.TakeCommand()};
    leases_wait_ = false;
    std::vector<PendingPtr> commands(queue_.begin(), queue_.end());
    queue_.clear();
    return commands;
  }

  void NotBegun(Turn turn, const std::vector<PendingPtr>& commands) {
    for (const PendingPtr& pending : commands) {
      if (turn == Turn::kAlone) {
        turns_.AddAlone(pending);
      } else {
        queue_.push_front(pending);
      }
    }
  }

  void Decide(Turn turn, std::vector<PendingPtr> commands) {
    if (turn == Turn::kSettle && turns_.in_doubt() != nullptr) {
      Upto(2) == 0 ? turns_.Found() : turns_.Missing();
    }
    if (turn == Turn::kShared && !commands.empty() && Upto(6) == 0) {
      if (turns_.AddLarge(commands.back())) commands.pop_back();
    }
    const bool large = turn != Turn::kSettle && !commands.empty() && Upto(4) == 0 &&
                       turns_.MayBeLarge(commands.size() > 1 || !queue_.empty());
    std::unique_ptr<Batch> batch = BatchOf(commands);
    turns_.Decided(large);
    if (turn != Turn::kSettle) last_was_large_ = large || turn == Turn::kLarge;
    const int outcome = Upto(6);
    if (outcome == 0) return turns_.Lost(std::move(batch));
    if (outcome == 1) {  // refused
      for (const PendingPtr& pending : commands) turns_.AddAlone(pending);
      return;
    }
    for (const auto& proven : turns_.TakeProven()) Answer(proven->Commands());
    Answer(commands);
  }

  void Answer(const std::vector<PendingPtr>& commands) {
    for (const PendingPtr& pending : commands) {
      EXPECT_TRUE(pending->Settle(Decision()).has_value()) << "answered twice";
      EXPECT_EQ(open_.erase(pending), 1u);
    }
  }

  std::mt19937_64 random_;
  Turns turns_;
  std::deque<PendingPtr> queue_;
  std::set<PendingPtr> open_;
  bool leases_wait_ = false;
  bool last_was_large_ = false;
  int passed_by_ = 0;  // own batches since shared work began to wait
};

TEST(Turns, RandomWalksKeepTheInvariants) {
  const uint64_t seed = Seed();
  for (uint64_t walk = 0; walk < 200; ++walk) {
    Walk steps(seed + walk);
    for (int step = 0; step < 200 && !HasFailure(); ++step) steps.Step();
    EXPECT_TRUE(steps.Unanswered().empty()) << "a command was lost";
    ASSERT_FALSE(HasFailure()) << "walk " << walk << " of seed " << seed;
  }
}

}  // namespace
}  // namespace berth::placement
