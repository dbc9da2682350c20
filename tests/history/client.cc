#include "tests/history/client.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "berth/placement/v1/ledger.pb.h"
#include "tests/history/checker/effect.h"
#include "tests/history/record_wire.h"

namespace berth::history {
namespace {

namespace pb = ::berth::placement::v1;

constexpr absl::Duration kPatience = absl::Seconds(1);
constexpr absl::Duration kRest = absl::Milliseconds(30);
constexpr absl::Duration kSettleMax = absl::Seconds(90);
constexpr size_t kHeldMax = 24;
constexpr size_t kReleasedMax = 16;
constexpr uint64_t kContended = 4;

// A scheduler's own rest before it tries again.
void RestUntil(absl::Time until) {
  const absl::Duration left = until - absl::Now();
  if (left > absl::ZeroDuration()) std::this_thread::sleep_for(absl::ToChronoNanoseconds(left));
}

}  // namespace

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Client::Client(uint64_t seed, uint16_t index, Run* run, ClientLog* log)
    : random_(seed), index_(index), run_(run), log_(log), channels_(run->servers) {}

void Client::Work() {
  while (!run_->stop) One();
}

// Which of the things that a scheduler does comes next, and how often in a hundred.
void Client::One() {
  if (Upto(6) == 0) return ActOnRecord();
  if (Upto(6) == 0) return AdvanceMove();
  if (Upto(16) == 0) return Lease();
  const auto draw = static_cast<int>(Upto(100));
  const bool full = held_.size() >= kHeldMax;
  if (full ? draw < 70 : draw < 12) return Release();
  if (draw < 34) return Claim(1);
  if (draw < 44) return Claim(2);
  if (draw < 52) return Rewrite();
  if (draw < 56) return Search(1);
  if (draw < 58) return Search(2 + static_cast<int>(Upto(3)));
  if (draw < 62) return Adjust(true);
  if (draw < 66) return Adjust(false);
  if (draw < 69) return WriteInventory();
  if (draw < 74) return ActLate();
  if (draw < 79) return Contend();
  if (draw < 82 && run_->repeats) return Repeat();
  if (draw < 90) return ReadConsumer();
  return ReadProvider();
}

uint16_t Client::AnyProvider() {
  if (Upto(5) >= 2) return static_cast<uint16_t>(Upto(static_cast<uint64_t>(run_->providers)));
  return static_cast<uint16_t>(kHosts + Upto(static_cast<uint64_t>(run_->hot_providers)));
}

std::vector<Row> Client::RowsOn(int providers) {
  std::vector<Row> rows;
  const uint16_t first = AnyProvider();
  rows.push_back({first, 0, static_cast<int32_t>(1 + Upto(3))});
  if (Upto(3) == 0) rows.push_back({first, 1, static_cast<int32_t>(1 + Upto(3))});
  if (providers == 2) {
    const uint16_t second = AnyProvider();
    if (second != first) rows.push_back({second, 0, static_cast<int32_t>(1 + Upto(3))});
  }
  SortRows(&rows);
  return rows;
}

std::map<uint64_t, Client::Held>::iterator Client::AnyHeld() {
  if (held_.empty()) return held_.end();
  return std::next(held_.begin(), static_cast<int64_t>(Upto(held_.size())));
}

Operation Client::New(Kind kind) {
  Operation operation;
  operation.client = index_;
  operation.number = static_cast<uint32_t>(log_->operations.size());
  operation.kind = kind;
  operation.first_part = static_cast<uint32_t>(log_->parts.size());
  operation.first_row = static_cast<uint32_t>(log_->rows.size());
  return operation;
}

Part& Client::AddPart(Operation* operation, uint64_t consumer, int64_t expected,
                      const std::vector<Row>& rows) {
  ++operation->parts;
  log_->parts.push_back({consumer, expected, 0, static_cast<uint32_t>(log_->rows.size()),
                         static_cast<uint32_t>(rows.size())});
  log_->rows.insert(log_->rows.end(), rows.begin(), rows.end());
  return log_->parts.back();
}

void Client::Claim(int providers) {
  Operation operation = New(Kind::kSet);
  AddPart(&operation, NewConsumer(), kNew, RowsOn(providers));
  Do(operation);
}

// Two consumers in one step: one that is there gets something else or nothing, a new one comes.
void Client::Rewrite() {
  const auto held = AnyHeld();
  if (held == held_.end()) return Claim(2);
  Operation operation = New(Kind::kSet);
  std::vector<Row> rows;
  if (Upto(3) != 0) rows = RowsOn(1 + static_cast<int>(Upto(2)));
  AddPart(&operation, held->first, held->second.generation, rows);
  AddPart(&operation, NewConsumer(), kNew, RowsOn(1));
  Do(operation);
}

// Now and then for more than is free anywhere.
void Client::Search(int members) {
  Operation operation = New(Kind::kClaim);
  const auto amount = static_cast<int32_t>(Upto(3) == 0 ? 24 + Upto(16) : 1 + Upto(4));
  for (int m = 0; m < members; ++m) {
    AddPart(&operation, NewConsumer(), kNew, {{kUnplaced, 0, amount}});
  }
  Do(operation);
}

void Client::Release() {
  const auto held = AnyHeld();
  if (held == held_.end()) return Claim(1);
  Operation operation = New(Kind::kRelease);
  AddPart(&operation, held->first, Upto(2) == 0 ? kAny : held->second.generation, {});
  Do(operation);
}

// Without an id nobody can tell what became of it, so that the consumer is then left alone.
void Client::Adjust(bool with_id) {
  const auto held = AnyHeld();
  if (held == held_.end()) return Claim(1);
  Operation operation = New(Kind::kAdjust);
  operation.with_id = with_id;
  Row row = held->second.rows.front();
  row.amount = Upto(4) == 0 ? -1 : 1;
  AddPart(&operation, held->first, kAny, {row});
  Do(operation);
}

// If the client does not confirm the consumer in time, the ledger releases it.
void Client::Lease() {
  const auto held = AnyHeld();
  if (held == held_.end()) return Claim(1);
  Operation operation = New(Kind::kLease);
  operation.lease_s = static_cast<int32_t>(Upto(4));
  AddPart(&operation, held->first, Upto(2) == 0 ? kAny : held->second.generation, {});
  Do(operation);
}

void Client::WriteInventory() {
  const uint16_t provider = AnyProvider();
  if (!generations_.contains(provider)) return ReadProvider();
  Operation operation = New(Kind::kInventory);
  operation.provider = provider;
  operation.expected = generations_[provider];
  operation.rows = kClasses;
  for (uint8_t c = 0; c < kClasses; ++c) {
    const uint64_t total = IsHot(provider) ? 3 + Upto(6) : 40 + Upto(32);
    log_->rows.push_back({provider, c, static_cast<int32_t>(total)});
  }
  Do(operation);
}

// What was decided long ago and comes only now: it must be refused.
void Client::ActLate() {
  if (released_.empty()) return Claim(1);
  const auto& [consumer, generation] = released_[Upto(released_.size())];
  Operation operation = New(Kind::kSet);
  AddPart(&operation, consumer, generation, RowsOn(1));
  Do(operation);
}

// A consumer that every client wants to write, or that of a move: read, then write what was read.
void Client::Contend() {
  uint64_t consumer = kContendedClient << 40 | Upto(kContended);
  if (Upto(3) == 0) consumer = HolderOf(MigrationOf(AnyInstance(), Upto(kMigrationsMax)));
  Operation read = New(Kind::kReadConsumer);
  AddPart(&read, consumer, kAny, {});
  if (!Do(read)) return;
  const int64_t generation = log_->parts[read.first_part].generation;
  Operation write = New(Kind::kSet);
  const bool give_up = generation != 0 && Upto(3) == 0;
  AddPart(&write, consumer, generation == 0 ? kNew : generation,
          give_up ? std::vector<Row>() : RowsOn(2));
  Do(write);
}

// The last call that was done, once more: it must be answered as before and change nothing.
void Client::Repeat() {
  const size_t count = log_->operations.size();
  for (size_t back = 1; back <= count && back < 20; ++back) {
    const Operation first = log_->operations[count - back];
    const bool fits = first.outcome == Outcome::kDone && first.with_id && !IsRead(first.kind) &&
                      first.kind != Kind::kRepeat;
    if (!fits) continue;
    const Call call = CallFor(*log_, first);
    const Channels::Open open = channels_.To(static_cast<int>(Upto(kServers)));
    Operation again = New(Kind::kRepeat);
    again.number = first.number;
    again.process = static_cast<uint16_t>(open.process);
    again.begin_ns = NowNs();
    const Verdict verdict = VerdictOf(Invoke(open.channel, call.method, *call.request,
                                             call.response.get(), absl::Now() + kPatience));
    again.end_ns = NowNs();
    again.outcome = verdict.outcome;
    again.reason = verdict.reason;
    if (verdict.outcome == Outcome::kDone) {
      Operation answered = first;
      ClientLog copy;  // the first answer stands
      for (uint32_t p = 0; p < first.parts; ++p) {
        copy.parts.push_back(log_->parts[first.first_part + p]);
        copy.parts.back().rows = 0;
      }
      answered.first_part = 0;
      TakeAnswer(*call.response, &copy, &answered);
      again.revision = answered.revision;
      again.epoch = answered.epoch;
    }
    log_->operations.push_back(again);
    return;
  }
}

void Client::ReadProvider() {
  Operation operation = New(Kind::kReadInventory);
  operation.provider = AnyProvider();
  operation.minimum = Upto(4) == 0 ? seen_ : 0;
  operation.epoch = epoch_;
  if (Do(operation)) {
    generations_[operation.provider] = log_->operations.back().generation;
  }
}

void Client::ReadConsumer() {
  const auto held = AnyHeld();
  Operation operation = New(Kind::kReadConsumer);
  const uint64_t shared = kContendedClient << 40 | Upto(kContended);
  AddPart(&operation, held == held_.end() ? shared : held->first, kAny, {});
  operation.minimum = Upto(4) == 0 ? seen_ : 0;
  operation.epoch = epoch_;
  Do(operation);
}

bool Client::Do(Operation operation) {
  const Call call = CallFor(*log_, operation);
  if (operation.cursor != 0) SetPageToken(page_token_, call.request.get());
  const Channels::Open open = channels_.To(static_cast<int>(Upto(kServers)));
  operation.process = static_cast<uint16_t>(open.process);
  operation.begin_ns = NowNs();
  const Verdict verdict = VerdictOf(Invoke(open.channel, call.method, *call.request,
                                           call.response.get(), absl::Now() + kPatience));
  operation.outcome = verdict.outcome;
  operation.reason = verdict.reason;
  if (verdict.outcome == Outcome::kDone) TakeAnswer(*call.response, log_, &operation);
  page_token_ = PageTokenOf(*call.response);
  operation.more = !page_token_.empty();
  if (verdict.outcome == Outcome::kRefused) operation.generation = verdict.there;
  if (verdict.outcome == Outcome::kUnknown && !IsRead(operation.kind)) {
    ++run_->unknown;
    if (operation.with_id) Settle(call, &operation);
  }
  operation.end_ns = NowNs();
  Believe(operation);
  log_->operations.push_back(operation);
  if (operation.outcome == Outcome::kAway) RestUntil(absl::Now() + kRest);
  return operation.outcome == Outcome::kDone;
}

// Finds out what became of a call whose answer was lost.
void Client::Settle(const Call& call, Operation* operation) {
  if (Upto(2) == 0 && SendAgain(call, operation)) return;
  AskUntilKnown(operation);
  // The call may come this late; it must not be done any more. A past that is lost takes the
  // cancellation with it.
  if (operation->outcome != Outcome::kAbsent || !run_->repeats) return;
  const Channels::Open open = channels_.To(static_cast<int>(Upto(kServers)));
  (void)Invoke(open.channel, call.method, *call.request, call.response.get(),
               absl::Now() + kPatience);
}

// Sends the call once more. Whether that settled it: a refusal does not, for the first one may be
// done after it.
bool Client::SendAgain(const Call& call, Operation* operation) {
  const Channels::Open open = channels_.To(static_cast<int>(Upto(kServers)));
  const Verdict verdict = VerdictOf(Invoke(open.channel, call.method, *call.request,
                                           call.response.get(), absl::Now() + kPatience));
  const bool wrong = verdict.outcome == Outcome::kRefused && verdict.reason == Reason::kOther;
  if (verdict.outcome != Outcome::kDone && !wrong) return false;
  operation->process = static_cast<uint16_t>(open.process);
  operation->outcome = verdict.outcome;
  operation->reason = verdict.reason;
  if (verdict.outcome == Outcome::kDone) TakeAnswer(*call.response, log_, operation);
  return true;
}

void Client::AskUntilKnown(Operation* operation) {
  pb::GetRequestRequest request;
  request.set_request_id(RequestId(index_, operation->number));
  request.set_cancel_if_absent(true);  // the lost call might still be on its way
  const absl::Time until = absl::Now() + kSettleMax;
  while (absl::Now() < until) {
    const Channels::Open open = channels_.To(static_cast<int>(Upto(kServers)));
    pb::GetRequestResponse response;
    const grpc::Status status = Invoke(open.channel, "LedgerService/GetRequest", request, &response,
                                       absl::Now() + kPatience);
    operation->process = static_cast<uint16_t>(open.process);
    if (status.ok() && response.outcome() == pb::REQUEST_OUTCOME_CANCELLED) {
      operation->outcome = Outcome::kAbsent;
      return;
    }
    if (status.ok() && response.outcome() == pb::REQUEST_OUTCOME_APPLIED) {
      const Call call = CallFor(*log_, *operation);
      if (response.response().UnpackTo(call.response.get())) {
        TakeAnswer(*call.response, log_, operation);
      }
      operation->revision = response.applied_revision().number();
      operation->epoch = static_cast<uint8_t>(response.applied_revision().epoch());
      operation->outcome = Outcome::kDone;
      return;
    }
    RestUntil(absl::Now() + kRest);
  }
  ++run_->unsettled;
}

// What this client holds after `operation`.
void Client::Believe(const Operation& operation) {
  if (operation.outcome == Outcome::kDone) {
    ++run_->done;
    // Only as high as the newest epoch goes.
    seen_ = operation.epoch > epoch_ ? operation.revision : std::max(seen_, operation.revision);
    epoch_ = std::max(epoch_, operation.epoch);
  }
  if (IsOfRecords(operation.kind)) return BelieveRecords(operation);
  if (IsRead(operation.kind) || operation.outcome == Outcome::kAway) return;
  for (uint32_t p = 0; p < operation.parts; ++p) {
    const Part& part = log_->parts[operation.first_part + p];
    if (!IsOwn(part.consumer)) continue;
    const auto held = held_.find(part.consumer);
    const bool is_gone =
        operation.outcome == Outcome::kRefused && (operation.reason == Reason::kConsumerNotFound ||
                                                   operation.reason == Reason::kConsumerConflict);
    if (operation.outcome == Outcome::kUnknown || is_gone) {
      if (held != held_.end()) held_.erase(held);
    } else if (operation.outcome == Outcome::kDone && part.generation == 0) {
      if (held == held_.end()) continue;
      released_.emplace_back(part.consumer, held->second.generation);
      if (released_.size() > kReleasedMax) released_.pop_front();
      held_.erase(held);
    } else if (operation.outcome == Outcome::kDone) {
      Held& now = held_[part.consumer];
      now.generation = part.generation;
      if (operation.kind != Kind::kAdjust && operation.kind != Kind::kLease) {
        now.rows.assign(log_->rows.begin() + part.first_row,
                        log_->rows.begin() + part.first_row + part.rows);
      }
    }
  }
}

}  // namespace berth::history
