#include "placement/writer/batch.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "placement/ground/check.h"
#include "placement/log/scope.h"
#include "placement/rules/rules.h"
#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

absl::Status Reused(const RequestKey& key) {
  return Refuse(absl::StatusCode::kInvalidArgument, "REQUEST_ID_REUSED",
                "the request id was used before, for another request: use a new one",
                {{{"request_id", key.request_id}}});
}

absl::Status Unknown() {
  return Refuse(absl::StatusCode::kNotFound, "REQUEST_NOT_FOUND",
                "no write with this request id is known: it was not done so far, or it was done so "
                "long ago that the id is no longer kept");
}

absl::Status Cancelled(const RequestKey& key) {
  return Refuse(absl::StatusCode::kFailedPrecondition, "REQUEST_CANCELLED",
                "the request id was cancelled before this write arrived: nothing was done",
                {{{"request_id", key.request_id}}});
}

// The reason that the log gives for a command: the caller's reason for a write of a record, or for
// the cancellation of a request id a text that names this id. The log row does not give the
// cancelled id as the command's own request id, because the cancellation would then look like the
// cancelled request.
std::string ReasonFor(const CommandBody& body) {
  if (const auto* set = std::get_if<SetInstance>(&body)) return set->reason;
  if (const auto* remove = std::get_if<DeleteInstance>(&body)) return remove->reason;
  if (const auto* create = std::get_if<CreateMigration>(&body)) return create->reason;
  if (const auto* update = std::get_if<UpdateMigration>(&body)) return update->reason;
  if (const auto* end = std::get_if<EndMove>(&body)) return end->reason;
  const auto* find = std::get_if<FindRequest>(&body);
  return find == nullptr ? "" : absl::StrCat("cancelled the request id ", find->request_id);
}

// The position after `base` to which `next` belongs, apart from the batch, the time and the number of
// commands.
Position NextPosition(Position base, const State& next) {
  base.revision.epoch = std::max<int64_t>(base.revision.epoch, 1);
  ++base.revision.number;
  base.format = next.position().format;
  const Catalog& catalog = next.catalog();
  base.next_class_id =
      std::max(base.next_class_id, static_cast<uint32_t>(catalog.classes.NextId()));
  base.next_trait_id = std::max(base.next_trait_id, static_cast<uint32_t>(catalog.traits.NextId()));
  return base;
}

}  // namespace

std::optional<RequestKey> KeyOf(const Command& command) {
  if (const auto* find = std::get_if<FindRequest>(&command.body)) {
    return RequestKey{find->actor, find->request_id};
  }
  if (command.request_id.empty() || OnlyValidates(command.body)) return std::nullopt;
  return RequestKey{command.actor, command.request_id};
}

bool IsLarge(const Command& command, int64_t rows_max) {
  const auto* import = std::get_if<ImportLedger>(&command.body);
  return import != nullptr && import->size() > rows_max;
}

int64_t FactsBytes(const Command& command) {
  const auto* report = std::get_if<ApplyReport>(&command.body);
  if (report == nullptr || report->facts == nullptr) return 0;
  return static_cast<int64_t>(report->facts->size());
}

Batch::Batch(StatePtr base, absl::Time now, const std::vector<KeptRequest>& kept)
    : base_(std::move(base)),
      now_(now),
      id_{Uuid::Random()},
      next_(std::make_shared<State>(*base_)) {
  for (const KeptRequest& request : kept) kept_.emplace(request.key, request);
}

Batch::Batch(StatePtr base, absl::Time now) : Batch(std::move(base), now, {}) {
  begins_later_ = true;
  CompareNext();
}

bool Batch::Replay(const RequestKey& key, const std::string* hash, Decided* decided) {
  const auto own = own_.find(key);
  const auto kept = kept_.find(key);
  if (own == own_.end() && kept == kept_.end()) return false;
  const Decided* const earlier = own == own_.end() ? nullptr : &decided_[own->second];
  // Another process may have kept the answer in a commit that can be read already, but has not
  // reached every standby yet. A later commit proves that the earlier one has reached them.
  if (earlier == nullptr && !base_is_durable_) ForceRow();
  const std::string& kept_hash =
      earlier != nullptr ? earlier->pending->command.body_hash : kept->second.body_hash;
  Decision& decision = decided->decision;
  if (kept_hash.empty()) {
    decision = OnlyStatus(Cancelled(key));
  } else if (hash != nullptr && *hash != kept_hash) {
    decision = OnlyStatus(Reused(key));
  } else if (earlier != nullptr) {
    decision = earlier->decision;
    decision.replayed = true;
  } else if (absl::StatusOr<Decision> decoded = DecodeAnswer(kept->second.answer); decoded.ok()) {
    decision = *std::move(decoded);
    decided->of_earlier_batch = true;
  } else {
    decision = OnlyStatus(decoded.status());
  }
  return true;
}

