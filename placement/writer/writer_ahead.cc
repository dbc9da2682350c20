// The part of the writer that decides commands as soon as they come: those of the next batch while
// a batch on the short road is being committed, and those that come while the long road waits for
// the lock.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/clock.h"
#include "placement/writer/writer.h"

namespace berth::placement {
namespace {

// The writer is woken during a commit only if commands of this weight wait: lighter work is done
// faster than a thread is woken.
constexpr int kWakeWeight = 16;
// When commands of this weight are decided, the writer looks again whether the commit has ended.
constexpr int kLookWeight = 32;

}  // namespace

// Large batches, batches of one command, leases, the rotation of request ids and the end of the
// process wait until no batch is under way.
bool Writer::MayDecideAhead(const Batch& sent) {
  if (stopping_ || sent.row_count() > options_.batch_rows_max || LeasesWantBatch()) return false;
  return HourOf(sent.now()) == rotated_hour_ && !turns_.OwnBatchWaits();
}

std::unique_ptr<Batch> Writer::DecideAhead(const Batch& sent) {
  std::unique_ptr<Batch> ahead;
  if (!MayDecideAhead(sent)) return nullptr;
  while (true) {
    const int room = options_.batch_weight_max - (ahead == nullptr ? 0 : ahead->weight());
    const bool many_wait = queue_->Arm(std::min(room, kWakeWeight));
    const absl::Duration limit = many_wait ? absl::ZeroDuration() : kIdleWaitMax;
    if (connection_->AwaitAnswer(queue_->event(), limit)) break;
    if (!many_wait || AddAhead(sent, &ahead)) continue;
    if (ahead != nullptr) ahead->Prepare(options_.log_rows_kept);
    return ahead;
  }
  // The commands that have come by now go with the batch, which is the next one anyhow.
  if (ahead != nullptr) AddAhead(sent, &ahead);
  return ahead;
}

bool Writer::TakeMore(int weight, const Batch* sent, std::vector<PendingPtr>* commands) {
  *commands = queue_->Take(weight, absl::ZeroDuration());
  // A command with a request id of `sent` must see the answer that `sent` keeps. The answer that is
  // kept for a look-up must be read before the look-up is decided.
  const auto asks = std::find_if(commands->begin(), commands->end(), [&](const auto& pending) {
    const std::optional<RequestKey> key = KeyOf(pending->command);
    return (sent != nullptr && key && sent->Keeps(*key)) ||
           std::holds_alternative<FindRequest>(pending->command.body);
  });
  const bool none_asks = asks == commands->end();
  PutBack(std::vector<PendingPtr>(asks, commands->end()));
  commands->erase(asks, commands->end());
  queue_->AddBegun(*commands);
  return none_asks;
}

void Writer::FillUp(Batch& batch) {
  const int room = options_.batch_weight_max - batch.weight();
  // The comparison of request ids always fails while the log is empty.
  const bool log_is_empty = batch.base()->position().revision.number == 0;
  if (std::exchange(not_written_, false) || room <= 0 || log_is_empty) return;
  std::vector<PendingPtr> commands;
  (void)TakeMore(room, nullptr, &commands);
  batch.CompareNext();
  (void)DecideAll(commands, false, batch);
}

// Decides some commands of the queue, after those that `*ahead` has already. Returns false if the
// batch can take no more.
bool Writer::AddAhead(const Batch& sent, std::unique_ptr<Batch>* ahead) {
  const int taken = *ahead == nullptr ? 0 : (*ahead)->weight();
  const int room = options_.batch_weight_max - taken;
  std::vector<PendingPtr> commands;
  const bool none_asks = TakeMore(std::min(room, kLookWeight), &sent, &commands);
  if (commands.empty()) return false;
  if (*ahead == nullptr) {
    const StatePtr base = sent.writes() ? sent.next() : sent.base();
    const absl::Time now = std::max(clock_.Now(publisher_->Newest()->position()), sent.now());
    // A lease that has ended since MayDecideAhead is released before these commands are decided.
    const std::optional<absl::Time> lease_end = base->first_lease_end();
    if (lease_end && *lease_end <= now) {
      PutBack(commands);
      return false;
    }
    *ahead = std::make_unique<Batch>(base, now, std::vector<KeptRequest>());
    (*ahead)->BeginLater();
  }
  // A large command would hold up the answers of `sent`, so it gets a batch of its own.
  const bool fitted = DecideAll(commands, false, **ahead);
  return fitted && none_asks && (*ahead)->weight() < options_.batch_weight_max;
}

}  // namespace berth::placement
