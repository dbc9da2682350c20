#include "tests/history/faults/history_maker.h"

#include <algorithm>

namespace berth::history {
namespace {

constexpr int kClients = 8;
constexpr int kMadeProviders = kHosts + 2;
constexpr int kOperations = 500;
constexpr int64_t kMadeCapacity = 12;
constexpr int64_t kWaits = INT64_MAX / 2;
constexpr int64_t kLongestLeaseUs = 4'000'000;
constexpr uint64_t kRevisionUs = 800'000;  // at most between two revisions

}  // namespace

HistoryMaker::HistoryMaker(uint64_t seed) : random_(seed) {
  history_.begin.revision = 10;
  history_.begin.command_count = 100;
  history_.begin.providers.resize(kMadeProviders);
  for (ProviderState& state : history_.begin.providers) {
    state = {50, 60, {kMadeCapacity, kMadeCapacity}, {}};
  }
  providers_ = history_.begin.providers;
  history_.clients.resize(kClients);
  revision_ = history_.begin.revision;
  commands_ = history_.begin.command_count;
  latest_.resize(kClients);
}

History HistoryMaker::Run() {
  for (int i = 0; i < kOperations; ++i) {
    now_ += 10;
    if (Upto(3) == 0) CloseRevision();
    if (Upto(4) == 0) Expire();
    One();
  }
  CloseRevision();
  time_us_ += kLongestLeaseUs;
  Expire();
  CloseRevision();
  Finish();
  return std::move(history_);
}

uint16_t HistoryMaker::AnyProvider() { return static_cast<uint16_t>(Upto(kMadeProviders)); }

HistoryMaker::HeldBy::iterator HistoryMaker::AnyHeld() {
  return held_.empty() ? held_.end()
                       : std::next(held_.begin(), static_cast<int64_t>(Upto(held_.size())));
}

void HistoryMaker::One() {
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
  if (!log_->operations.empty() && log_->operations.back().more) return ListMore();
  if (Upto(3) == 0) return Upto(4) == 0 ? ListRecords() : WriteRecord();
  if (Upto(3) == 0) return Upto(2) == 0 ? DivideHolding() : EndMove();
  if (Upto(8) == 0) return Report();
  switch (Upto(10)) {
    case 0:
      return ReadProvider();
    case 1:
      return WriteInventory();
    case 2:
      return Release();
    case 3:
      return Adjust();
    case 4:
    case 5:
      return Lease();
    case 6:
      return Rewrite();
    default:
      return Claim();
  }
}

void HistoryMaker::Begin() {
  if (latest_[client_] == kWaits) CloseRevision();
  now_ = std::max(now_, latest_[client_] + 2);
  operation_.begin_ns = std::max(latest_[client_] + 1, now_ - static_cast<int64_t>(Upto(30)));
}

void HistoryMaker::End(Outcome outcome, Reason reason, int64_t there) {
  operation_.outcome = outcome;
  operation_.reason = reason;
  if (outcome == Outcome::kRefused) operation_.generation = there;
  operation_.end_ns = now_ + 1;
  latest_[client_] = operation_.end_ns;
  log_->operations.push_back(operation_);
}

void HistoryMaker::Done() {
  open_.push_back({client_, operation_.number});
  End(Upto(12) == 0 ? Outcome::kUnknown : Outcome::kDone);
  latest_[client_] = kWaits;
  ++commands_;
}

void HistoryMaker::CloseRevision() {
  if (steps_.empty()) return;
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
      {revision_, 1, commands_, static_cast<uint32_t>(history_.story.steps.size()), time_us_});
  time_us_ += static_cast<int64_t>(Upto(kRevisionUs));
}

Step HistoryMaker::NewStep() const {
  const Story& story = history_.story;
  Step step;
  step.client = client_;
  step.number = operation_.number;
  step.first_part = static_cast<uint32_t>(story.parts.size());
  step.first_use = static_cast<uint32_t>(story.uses.size());
  step.first_config = static_cast<uint32_t>(story.configs.size());
  return step;
}

void HistoryMaker::AddPart(uint64_t consumer, const Held& held, Step* step) {
  Story& story = history_.story;
  story.parts.push_back({consumer, 0, held.generation, static_cast<uint32_t>(story.rows.size()),
                         static_cast<uint32_t>(held.rows.size()), held.lease_end_us});
  story.rows.insert(story.rows.end(), held.rows.begin(), held.rows.end());
  ++step->parts;
}

void HistoryMaker::AddUses(const std::set<uint16_t>& touched, Step* step) {
  for (const uint16_t provider : touched) {
    ProviderState& state = providers_[provider];
    ++state.allocation_generation;
    ++step->uses;
    history_.story.uses.push_back({provider, state.allocation_generation, state.used});
  }
}

void HistoryMaker::Tell(uint64_t consumer, const Held& held, const std::set<uint16_t>& touched) {
  Step step = NewStep();
  AddPart(consumer, held, &step);
  AddUses(touched, &step);
  steps_.push_back(step);
}

void HistoryMaker::Finish() {
  history_.end.revision = revision_;
  held_.insert(records_.begin(), records_.end());
  history_.end.providers = providers_;
  for (const auto& [consumer, held] : held_) {
    history_.end.consumers.push_back({consumer, held.generation, held.rows, held.lease_end_us});
  }
  Watch();
  Push();
}

void HistoryMaker::Watch() {
  WatchLog watch;
  watch.after = history_.begin.revision + static_cast<int64_t>(Upto(20));
  watch.until = revision_ - static_cast<int64_t>(Upto(20));
  uint32_t at = 0;
  for (const RevisionRow& row : history_.story.revisions) {
    uint64_t digest = 0;
    for (; at < row.steps_end; ++at)
      digest = FoldStep(digest, history_.story, history_.story.steps[at]);
    if (digest != 0 && row.revision > watch.after && row.revision <= watch.until) {
      watch.told.push_back({row.revision, digest});
    }
  }
  history_.watches.push_back(std::move(watch));
}

}  // namespace berth::history