Batch::Decided Batch::Decide(const PendingPtr& pending) {
  Decided decided;
  decided.pending = pending;
  const Command& command = pending->command;
  const auto* find = std::get_if<FindRequest>(&command.body);
  if (std::optional<RequestKey> key = KeyOf(command)) {
    const std::string* const hash = find == nullptr ? &command.body_hash : nullptr;
    BERTH_CHECK(hash == nullptr || !hash->empty());  // an empty hash means "cancelled"
    if (Replay(*key, hash, &decided)) return decided;
    if (find == nullptr || find->cancel_if_absent) decided.remember = std::move(key);
  }
  Decision& decision = decided.decision;
  if (find != nullptr && !find->cancel_if_absent) {
    decision = OnlyStatus(Unknown());
    return decided;
  }
  RuleContext context;
  context.now = now_;
  context.fresh = Generation{base_->position().command_count + accepted_ + 1};
  absl::StatusOr<Outcome> outcome = placement::Decide(*next_, command, context);
  if (!outcome.ok()) {
    decided.remember.reset();
    decision = OnlyStatus(outcome.status());
    return decided;
  }
  decision.fresh = context.fresh;
  decision.decided_at = now_;
  decision.asked = command.asked;
  decision.changes = std::make_shared<const Changes>(std::move(outcome->changes));
  decision.result = std::move(outcome->result);
  return decided;
}

Batch::Verdict Batch::Offer(const PendingPtr& pending, int64_t rows_max, bool may_be_large) {
  BERTH_CHECK(!prepared_);
  Decided decided = Decide(pending);
  const Decision& decision = decided.decision;
  const bool applies = decision.status.ok() && !decision.replayed;
  if (applies && (!decided_.empty() || !may_be_large)) {
    // An upper bound of the number of rows: a row that two changes touch is written only once.
    const auto rows = static_cast<int64_t>(decision.changes->size());
    if (rows > rows_max) return Verdict::kTooBig;
    if (touched_.size + rows > rows_max) return Verdict::kFull;
  }
  const bool gone = begins_later_ ? pending->phase == Pending::Phase::kAnswered : !pending->Begin();
  if (gone) return Verdict::kGone;
  if (applies) Apply(decided);
  if (!decision.replayed) tally_.Add(pending->command.body, decision.status);
  if (decided.remember) own_.emplace(*decided.remember, decided_.size());
  weight_ += pending->weight;
  decided_.push_back(std::move(decided));
  return Verdict::kDecided;
}

void Batch::Apply(const Decided& decided) {
  const Command& command = decided.pending->command;
  const std::shared_ptr<const Changes>& changes = decided.decision.changes;
  ++accepted_;
  ScopeMaker scope(*next_, *changes);
  next_->Apply(*changes);
  touched_.Add(*changes);
  if (changes->empty() && !decided.remember) return;
  Scope affected = std::move(scope).Finish(*next_);
  log_.push_back({command.actor, command.request_id, changes, ReasonFor(command.body),
                  affected.empty() ? nullptr : std::make_shared<const Scope>(std::move(affected)),
                  command.method});
}

bool Batch::BeginAll(BootTime now) {
  return std::all_of(decided_.begin(), decided_.end(), [now](const Decided& decided) {
    return WhyNotBegin(*decided.pending, now).ok() && decided.pending->Begin();
  });
}

void Batch::ReturnAll() {
  for (const Decided& decided : decided_) decided.pending->Return();
}

std::vector<PendingPtr> Batch::Commands() const {
  std::vector<PendingPtr> commands;
  commands.reserve(decided_.size());
  for (const Decided& decided : decided_) commands.push_back(decided.pending);
  return commands;
}

void Batch::Stamp() {
  for (Decided& decided : decided_) {
    if (!decided.of_earlier_batch) decided.decision.revision = next_->position().revision;
  }
}

BatchRows Batch::Rows(int64_t log_rows_kept) const {
  BatchRows rows;
  rows.base = base_.get();
  rows.next = next_.get();
  rows.touched = &touched_;
  rows.payload = EncodeBatch(log_);
  rows.log_rows_kept = log_rows_kept;
  for (const Decided& decided : decided_) {
    if (!decided.remember) continue;
    rows.requests.push_back(
        {*decided.remember, decided.pending->command.body_hash, EncodeAnswer(decided.decision)});
  }
  return rows;
}

std::vector<RequestKey> Batch::ComparedKeys() const {
  std::vector<RequestKey> keys;
  for (size_t i = compared_from_; i < decided_.size(); ++i) {
    std::optional<RequestKey> key = KeyOf(decided_[i].pending->command);
    if (key && !kept_.contains(*key)) keys.push_back(*std::move(key));
  }
  return keys;
}

const Statement& Batch::Prepare(int64_t log_rows_kept) {
  if (prepared_) return *prepared_;
  const std::vector<RequestKey> keys = ComparedKeys();
  if (!writes()) return prepared_.emplace(CheckUnmovedSql(base_->position(), keys));
  Position position = NextPosition(base_->position(), *next_);
  position.batch = id_;
  position.ledger_time = now_;
  position.command_count += accepted_;
  next_->set_position(position);
  Stamp();
  const BatchRows rows = Rows(log_rows_kept);
  const bool compares = begins_later_ || !keys.empty();
  return prepared_.emplace(compares ? WriteBatchIfUnmovedSql(rows, keys) : WriteBatchSql(rows));
}

std::vector<Answer> Batch::TakeAnswers() {
  std::vector<Answer> answers;
  answers.reserve(decided_.size());
  Stamp();
  for (Decided& decided : decided_) {
    std::optional<Answer> answer = decided.pending->Settle(std::move(decided.decision));
    if (answer) answers.push_back(*std::move(answer));
  }
  return answers;
}

}  // namespace berth::placement
