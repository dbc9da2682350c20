#include "tests/history/random_history.h"

#include <algorithm>
#include <map>
#include <utility>

#include "tests/history/effect.h"

namespace berth::history {
namespace {

constexpr int kClients = 8;
constexpr int kProviders = 4;
constexpr int kOperations = 400;
constexpr int64_t kCapacity = 12;
constexpr int64_t kWaits = INT64_MAX / 2;

// An imagined ledger that decides each operation at one moment, and eight clients whose calls overlap
// around these moments.
class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(seed) {
    history_.begin.revision = 10;
    history_.begin.command_count = 100;
    history_.begin.providers.resize(kProviders);
    for (ProviderState& state : history_.begin.providers) {
      state = {50, 60, {kCapacity, kCapacity}, {}};
    }
    providers_ = history_.begin.providers;
    history_.clients.resize(kClients);
    revision_ = history_.begin.revision;
    commands_ = history_.begin.command_count;
    latest_.resize(kClients);
  }

  History Run() {
    for (int i = 0; i < kOperations; ++i) {
      now_ += 10;
      if (Upto(3) == 0) CloseRevision();
      One();
    }
    CloseRevision();
    Finish();
    return std::move(history_);
  }

 private:
  uint64_t Upto(uint64_t count) { return random_() % count; }

  void One() {
    client_ = static_cast<uint16_t>(Upto(kClients));
    log_ = &history_.clients[client_];
    operation_ = Operation();
    operation_.client = client_;
    operation_.number = static_cast<uint32_t>(log_->operations.size());
    operation_.process = static_cast<uint16_t>(client_ % 2);
    operation_.epoch = 1;
    operation_.first_part = static_cast<uint32_t>(log_->parts.size());
    operation_.first_row = static_cast<uint32_t>(log_->rows.size());
    Begin();
    if (Upto(3) == 0) return Upto(4) == 0 ? ListRecords() : WriteRecord();
    switch (Upto(8)) {
      case 0:
        return ReadProvider();
      case 1:
        return WriteInventory();
      case 2:
        return held_.empty() ? Claim() : Release();
      case 3:
        return Adjust();
      default:
        return Claim();
    }
  }

  // A client makes one call after the other; what it asks for is decided now.
  void Begin() {
    if (latest_[client_] == kWaits) CloseRevision();
    now_ = std::max(now_, latest_[client_] + 2);
    operation_.begin_ns = std::max(latest_[client_] + 1, now_ - static_cast<int64_t>(Upto(30)));
  }

  // Ends the operation; a write that was done is told in the next revision.
  void End(Outcome outcome, Reason reason = Reason::kNone, int64_t there = 0) {
    operation_.outcome = outcome;
    operation_.reason = reason;
    if (outcome == Outcome::kRefused) operation_.generation = there;
    operation_.end_ns = now_ + 1;
    latest_[client_] = operation_.end_ns;
    log_->operations.push_back(operation_);
  }
  void Done() {
    // Nobody is told before the revision is there.
    open_.push_back({client_, operation_.number});
    End(Upto(12) == 0 ? Outcome::kUnknown : Outcome::kDone);
    latest_[client_] = kWaits;
    ++commands_;
  }

  void CloseRevision() {
    if (open_.empty()) return;
    ++revision_;
    now_ += 5;
    for (const auto& [client, number] : open_) {
      Operation& operation = history_.clients[client].operations[number];
      operation.revision = revision_;
      operation.end_ns = now_ + 1 + static_cast<int64_t>(Upto(20));
      latest_[client] = operation.end_ns;
    }
    for (Step& step : steps_) {
      step.revision = revision_;
      history_.story.steps.push_back(step);
    }
    steps_.clear();
    open_.clear();
    history_.story.revisions.push_back(
        {revision_, 1, commands_, static_cast<uint32_t>(history_.story.steps.size())});
  }

