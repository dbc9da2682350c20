// History: the calls and answers of many clients, and the ledger's log of the same time, in records
// small enough to keep millions of them.
//
// Values; one writer each, read by everybody once it is done. Times are nanoseconds of the
// monotonic clock of the machine that all clients run on.
#ifndef BERTH_TESTS_HISTORY_HISTORY_H_
#define BERTH_TESTS_HISTORY_HISTORY_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace berth::history {

// The number of resource classes of a history: VCPU and MEMORY_MB.
inline constexpr int kClasses = 2;
using Amounts = std::array<int64_t, kClasses>;

inline constexpr int64_t kNew = 0;   // expected: the consumer holds nothing
inline constexpr int64_t kAny = -1;  // expected: not compared

// Instead of the client that sent a command: the command has no request id of a client.
inline constexpr int kNobody = -1;

enum class Kind : uint8_t {
  kSet,        // SetAllocations
  kRelease,    // DeleteAllocations
  kAdjust,     // AdjustAllocations: rows are what is added
  kClaim,      // Claim, or ClaimMany with several parts: rows are amounts until placed
  kLease,      // SetLease
  kExpire,     // by the ledger itself: it releases consumers whose leases have ended
  kInventory,  // SetInventories: rows are totals
  kReport,     // of a tracker: one part for each provider, whose rows are totals
  kSetInstance,
  kDeleteInstance,
  kCreateMigration,
  kUpdateMigration,  // what is expected is a status
  kEndMove,          // four parts: see tests/history/checker/move.h
  kRepeat,           // a call that was answered, sent once more
  kReadInventory,    // GetInventories: two rows a class, used and capacity
  kReadConsumer,     // GetAllocations
  kListInstances,    // on one host: one part for each instance
  kListMigrations    // from or to one host: one part for each migration
};

enum class Outcome : uint8_t {
  kDone,     // answered, or found done by request id
  kRefused,  // answered: not done, because of what the ledger holds
  kAway,     // answered: not done, because of the service's own state
  kAbsent,   // no answer; a look-up by request id said: not done
  kUnknown   // no answer, and the outcome stayed unknown
};

enum class Reason : uint8_t {
  kNone,
  kNoRoom,
  kNoCandidate,
  kConsumerConflict,
  kProviderConflict,
  kConsumerNotFound,
  kNegative,
  kInstanceNotFound,
  kMigrationNotFound,
  kDuplicateMigration,
  kRecordConflict,
  kMoveHolds,
  kWrongMoveEnd,
  kInstanceElsewhere,
  kNothingHeld,
  kLeaseLasts,  // of kExpire: no client may get it
  kOther        // a reason that no client of this history may get
};

// An amount of one class of one provider.
struct Row {
  uint16_t provider = 0;
  uint8_t resource_class = 0;
  int32_t amount = 0;
  friend bool operator==(const Row&, const Row&) = default;
};

// The hosts that records name, from 0. The provider with the number of a host is the root of the
// host's node.
inline constexpr uint16_t kHosts = 4;
// From this number on, one provider for each host: the child of the root of the host's node.
inline constexpr uint16_t kFirstChild = 20;
inline uint16_t ChildOf(uint16_t node) { return static_cast<uint16_t>(kFirstChild + node); }
// The node to which a provider belongs; none: it belongs to no node.
inline std::optional<uint16_t> NodeAbove(uint16_t provider) {
  const uint16_t node =
      provider < kFirstChild ? provider : static_cast<uint16_t>(provider - kFirstChild);
  return node < kHosts ? std::optional<uint16_t>(node) : std::nullopt;
}
// The part of a report about a provider has the provider's number and this bit as its consumer.
inline constexpr uint64_t kProviderBit = uint64_t{1} << 60;

// The history records an instance or a migration as it records a consumer. The number of the record
// has one of these bits. The first row of a record has kStateClass, the host or the source host as
// the provider, and the state as the amount. A migration with a destination has a second row with
// kDestinationClass and the destination host as the provider.
inline constexpr uint64_t kInstanceBit = uint64_t{1} << 62;
inline constexpr uint64_t kMigrationBit = uint64_t{1} << 63;
// The number of the consumer that has the uuid of a record is the record's number with this bit.
inline constexpr uint64_t kHolderBit = uint64_t{1} << 61;
inline constexpr uint8_t kStateClass = kClasses;
inline constexpr uint8_t kDestinationClass = kClasses + 1;
// How many migrations of one instance a history may have at a time.
inline constexpr uint64_t kMigrationsMax = 2;

// Whether a record with these rows is listed for `host`.
inline bool IsOn(uint16_t host, const std::vector<Row>& rows) {
  return std::any_of(rows.begin(), rows.end(),
                     [&](const Row& row) { return row.provider == host; });
}

