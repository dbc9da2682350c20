// HistoryMaker: an imagined ledger that decides each operation at one moment, and eight clients whose
// calls overlap around these moments. RandomHistory is made with it.
//
// The methods for the calls of clients are defined in random_history.cc and random_moves.cc, those
// for trackers in random_pushes.cc. One thread.
#ifndef BERTH_TESTS_HISTORY_FAULTS_HISTORY_MAKER_H_
#define BERTH_TESTS_HISTORY_FAULTS_HISTORY_MAKER_H_

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "tests/history/checker/node_views.h"
#include "tests/history/history.h"

namespace berth::history {

class HistoryMaker {
 public:
  explicit HistoryMaker(uint64_t seed);

  // The whole history. Called once.
  History Run();

 private:
  // What a consumer holds, or the rows of a record.
  struct Held {
    int64_t generation = 0;
    std::vector<Row> rows;
    int64_t lease_end_us = 0;  // 0: no lease
  };
  using HeldBy = std::map<uint64_t, Held>;

  uint64_t Upto(uint64_t count) { return random_() % count; }
  uint16_t AnyProvider();
  uint16_t AnyHost() { return static_cast<uint16_t>(Upto(kHosts)); }
  HeldBy::iterator AnyHeld();

  void One();
  // Begins an operation. A client makes one call after the other.
  void Begin();
  // Ends the operation. `there`: the present value that a refusal reports.
  void End(Outcome outcome, Reason reason = Reason::kNone, int64_t there = 0);
  // Ends a write that is done. Its client gets the answer when the open revision is closed.
  void Done();
  // Commits the open revision, if it has a step.
  void CloseRevision();
  Step NewStep() const;
  // Adds `part` with `held` to the story.
  void AddPart(uint64_t consumer, const Held& held, Step* step);
  // Adds the providers that a step touched to the story.
  void AddUses(const std::set<uint16_t>& touched, Step* step);
  // The story of a write after which `consumer` has `held`.
  void Tell(uint64_t consumer, const Held& held, const std::set<uint16_t>& touched);
  void Finish();
  void Watch();

  void ReadProvider();
  void WriteInventory();
  // Counts the row in, or out if `sign` is -1.
  void Move(const Row& row, int sign, std::set<uint16_t>* touched);
  void Claim();
  void Rewrite();
  void Release();
  void Adjust();
  void Lease();
  // The ledger ends all leases that are over, in one step.
  void Expire();

  // The consumers of an instance and of its migration get something on either side of the move.
  void DivideHolding();
  // Ends a move, if all that its consumers hold is on its two sides.
  void EndMove();
  // Adds a part to the operation, which its client's log gets, too.
  void Ask(uint64_t number, int64_t expected, const std::vector<Row>& rows);
  static std::vector<Row> HeldAfter(const Held& own, const Held& moved, bool keeps_both,
                                    uint16_t side);
  // The consumer of the instance holds `held`, and that of the migration nothing.
  void Settle(uint64_t migration, const std::vector<Row>& held, Step* step);
  // Whether the consumer of a migration of the instance holds something.
  bool MoveHolds(uint64_t instance) const;
  Held Find(const HeldBy& all, uint64_t number) const;

  // A tracker reports its node and a provider that belongs to no node.
  void Report();
  // The pushes that the tracker of each host gets.
  void Push();
  // Adds a push to `host` of revision `revision` with `numbers` as they are after `step`.
  void AddPush(uint16_t host, int64_t revision, bool complete, const std::set<uint64_t>& numbers,
               const NodeViews& views, uint32_t step);

  void WriteRecord();
  // Writes `record`, now and then with an old expectation. `reason`: why it is refused in any case.
  void Put(Kind kind, uint64_t record, Reason reason);
  // The rows that `record` has after a write of `kind`.
  std::vector<Row> RowsToPut(Kind kind, uint64_t record);
  void DeleteInstance(uint64_t instance);
  void ListRecords();
  // The page of a list that follows the client's last operation.
  void ListMore();
  // Adds the records of the page to the client's log, and ends the operation.
  void EndList();

  std::mt19937_64 random_;
  History history_;
  std::vector<ProviderState> providers_;
  HeldBy held_, records_;
  std::vector<Step> steps_;                          // of the open revision
  std::vector<std::pair<uint16_t, uint32_t>> open_;  // the operations that it will answer
  std::vector<int64_t> latest_;                      // by client: the end of its last operation
  int64_t now_ = 1000;
  int64_t time_us_ = 1'000'000'000;  // the ledger's clock at the open revision
  int64_t revision_ = 0;
  int64_t commands_ = 0;
  uint64_t consumers_ = 0;
  uint16_t client_ = 0;
  ClientLog* log_ = nullptr;
  Operation operation_;
};

}  // namespace berth::history

#endif  // BERTH_TESTS_HISTORY_FAULTS_HISTORY_MAKER_H_