  Step NewStep() const {
    const Story& story = history_.story;
    Step step;
    step.client = client_;
    step.number = operation_.number;
    step.first_part = static_cast<uint32_t>(story.parts.size());
    step.first_use = static_cast<uint32_t>(story.uses.size());
    step.first_config = static_cast<uint32_t>(story.configs.size());
    return step;
  }

  void ReadProvider() {
    CloseRevision();
    operation_.kind = Kind::kReadInventory;
    operation_.provider = static_cast<uint16_t>(Upto(kProviders));
    const ProviderState& state = providers_[operation_.provider];
    operation_.generation = state.generation;
    operation_.allocation_generation = state.allocation_generation;
    operation_.revision = revision_;
    operation_.rows = 2 * kClasses;
    for (uint8_t c = 0; c < kClasses; ++c) {
      log_->rows.push_back({operation_.provider, c, static_cast<int32_t>(state.used[c])});
      log_->rows.push_back({operation_.provider, c, static_cast<int32_t>(state.capacity[c])});
    }
    End(Outcome::kDone);
  }

  void WriteInventory() {
    operation_.kind = Kind::kInventory;
    operation_.provider = static_cast<uint16_t>(Upto(kProviders));
    ProviderState& state = providers_[operation_.provider];
    const bool stale = Upto(4) == 0;
    operation_.expected = state.generation - (stale ? 1 : 0);
    operation_.rows = kClasses;
    for (uint8_t c = 0; c < kClasses; ++c) {
      log_->rows.push_back({operation_.provider, c, static_cast<int32_t>(4 + Upto(12))});
    }
    if (stale) return End(Outcome::kRefused, Reason::kProviderConflict, state.generation);
    ++state.generation;
    for (uint8_t c = 0; c < kClasses; ++c) {
      state.capacity[c] = log_->rows[operation_.first_row + c].amount;
    }
    operation_.generation = state.generation;
    Step step = NewStep();
    step.configs = 1;
    history_.story.configs.push_back({operation_.provider, state.generation, state.capacity});
    steps_.push_back(step);
    Done();
  }

  void Move(const Row& row, int sign, std::map<uint16_t, bool>* touched) {
    providers_[row.provider].used[row.resource_class] += sign * row.amount;
    (*touched)[row.provider] = true;
  }

  // The story of a write that leaves `consumer` with `rows`.
  void Tell(uint64_t consumer, int64_t generation, const std::vector<Row>& rows,
            const std::map<uint16_t, bool>& touched) {
    Story& story = history_.story;
    Step step = NewStep();
    step.parts = 1;
    story.parts.push_back({consumer, 0, generation, static_cast<uint32_t>(story.rows.size()),
                           static_cast<uint32_t>(rows.size())});
    story.rows.insert(story.rows.end(), rows.begin(), rows.end());
    for (const auto& [provider, is_touched] : touched) {
      ProviderState& state = providers_[provider];
      ++state.allocation_generation;
      ++step.uses;
      story.uses.push_back({provider, state.allocation_generation, state.used});
    }
    steps_.push_back(step);
  }

  void Claim() {
    operation_.kind = Kind::kSet;
    operation_.parts = 1;
    std::vector<Row> rows;
    const auto first = static_cast<uint16_t>(Upto(kProviders));
    rows.push_back({first, 0, static_cast<int32_t>(1 + Upto(3))});
    if (Upto(2) == 0) {
      rows.push_back(
          {static_cast<uint16_t>((first + 1) % kProviders), 0, static_cast<int32_t>(1 + Upto(3))});
    }
    SortRows(&rows);
    const uint64_t consumer = static_cast<uint64_t>(client_) << 40 | ++consumers_;
    Part part = {consumer, kNew, 0, operation_.first_row, static_cast<uint32_t>(rows.size())};
    log_->rows.insert(log_->rows.end(), rows.begin(), rows.end());
    for (const Row& row : rows) {
      const ProviderState& state = providers_[row.provider];
      if (state.used[0] + row.amount <= state.capacity[0]) continue;
      log_->parts.push_back(part);
      return End(Outcome::kRefused, Reason::kNoRoom, state.used[0]);
    }
    std::map<uint16_t, bool> touched;
    for (const Row& row : rows) Move(row, 1, &touched);
    part.generation = commands_ + 1;
    log_->parts.push_back(part);
    held_[consumer] = {part.generation, rows};
    Tell(consumer, part.generation, rows, touched);
    Done();
  }

