#include "placement/writer/intake.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "placement/ground/boot_clock.h"
#include "placement/ground/check.h"

namespace berth::placement {
namespace {

// OK, or a refusal: the call was cancelled, its deadline passed, or its batch was lost too often.
absl::Status WhyNotDecide(const Pending& pending, BootTime now) {
  if (pending.losses < kLossesMax) return WhyNotBegin(pending, now);
  return NotDone(
      "the connection to the database broke twice during this write: nothing was done, try again");
}

}  // namespace

void Intake::NoteBegun(const std::vector<PendingPtr>& first, const std::vector<PendingPtr>& next) {
  std::vector<PendingPtr> begun = turns_->Begun();
  begun.insert(begun.end(), first.begin(), first.end());
  begun.insert(begun.end(), next.begin(), next.end());
  queue_->SetBegun(std::move(begun));
}

bool Intake::TakeMore(int weight, const Batch* sent, std::vector<PendingPtr>* commands) {
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

bool Intake::MayDecide(const Pending& pending) const {
  return turns_->turn() != Turn::kShared || !IsLarge(pending.command, options_.batch_rows_max);
}

bool Intake::HasLarge(const std::vector<PendingPtr>& commands) const {
  return std::any_of(commands.begin(), commands.end(), [this](const PendingPtr& pending) {
    return MayDecide(*pending) && IsLarge(pending->command, options_.batch_rows_max);
  });
}

Batch::Verdict Intake::Offer(const PendingPtr& pending, bool first, bool others_wait,
                             Batch& batch) {
  if (!MayDecide(*pending)) return Batch::Verdict::kTooBig;
  const Batch::Verdict verdict =
      batch.Offer(pending, options_.batch_rows_max, first && turns_->MayBeLarge(others_wait));
  // If the batch is full before its first command, then the release of leases has filled it. Leases
  // may end all the time and fill the next shared batch, too, so the command gets a batch of its
  // own.
  return first && verdict == Batch::Verdict::kFull ? Batch::Verdict::kTooBig : verdict;
}

bool Intake::DecideAll(const std::vector<PendingPtr>& commands, bool first, Batch& batch) {
  const BootTime now = BootNow();
  const absl::Duration until = options_.boot_clock() + options_.batch_deciding_max;
  int64_t facts_bytes = 0;
  std::vector<PendingPtr> rest;
  for (size_t i = 0; i < commands.size(); ++i) {
    const PendingPtr& pending = commands[i];
    absl::Status why = WhyNotDecide(*pending, now);
    if (!why.ok()) {
      Refuse({pending}, std::move(why));
      continue;
    }
    const bool full = batch.row_count() >= options_.batch_rows_max ||
                      facts_bytes >= options_.batch_facts_bytes_max ||
                      options_.boot_clock() > until;
    const bool others_wait = i + 1 < commands.size() || queue_->size() > 0;
    const Batch::Verdict verdict =
        !first && full ? Batch::Verdict::kFull : Offer(pending, first, others_wait, batch);
    first = false;
    if (verdict == Batch::Verdict::kFull) {
      rest.insert(rest.end(), commands.begin() + static_cast<int64_t>(i), commands.end());
      break;
    }
    facts_bytes += FactsBytes(pending->command);
    if (verdict != Batch::Verdict::kTooBig) continue;
    BERTH_CHECK(turns_->turn() == Turn::kShared);  // in another turn nothing is too big
    if (!turns_->AddLarge(pending)) rest.push_back(pending);
  }
  PutBack(rest);
  return rest.empty();
}

void Intake::PutBack(const std::vector<PendingPtr>& commands) {
  std::vector<PendingPtr> waiting;
  for (const PendingPtr& pending : commands) {
    switch (pending->phase) {
      case Pending::Phase::kWaiting:
        waiting.push_back(pending);
        break;
      case Pending::Phase::kBegun:
        turns_->AddAlone(pending);
        break;
      case Pending::Phase::kAnswered:
        break;
    }
  }
  queue_->PutBack(waiting);
}

void Intake::TakeBack(Batch& batch) {
  batch.ReturnAll();
  std::vector<PendingPtr> commands = batch.Commands();
  // The next batch makes its own command that releases leases.
  commands.erase(
      std::remove_if(commands.begin(), commands.end(),
                     [](const PendingPtr& pending) {
                       return std::holds_alternative<ExpireLeases>(pending->command.body);
                     }),
      commands.end());
  PutBack(commands);
}

void Intake::Refuse(const std::vector<PendingPtr>& commands, absl::Status status) {
  std::vector<Answer> answers;
  for (const PendingPtr& pending : commands) {
    std::optional<Answer> answer =
        pending->Settle(OnlyStatus(pending->may_be_done ? OutcomeUnknown() : status));
    if (answer) answers.push_back(*std::move(answer));
  }
  // Drops this thread's reference to the status, so that only the answers refer to it.
  status = absl::OkStatus();
  answerer_->Post(std::move(answers));
}

void Intake::RefuseAll(absl::Status status) {
  std::vector<PendingPtr> all = queue_->TakeAll();
  const std::vector<PendingPtr> own = turns_->GiveUpWaiting();
  all.insert(all.end(), own.begin(), own.end());
  Refuse(all, std::move(status));
}

void Intake::GiveUpUnsettled() { Refuse(turns_->GiveUpUnsettled(), OutcomeUnknown()); }

}  // namespace berth::placement
