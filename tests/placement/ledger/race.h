// Race: two ledgers on one database, as two placement processes have them, and every order in which
// two writers can meet, each made to happen.
//
// The first one's way to the database can be cut. Neither follows the log by itself: who is behind
// finds out under the lock, or not at all. For one thread.
#ifndef BERTH_TESTS_PLACEMENT_LEDGER_RACE_H_
#define BERTH_TESTS_PLACEMENT_LEDGER_RACE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "placement/store/database.h"
#include "tests/placement/ledger/gate.h"
#include "tests/processes/cutting_proxy.h"
#include "tests/processes/ledger_runner.h"

namespace berth::placement {

class Race {
 public:
  // `roads`: the roads of the first process's writer, kLong or kShortFirst.
  explicit Race(LedgerRoads roads = LedgerRoads::kLong);

  LedgerRunner& one() { return one_; }

  // What becomes of `bodies`, which one ledger decides in one batch, in this order.
  std::vector<Decision> InOneBatch(const std::vector<CommandBody>& bodies);

  // Two commands that must not both have their way, or must not hurt each other.
  using Pair = std::pair<CommandBody, CommandBody>;
  // Prepares a round through one(): `base` to `base` + 99 are numbers that no other round has.
  using Make = std::function<Pair(int base)>;
  // Sees what became of both; `state` has everything that was committed.
  using Check = std::function<void(int base, const Decision& first, const Decision& second,
                                   const State& state)>;

  // One round for each order: both in one batch, either way round; the one stopped on one process
  // before its lock, under it (or decided, on the short road), before its write and after its
  // commit while the other comes through another; its write lost, or only the answer, and the other
  // first when it is tried again. The safety properties hold after each, memory and tables agree in
  // the end.
  void InEveryOrder(const Make& make, const Check& check);

 private:
  enum class Lost { kNothing, kWrite, kAnswer };
  struct Order {
    LedgerStep step;
    Lost lost;
    const char* words;
  };
  std::pair<Decision, Decision> Overtake(const Order& order, const CommandBody& held,
                                         const CommandBody& other);
  // Begins `held` and waits until its writer stands at `step`, or has answered without coming by.
  std::future<Decision> Hold(LedgerStep step, const CommandBody& held);
  LedgerOptions GatedOptions();
  const State& CatchUp();

  const LedgerRoads roads_;
  const std::string url_;
  CuttingProxy proxy_;
  Gate gate_;
  LedgerRunner one_;
  LedgerRunner two_;
  std::unique_ptr<Database> observer_;
  StatePtr newest_;
  int base_ = 0;
};

// "OK", or the reason of the refusal.
std::string WordOf(const Decision& decision);

}  // namespace berth::placement

#endif  // BERTH_TESTS_PLACEMENT_LEDGER_RACE_H_