  void Release() {
    operation_.kind = Kind::kRelease;
    operation_.parts = 1;
    const auto victim = std::next(held_.begin(), static_cast<int64_t>(Upto(held_.size())));
    log_->parts.push_back({victim->first, kAny, 0, 0, 0});
    std::map<uint16_t, bool> touched;
    for (const Row& row : victim->second.second) Move(row, -1, &touched);
    Tell(victim->first, 0, {}, touched);
    held_.erase(victim);
    Done();
  }

  void Adjust() {
    // Only by the client that made it: else nobody could tell whose adjustment was which.
    const auto chosen = held_.lower_bound(static_cast<uint64_t>(client_) << 40);
    if (chosen == held_.end() || chosen->first >> 40 != client_) return Claim();
    operation_.kind = Kind::kAdjust;
    operation_.parts = 1;
    operation_.with_id = false;
    auto& [generation, rows] = chosen->second;
    Row& row = rows.front();
    Part part = {chosen->first, kAny, 0, operation_.first_row, 1};
    log_->rows.push_back({row.provider, row.resource_class, 1});
    ProviderState& state = providers_[row.provider];
    if (state.used[0] + 1 > state.capacity[0]) {
      log_->parts.push_back(part);
      return End(Outcome::kRefused, Reason::kNoRoom, state.used[0] - row.amount);
    }
    std::map<uint16_t, bool> touched;
    Move({row.provider, row.resource_class, 1}, 1, &touched);
    ++row.amount;
    part.generation = ++generation;
    log_->parts.push_back(part);
    Tell(chosen->first, generation, rows, touched);
    steps_.back().client = kNobody;
    steps_.back().number = 0;
    Done();
  }

  // Of a few instances, for which all clients contend.
  void WriteRecord() {
    operation_.parts = 1;
    const uint64_t instance = kInstanceBit | Upto(4);
    const uint64_t migration = MigrationOf(instance, Upto(kMigrationsMax));
    const auto draw = Upto(5);
    if (draw < 2) return Put(Kind::kSetInstance, instance, Reason::kNone);
    if (draw == 2 && records_.contains(instance)) return DeleteInstance(instance);
    if (records_.contains(migration)) {
      const bool creates = Upto(3) == 0;
      return Put(creates ? Kind::kCreateMigration : Kind::kUpdateMigration, migration,
                 creates ? Reason::kDuplicateMigration : Reason::kNone);
    }
    if (!records_.contains(instance)) {
      return Put(Kind::kCreateMigration, migration, Reason::kInstanceNotFound);
    }
    const bool creates = Upto(3) != 0;
    Put(creates ? Kind::kCreateMigration : Kind::kUpdateMigration, migration,
        creates ? Reason::kNone : Reason::kMigrationNotFound);
  }

  // Writes `record`, now and then with an old expectation. `reason`: why it is refused in any case.
  void Put(Kind kind, uint64_t record, Reason reason) {
    operation_.kind = kind;
    const auto found = records_.find(record);
    const bool is_there = found != records_.end();
    int64_t actual = is_there ? found->second.first : kNew;
    Row row = {static_cast<uint16_t>(Upto(kProviders)), kStateClass,
               static_cast<int32_t>(1 + Upto(9))};
    log_->rows.push_back(row);
    if (kind == Kind::kUpdateMigration && is_there) {
      actual = found->second.second[0].amount;
      row.provider = found->second.second[0].provider;
    }
    const bool stale = Upto(4) == 0 && kind != Kind::kCreateMigration;
    Part part = {record, stale ? actual + 1 : actual, 0, operation_.first_row, 1};
    if (reason == Reason::kNone && stale) reason = Reason::kRecordConflict;
    if (reason == Reason::kNone) {
      part.generation = is_there ? found->second.first + 1 : commands_ + 1;
      records_[record] = {part.generation, {row}};
      Tell(record, part.generation, {row}, {});
    }
    log_->parts.push_back(part);
    if (reason == Reason::kNone) return Done();
    End(Outcome::kRefused, reason, reason == Reason::kRecordConflict ? actual : 0);
  }

