#include "tests/history/tracker.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "placement/ground/uuid.h"

namespace berth::history {
namespace {

namespace pb = ::berth::placement::v1;

constexpr std::chrono::milliseconds kTurn{20};
constexpr std::chrono::milliseconds kWelcomeMax{1500};
constexpr std::chrono::milliseconds kBetweenStreams{50};
constexpr int64_t kAnswerMaxNs = 2'000'000'000;
constexpr int64_t kLastPushMaxNs = 30'000'000'000;
constexpr int kBeatEvery = 50;     // turns
constexpr int kMessagesMax = 100;  // of a turn

}  // namespace

Tracker::Tracker(uint64_t seed, uint16_t host, uint16_t index, Run* run, ClientLog* log,
                 PushLog* pushes)
    : random_(seed), host_(host), index_(index), run_(run), log_(log), pushes_(pushes) {
  pushes_->host = host;
  Begin();
}

// A process that has just started.
void Tracker::Begin() {
  name_ = {host_, placement::Uuid{random_(), random_()}.ToString()};
  must_snapshot_ = true;
  applied_ = used_ = 0;
  digest_.clear();
  Settle();
  pushed_.reset();
  restarts_ = true;
}

void Tracker::Work() {
  while (!run_->stop) {
    if (Upto(6) == 0) Begin();
    Follow(static_cast<int>(1 + Upto(200)), INT64_MAX);
    std::this_thread::sleep_for(kBetweenStreams);
  }
  Settle();
  pushes_->wanted = Client(random_(), index_, run_, log_).MarkHost(host_);
  const int64_t until = NowNs() + kLastPushMaxNs;
  while (NowNs() < until && (!pushed_ || pushed_->number() < pushes_->wanted)) {
    Follow(500, pushes_->wanted);
  }
}

void Tracker::Follow(int turns, int64_t wanted) {
  const Server server = run_->servers->Find(static_cast<int>(Upto(kServers)));
  process_ = server.process;
  push_.reset();
  TrackerStream stream(server.address);
  stream.Send(HelloOf(name_, digest_, pushed_ ? &*pushed_ : nullptr));
  if (!AwaitWelcome(&stream)) return;
  const bool reports = wanted == INT64_MAX;
  for (int turn = 0; turn < turns && !stream.ended(); ++turn) {
    if (reports && run_->stop) return;
    if (pushed_ && pushed_->number() >= wanted) return;
    if (reports && !open_ && may_report_ && Upto(3) == 0) SendReport(&stream);
    if (turn % kBeatEvery == kBeatEvery - 1) {
      pb::SessionRequest beat;
      beat.mutable_heartbeat()->set_count(++beats_);
      stream.Send(beat);
    }
    auto response = stream.Next(kTurn);
    for (int more = kMessagesMax; response && more > 0; --more) {
      Take(*response);
      response = stream.Next(std::chrono::milliseconds(0));
    }
    if (open_ && NowNs() - open_->sent_ns > kAnswerMaxNs) return;
  }
}

bool Tracker::AwaitWelcome(TrackerStream* stream) {
  const auto response = stream->Next(kWelcomeMax);
  if (!response || !response->has_welcome() || response->welcome().nodes_size() != 1) return false;
  TakeWelcome(*response, stream);
  return true;
}

// The Welcome tells what became of the report whose answer was lost.
void Tracker::TakeWelcome(const pb::SessionResponse& response, TrackerStream* stream) {
  const pb::NodeWelcome& node = response.welcome().nodes(0);
  may_report_ =
      node.standing() == pb::NODE_STANDING_KNOWN || node.standing() == pb::NODE_STANDING_SEND_ALL;
  applied_ = node.last_sequence();
  if (open_ && applied_ >= open_->sequence) {
    Operation& operation = OpenOperation();
    operation.late = true;
    TakeAck(response, log_, &operation);
    operation.process = static_cast<uint16_t>(process_);
    digest_ = open_->message.report().digest();
    Settle();
  }
  must_snapshot_ = node.standing() != pb::NODE_STANDING_KNOWN || applied_ == 0;
  if (open_ && may_report_ && Upto(2) == 0) return SendAgain(stream);
  Settle();
}

// The report that waits is given up, or its operation has its outcome.
void Tracker::Settle() {
  if (!open_) return;
  Operation& operation = OpenOperation();
  operation.end_ns = NowNs();
  if (operation.outcome == Outcome::kUnknown) {
    ++run_->unknown;
    must_snapshot_ = true;
  } else {
    ++run_->done;
  }
  if (operation.outcome == Outcome::kUnknown || operation.outcome == Outcome::kDone) {
    used_ = std::max(used_, open_->sequence);
  }
  open_.reset();
}

void Tracker::SendAgain(TrackerStream* stream) {
  open_->is_sent_again = true;
  open_->sent_ns = NowNs();
  OpenOperation().process = static_cast<uint16_t>(process_);
  stream->Send(open_->message);
}

// A snapshot has both providers, a delta the root, the child or both.
void Tracker::SendReport(TrackerStream* stream) {
  Operation operation;
  operation.client = index_;
  operation.number = static_cast<uint32_t>(log_->operations.size());
  operation.kind = Kind::kReport;
  operation.process = static_cast<uint16_t>(process_);
  operation.provider = host_;
  operation.first_part = static_cast<uint32_t>(log_->parts.size());
  operation.first_row = static_cast<uint32_t>(log_->rows.size());
  const int64_t sequence = std::max(applied_, used_) + 1;
  const bool is_snapshot = must_snapshot_ || sequence != applied_ + 1 || Upto(8) == 0;
  const uint64_t which = is_snapshot ? 2 : Upto(3);
  for (const uint16_t provider : {host_, ChildOf(host_)}) {
    if (which == (provider == host_ ? 1U : 0U)) continue;
    ++operation.parts;
    log_->parts.push_back({kProviderBit | provider, generations_[provider], 0,
                           static_cast<uint32_t>(log_->rows.size()), kClasses});
    for (uint8_t c = 0; c < kClasses; ++c) {
      const uint64_t total = provider == host_ ? 40 + Upto(32) : 6 + Upto(6);
      log_->rows.push_back({provider, c, static_cast<int32_t>(total)});
    }
  }
  operation.begin_ns = operation.end_ns = NowNs();
  log_->operations.push_back(operation);
  open_ = Open{operation.number, sequence,
               ReportOf(*log_, operation, sequence,
                        is_snapshot ? pb::REPORT_KIND_SNAPSHOT : pb::REPORT_KIND_DELTA),
               operation.begin_ns};
  stream->Send(open_->message);
}

void Tracker::Take(const pb::SessionResponse& response) {
  if (response.has_push()) return TakePush(response);
  if (response.has_snapshot_order()) {
    may_report_ = must_snapshot_ = true;
    // Instead of an answer: the report does not follow the last one that was applied.
    if (open_ && open_->message.report().kind() == pb::REPORT_KIND_DELTA) {
      OpenOperation().outcome = Outcome::kAway;
      Settle();
    }
    return;
  }
  if (open_ && IsAnswered(response)) TakeAnswer(response);
}

bool Tracker::IsAnswered(const pb::SessionResponse& response) const {
  return (response.has_ack() && response.ack().sequence() == open_->sequence) ||
         (response.has_reject() && response.reject().sequence() == open_->sequence);
}

void Tracker::TakeAnswer(const pb::SessionResponse& response) {
  Operation& operation = OpenOperation();
  operation.late = open_->is_sent_again;
  if (response.has_ack()) {
    TakeAck(response, log_, &operation);
    applied_ = open_->sequence;
    digest_ = open_->message.report().digest();
    must_snapshot_ = false;
    for (uint32_t p = 0; p < operation.parts; ++p) {
      const Part& part = log_->parts[operation.first_part + p];
      generations_[static_cast<uint16_t>(part.consumer & ~kProviderBit)] = part.generation;
    }
  } else {
    const Verdict verdict = VerdictOf(response.reject());
    // The first copy of the report may still be applied if placement could not take the second.
    const bool may_come = open_->is_sent_again && verdict.outcome == Outcome::kAway;
    operation.outcome = may_come ? Outcome::kUnknown : verdict.outcome;
    operation.reason = verdict.reason;
    operation.generation = verdict.there;
    for (const pb::Provider& provider : response.reject().providers()) {
      const auto uuid = placement::Uuid::Parse(provider.uuid());
      if (const auto number = uuid ? ProviderOf(*uuid) : std::nullopt) {
        generations_[*number] = provider.generation();
      }
    }
  }
  Settle();
}

void Tracker::TakePush(const pb::SessionResponse& response) {
  if (!push_) {
    push_ = Push();
    push_->first_part = static_cast<uint32_t>(pushes_->parts.size());
  }
  TakeSlice(response.push(), pushes_, &*push_);
  for (const pb::Provider& provider : response.push().providers()) {
    const auto uuid = placement::Uuid::Parse(provider.uuid());
    if (const auto number = uuid ? ProviderOf(*uuid) : std::nullopt) {
      generations_[*number] = std::max(generations_[*number], provider.generation());
    }
  }
  if (response.push().more()) return;
  push_->revision = response.revision().number();
  push_->received_ns = NowNs();
  push_->restarts = std::exchange(restarts_, false);
  pushes_->pushes.push_back(*push_);
  push_.reset();
  pushed_ = response.revision();
}

}  // namespace berth::history