inline bool IsMigration(uint64_t number) { return (number & kMigrationBit) != 0; }
inline bool IsRecord(uint64_t number) {
  return (number & (kInstanceBit | kMigrationBit)) != 0 && (number & kHolderBit) == 0;
}
inline uint64_t HolderOf(uint64_t record) { return record | kHolderBit; }
// The client that made the consumer or record, or the number for contended ones.
inline uint64_t OwnerOf(uint64_t number) { return number >> 40 & 0xFF; }
// The numbers of an instance's migrations, with `which` below kMigrationsMax, and the way back.
inline uint64_t MigrationOf(uint64_t instance, uint64_t which) {
  return instance | kMigrationBit | which << 48;
}
inline uint64_t InstanceOf(uint64_t record) {
  return record & ~(kMigrationBit | kHolderBit | uint64_t{0xFF} << 48);
}

// The instance of a record, its migrations, and the consumers with their uuids.
inline std::vector<uint64_t> RelativesOf(uint64_t record) {
  const uint64_t instance = InstanceOf(record);
  std::vector<uint64_t> all = {instance, HolderOf(instance)};
  for (uint64_t which = 0; which < kMigrationsMax; ++which) {
    all.push_back(MigrationOf(instance, which));
    all.push_back(HolderOf(all.back()));
  }
  return all;
}

// One consumer, instance or migration of an operation, or of a command in the log.
struct Part {
  uint64_t consumer = 0;
  int64_t expected = kNew;
  int64_t generation = 0;  // afterwards; 0: it holds nothing, or is unknown
  uint32_t first_row = 0;
  uint32_t rows = 0;
  int64_t lease_end_us = 0;  // afterwards, by the ledger's clock; read from the log; 0: no lease
};

struct Operation {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t revision = 0;  // of the answer
  int64_t minimum = 0;   // of a read: the lowest revision that it accepts
  // Of a write of inventories, and of a read; of a refusal, the present value that it reported.
  int64_t expected = 0;
  int64_t generation = 0;
  int64_t allocation_generation = 0;
  uint64_t cursor = 0;  // of a later page of a list: the record after which the page begins
  int32_t lease_s = 0;  // of kLease: how long the lease lasts; 0: the consumer has none any more
  uint32_t number = 0;  // with the client: the request id
  uint32_t first_part = 0;
  uint32_t first_row = 0;  // of an inventory
  uint16_t parts = 0;
  uint16_t rows = 0;
  uint16_t client = 0;
  uint16_t process = 0;  // the start of a placement process that answered
  uint16_t provider = 0;
  uint16_t limit = 0;  // of a list: how many records one page may have; 0: more than exist
  bool more = false;   // of a page of a list: another page follows
  uint8_t epoch = 0;
  Kind kind = Kind::kSet;
  Outcome outcome = Outcome::kUnknown;
  Reason reason = Reason::kNone;
  bool with_id = true;
  // Of a report: its first answer was lost. The answer that came says only that the ledger had the
  // report at `revision`, perhaps since an earlier one.
  bool late = false;
};

inline bool IsRead(Kind kind) { return kind >= Kind::kReadInventory; }
inline bool IsList(Kind kind) { return kind >= Kind::kListInstances; }
inline bool IsOfRecords(Kind kind) {
  return IsList(kind) || (kind >= Kind::kSetInstance && kind <= Kind::kEndMove);
}

// The operations of one client, in their order. Deques, because growing moves no element.
struct ClientLog {
  std::deque<Operation> operations;
  std::deque<Part> parts;
  std::deque<Row> rows;
};

// A provider as a command left it.
struct UseAfter {
  uint16_t provider = 0;
  int64_t allocation_generation = 0;
  Amounts used{};
};
struct ConfigAfter {
  uint16_t provider = 0;
  int64_t generation = 0;
  Amounts capacity{};
};

// One command that took effect, as the ledger's log has it.
struct Step {
  int64_t revision = 0;
  int32_t client = kNobody;
  uint32_t number = 0;
  bool expires = false;  // the log says that the ledger itself ended leases: kExpire
  uint32_t first_part = 0, parts = 0;
  uint32_t first_use = 0, uses = 0;
  uint32_t first_config = 0, configs = 0;
};

// One row of the log.
struct RevisionRow {
  int64_t revision = 0;
  int64_t epoch = 0;
  int64_t command_count = 0;  // with this row
  uint32_t steps_end = 0;     // number of steps in this row and all rows before it
  int64_t time_us = 0;        // by the ledger's clock
};

// The ledger's log in order, after the state with which the history begins.
struct Story {
  std::deque<RevisionRow> revisions;
  std::deque<Step> steps;
  std::deque<Part> parts;
  std::deque<Row> rows;
  std::deque<UseAfter> uses;
  std::deque<ConfigAfter> configs;
  // Descriptions of rows whose previous batch is not the row before.
  std::vector<std::string> breaks;
};