  void DeleteInstance(uint64_t instance) {
    operation_.kind = Kind::kDeleteInstance;
    log_->parts.push_back({instance, kAny, 0, 0, 0});
    Step step = NewStep();
    for (uint64_t which = 0; which <= kMigrationsMax; ++which) {
      const uint64_t record = which < kMigrationsMax ? MigrationOf(instance, which) : instance;
      if (records_.erase(record) == 0) continue;
      history_.story.parts.push_back({record, 0, 0, 0, 0});
      ++step.parts;
    }
    steps_.push_back(step);
    Done();
  }

  void ListRecords() {
    CloseRevision();
    operation_.kind = Upto(2) == 0 ? Kind::kListInstances : Kind::kListMigrations;
    operation_.provider = static_cast<uint16_t>(Upto(kProviders));
    operation_.revision = revision_;
    for (const auto& [record, state] : records_) {
      const bool is_listed = IsMigration(record) == (operation_.kind == Kind::kListMigrations) &&
                             state.second[0].provider == operation_.provider;
      if (!is_listed) continue;
      ++operation_.parts;
      log_->parts.push_back(
          {record, kAny, state.first, static_cast<uint32_t>(log_->rows.size()), 1});
      log_->rows.push_back(state.second[0]);
    }
    End(Outcome::kDone);
  }

  void Finish() {
    history_.end.revision = revision_;
    held_.insert(records_.begin(), records_.end());
    history_.end.providers = providers_;
    for (const auto& [consumer, state] : held_) {
      history_.end.consumers.push_back({consumer, state.first, state.second});
    }
    WatchLog watch;
    watch.after = history_.begin.revision + static_cast<int64_t>(Upto(20));
    watch.until = revision_ - static_cast<int64_t>(Upto(20));
    uint32_t at = 0;
    for (const RevisionRow& row : history_.story.revisions) {
      uint64_t digest = 0;
      for (; at < row.steps_end; ++at) digest = DigestOf(history_.story.steps[at], digest);
      if (row.revision > watch.after && row.revision <= watch.until) {
        watch.told.push_back({row.revision, digest});
      }
    }
    history_.watches.push_back(std::move(watch));
  }

  uint64_t DigestOf(const Step& step, uint64_t digest) const {
    const Story& story = history_.story;
    for (uint32_t p = step.first_part; p < step.first_part + step.parts; ++p) {
      digest = FoldConsumer(digest, story.parts[p].consumer, story.parts[p].generation);
      for (uint32_t r = 0; r < story.parts[p].rows; ++r) {
        digest = FoldRow(digest, story.rows[story.parts[p].first_row + r]);
      }
    }
    for (uint32_t u = 0; u < step.uses; ++u)
      digest = FoldUse(digest, story.uses[step.first_use + u]);
    for (uint32_t c = 0; c < step.configs; ++c) {
      digest = FoldConfig(digest, story.configs[step.first_config + c]);
    }
    return digest;
  }

  std::mt19937_64 random_;
  History history_;
  std::vector<ProviderState> providers_;
  std::map<uint64_t, std::pair<int64_t, std::vector<Row>>> held_, records_;
  std::vector<Step> steps_;                          // of the revision that is open
  std::vector<std::pair<uint16_t, uint32_t>> open_;  // who waits for it
  std::vector<int64_t> latest_;                      // by client: when it was last answered
  int64_t now_ = 1000;
  int64_t revision_ = 0;
  int64_t commands_ = 0;
  uint64_t consumers_ = 0;
  uint16_t client_ = 0;
  ClientLog* log_ = nullptr;
  Operation operation_;
};

}  // namespace

History RandomHistory(uint64_t seed) { return Maker(seed).Run(); }

}  // namespace berth::history
