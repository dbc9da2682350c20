#include "placement/writer/writer.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "placement/ground/thread_name.h"

namespace berth::placement {

Writer::Writer(const LedgerOptions& options, Publisher* publisher, CommandQueue* queue,
               Answerer* answerer, Health* health)
    : options_(options),
      clock_(options_.wall_clock, options_.boot_clock),
      connection_(options_, queue, health),
      roads_(options_.roads),
      leases_(options_, publisher, &clock_),
      rotation_(options_, &connection_, health),
      intake_(options_, queue, answerer, &turns_),
      parts_{options_,    *publisher, *queue, *answerer, *health, clock_,
             connection_, turns_,     roads_, leases_,   intake_},
      batch_ends_(parts_),
      long_road_(parts_, &batch_ends_),
      short_road_(parts_, &batch_ends_, &rotation_, &stopping_) {
  clock_.Now(parts_.publisher.Newest()->position());
}

Writer::~Writer() { Stop(-absl::InfiniteDuration()); }

void Writer::Start() {
  thread_ = std::thread([this] { Run(); });
}

void Writer::Stop(BootTime settle_until) {
  settle_until_ns_ = absl::ToInt64Nanoseconds(settle_until);
  stopping_ = true;
  parts_.queue.Nudge();
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(&mutex_);
    while (!ended_ && BootNow() < settle_until) {
      ended_changed_.WaitFor(&mutex_, absl::ToChronoNanoseconds(settle_until - BootNow()));
    }
    // If the writer's thread waits for the database, Shut makes its call fail.
    if (!ended_) connection_.Shut();
  }
  thread_.join();
}

bool Writer::MustEnd() const {
  if (!stopping_) return false;
  return turns_.settled() || BootNow() >= absl::Nanoseconds(settle_until_ns_.load());
}

void Writer::Run() {
  NameThread("ledger-writer");
  while (!MustEnd()) {
    absl::Status no_writes = parts_.health.WhyNoWrites();
    if (!no_writes.ok()) {
      intake_.RefuseAll(std::move(no_writes));
      intake_.GiveUpUnsettled();
      parts_.queue.Take(0, kIdleWaitMax);
      continue;
    }
    if (!connection_.is_open() && !connection_.Open()) {
      intake_.RefuseAll(
          NotDone("placement has no connection to the database: nothing was done, try again"));
      connection_.Pause();
      continue;
    }
    const absl::Time now = clock_.Now(parts_.publisher.Newest()->position());
    if (rotation_.IsDue(now)) rotation_.Rotate(now);
    if (connection_.is_open()) RunTurn();  // Rotate may have lost the connection
  }
  intake_.RefuseAll(NotDone("placement is stopping: nothing was done, try again"));
  intake_.GiveUpUnsettled();
  connection_.Close();
  parts_.health.reachable = false;
  const MutexLock lock(&mutex_);
  ended_ = true;
  ended_changed_.SignalAll();
}

std::vector<PendingPtr> Writer::BeginTurn() {
  const bool shared_waits = parts_.queue.size() > 0 || leases_.WantBatch();
  switch (turns_.Begin(shared_waits)) {
    case Turn::kSettle:
      return {};
    case Turn::kAlone:
    case Turn::kLarge:
      return {turns_.TakeCommand()};
    case Turn::kShared:
      break;
  }
  return parts_.queue.Take(parts_.queue.RoomIn(0, options_.batch_weight_max, BootNow()),
                           shared_waits ? absl::ZeroDuration() : leases_.IdleWait());
}

void Writer::RunTurn() {
  std::vector<PendingPtr> commands = BeginTurn();
  const bool no_command = turns_.turn() == Turn::kShared && commands.empty();
  if (no_command && !leases_.WantBatch()) return;
  intake_.NoteBegun(commands, {});
  options_.Step(LedgerStep::kBeforeLock);
  if (ChooseRoad(commands) == Road::kShort) return short_road_.Take(std::move(commands));
  long_road_.Take(commands);
}

Road Writer::ChooseRoad(const std::vector<PendingPtr>& commands) {
  if (turns_.turn() != Turn::kShared || batch_ends_.committed() == BatchId()) return Road::kLong;
  const bool looks_up = std::any_of(commands.begin(), commands.end(), [](const auto& pending) {
    return std::holds_alternative<FindRequest>(pending->command.body);
  });
  const bool wrote_last = parts_.publisher.Newest()->position().batch == batch_ends_.committed();
  // A session that was ended while it was idle has sent a message. The long road meets this failure
  // before it has begun a command.
  if (!connection_.database().Silent()) return Road::kLong;
  return roads_.Next(wrote_last, looks_up);
}

}  // namespace berth::placement