// The whole of a provider, and of a consumer or record.
struct ProviderState {
  int64_t generation = 0;
  int64_t allocation_generation = 0;
  Amounts capacity{};
  Amounts used{};
  friend bool operator==(const ProviderState&, const ProviderState&) = default;
};
struct ConsumerState {
  uint64_t consumer = 0;
  int64_t generation = 0;
  std::vector<Row> rows;     // of a consumer: by rising provider, then class
  int64_t lease_end_us = 0;  // 0: no lease
};

// What the tables hold.
struct Dump {
  int64_t revision = 0;
  int64_t command_count = 0;
  std::vector<ProviderState> providers;
  std::vector<ConsumerState> consumers;
};

// What a watcher received of one revision: a digest of its changes in order.
struct ToldRow {
  int64_t revision = 0;
  uint64_t digest = 0;
};
struct WatchLog {
  int64_t after = 0;  // where it began
  int64_t until = 0;  // the last revision that it received completely
  std::deque<ToldRow> told;
};

// What a tracker received in one push. The parts are consumers, with their rows in the node's tree,
// and records; generation 0: it does not concern the node any more.
struct Push {
  int64_t revision = 0;   // the tracker has all changes up to it
  bool complete = false;  // what the push does not have does not concern the node
  bool restarts = false;  // the first push of a tracker that has started anew and knows nothing
  int64_t received_ns = 0;
  uint32_t first_part = 0, parts = 0;
};
struct PushLog {
  uint16_t host = 0;
  int64_t wanted =
      0;  // in the end the tracker waited for a push of this revision, or of a later one
  std::deque<Push> pushes;
  std::deque<Part> parts;
  std::deque<Row> rows;
};

// A history goes on until no consumer has a lease.
struct History {
  Dump begin;
  std::vector<ClientLog> clients;
  std::vector<WatchLog> watches;
  std::vector<PushLog> pushes;
  Story story;
  Dump end;
  // How old the state of a read may be.
  int64_t staleness_ns = 1'000'000'000;
  // When the new epoch had begun, if the test put the database back to an older state: answers from
  // before that time may be lost. 0: the test did not.
  int64_t epoch_began_ns = 0;
};

// Digests of changes that a watcher received. Each call folds one change in; their order matters.
inline uint64_t Fold(uint64_t digest, uint64_t value) {
  digest ^= value + 0x9E3779B97F4A7C15u + (digest << 6) + (digest >> 2);
  return digest * 0xBF58476D1CE4E5B9u;
}
inline uint64_t FoldConsumer(uint64_t digest, uint64_t consumer, int64_t generation) {
  return Fold(Fold(Fold(digest, 1), consumer), static_cast<uint64_t>(generation));
}
inline uint64_t FoldRow(uint64_t digest, const Row& row) {
  return Fold(digest, static_cast<uint64_t>(row.provider) << 40 |
                          static_cast<uint64_t>(row.resource_class) << 32 |
                          static_cast<uint32_t>(row.amount));
}
inline uint64_t FoldUse(uint64_t digest, const UseAfter& use) {
  digest =
      Fold(Fold(Fold(digest, 2), use.provider), static_cast<uint64_t>(use.allocation_generation));
  for (const int64_t amount : use.used) digest = Fold(digest, static_cast<uint64_t>(amount));
  return digest;
}
inline uint64_t FoldConfig(uint64_t digest, const ConfigAfter& config) {
  digest = Fold(Fold(Fold(digest, 3), config.provider), static_cast<uint64_t>(config.generation));
  for (const int64_t amount : config.capacity) digest = Fold(digest, static_cast<uint64_t>(amount));
  return digest;
}

// Folds what `step` changed, in the order of the log: consumers, providers, then records.
inline uint64_t FoldStep(uint64_t digest, const Story& story, const Step& step) {
  const auto fold_parts = [&](bool records) {
    for (uint32_t p = step.first_part; p < step.first_part + step.parts; ++p) {
      const Part& part = story.parts[p];
      if (IsRecord(part.consumer) != records) continue;
      digest = FoldConsumer(digest, part.consumer, part.generation);
      for (uint32_t r = 0; r < part.rows; ++r) {
        digest = FoldRow(digest, story.rows[part.first_row + r]);
      }
    }
  };
  fold_parts(false);
  for (uint32_t u = 0; u < step.uses; ++u) digest = FoldUse(digest, story.uses[step.first_use + u]);
  for (uint32_t c = 0; c < step.configs; ++c) {
    digest = FoldConfig(digest, story.configs[step.first_config + c]);
  }
  fold_parts(true);
  return digest;
}

}  // namespace berth::history

#endif  // BERTH_TESTS_HISTORY_HISTORY_H_
