// Client: a scheduler that makes every call a scheduler may make, whatever fails, and records it.
//
// It makes one call after the other, to either process. If a call gets no answer, the client asks
// for its outcome until it is known, sometimes by sending the call again. Most of its consumers are
// its own; for a few all clients contend. One thread each.
#ifndef BERTH_TESTS_HISTORY_CLIENT_H_
#define BERTH_TESTS_HISTORY_CLIENT_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/history/history.h"
#include "tests/history/servers.h"
#include "tests/history/wire.h"

namespace berth::history {

// What all clients of a run share.
struct Run {
  const Servers* servers = nullptr;
  int providers = 0;
  int hot_providers = 0;  // those after the nodes: little capacity, often asked for
  // Whether completed calls are sent once more. Not in a run in which completed writes may be lost.
  bool repeats = true;
  std::atomic<bool> stop{false};
  std::atomic<int64_t> done{0};
  std::atomic<int64_t> unknown{0};    // calls that needed a question for their outcome
  std::atomic<int64_t> unsettled{0};  // calls whose outcome stayed unknown
};

// Instead of the index of a client, in the numbers of consumers and records for which all clients
// contend.
inline constexpr uint64_t kContendedClient = 0xFF;

// Nanoseconds on the clock of records.
int64_t NowNs();

class Client {
 public:
  Client(uint64_t seed, uint16_t index, Run* run, ClientLog* log);

  // Until run->stop.
  void Work();
  // Writes the record of an instance on `host`. Returns the revision; INT64_MAX: it cannot be done.
  int64_t MarkHost(uint16_t host);

 private:
  struct Held {
    int64_t generation = 0;
    std::vector<Row> rows;
  };

  void One();
  void Claim(int providers);
  void Rewrite();
  void Search(int members);
  void Release();
  void Adjust(bool with_id);
  void Lease();
  void WriteInventory();
  void ActLate();
  void Contend();
  void Repeat();
  void ReadProvider();
  void ReadConsumer();

  void ActOnRecord();
  void WriteRecord(Kind kind, uint64_t record);
  void ListRecords(Kind kind);
  uint64_t AnyInstance();
  Row AnyState();
  int32_t AnyEnd();
  void BelieveRecords(const Operation& operation);
  void BelieveRecord(Kind kind, const Part& part);
  void BelieveConflict(const Operation& operation, uint64_t record);

  void AdvanceMove();
  void ReadHolder(uint64_t holder);
  void Hold(uint64_t holder, const std::vector<Row>& rows);
  void DivideHolding(uint64_t migration);
  void EndMove(uint64_t migration);

  Operation New(Kind kind);
  Part& AddPart(Operation* operation, uint64_t consumer, int64_t expected,
                const std::vector<Row>& rows);
  // Makes the call, finds out its outcome and records it. True: the call was done.
  bool Do(Operation operation);
  void Settle(const Call& call, Operation* operation);
  bool SendAgain(const Call& call, Operation* operation);
  void AskUntilKnown(Operation* operation);
  void Believe(const Operation& operation);

  uint64_t Upto(uint64_t count) { return random_() % count; }
  uint16_t AnyProvider();
  bool IsHot(uint16_t provider) const {
    return provider >= kHosts && provider < kHosts + run_->hot_providers;
  }
  bool IsOwn(uint64_t number) const { return OwnerOf(number) == index_; }
  std::vector<Row> RowsOn(int providers);
  uint64_t NewConsumer() { return uint64_t{index_} << 40 | ++consumers_; }
  std::map<uint64_t, Held>::iterator AnyHeld();

  std::mt19937_64 random_;
  const uint16_t index_;
  Run* const run_;
  ClientLog* const log_;
  Channels channels_;
  std::map<uint64_t, Held> held_;
  std::deque<std::pair<uint64_t, int64_t>> released_;  // consumers, with their last generation
  std::map<uint16_t, int64_t> generations_;            // of providers, as last seen
  std::map<uint64_t, Held> records_;                   // as last seen
  std::string page_token_;  // of the last answer, if it was a page that another page follows
  int64_t seen_ = 0;        // the highest revision
  uint8_t epoch_ = 1;
  uint64_t consumers_ = 0;
};

}  // namespace berth::history

#endif  // BERTH_TESTS_HISTORY_CLIENT_H_
