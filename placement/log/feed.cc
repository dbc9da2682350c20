#include "placement/log/feed.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/ground/check.h"
#include "placement/log/change_bytes.h"
#include "placement/values/refusal.h"

namespace berth::placement {

FeedBatchPtr FeedBatchOf(const Position& position, const std::vector<LogCommand>& commands) {
  // Most scopes are empty. All empty scopes share one object.
  static const auto* const kEmpty =
      new std::shared_ptr<const Scope>(std::make_shared<const Scope>());
  auto batch = std::make_shared<FeedBatch>();
  size_t bytes = BlockBytes(sizeof(FeedBatch) + 16);
  batch->revision = position.resume_point();
  batch->ledger_time = position.ledger_time;
  const std::string* method = nullptr;
  for (const LogCommand& command : commands) {
    std::shared_ptr<const Scope> scope = command.scope != nullptr ? command.scope : *kEmpty;
    Concerned concerned = ConcernedBy(*command.changes, *scope);
    batch->changes += static_cast<int64_t>(command.changes->size());
    bytes += BytesOf(*command.changes) + BlockBytes(sizeof(Changes) + 16);
    if (command.scope != nullptr) bytes += BytesOf(*scope) + BlockBytes(sizeof(Scope) + 16);
    batch->commands.push_back({command.actor, command.request_id, command.changes, std::move(scope),
                               std::move(concerned), command.reason, command.method});
    // The copies are counted, not the originals: a copied text may take less memory.
    const FeedCommand& kept = batch->commands.back();
    bytes += BytesOf(kept.concerned) + BlockBytes(kept.actor) + BlockBytes(kept.request_id) +
             BlockBytes(kept.reason);
    // Neighbours in a batch mostly came by the same call and share its name.
    if (kept.method != nullptr && kept.method.get() != method) {
      bytes += BlockBytes(sizeof(std::string) + 16) + BlockBytes(*kept.method);
    }
    method = kept.method.get();
  }
  batch->bytes = static_cast<int64_t>(bytes + BlockBytes(batch->commands));
  return batch;
}

absl::Status RevisionLost(Revision wanted, Revision there) {
  const std::string now =
      wanted.epoch == there.epoch ? "another batch" : absl::StrCat("epoch ", there.epoch);
  return Refuse(
      absl::StatusCode::kFailedPrecondition, "REVISION_LOST",
      absl::StrCat(
          "revision ", wanted.number, " of epoch ", wanted.epoch,
          " was lost in a restore of the database: the revision with this number now belongs to ",
          now));
}

void Feed::Append(const FeedBatchPtr& batch) {
  MutexLock lock(&mutex_);
  const Revision& last = batches_.empty() ? begin_ : batches_.back()->revision;
  BERTH_CHECK(batch->revision > last && batch->revision.number == last.number + 1);
  batches_.push_back(batch);
  changes_ += batch->changes;
  bytes_ += batch->bytes;
  while (batches_.size() > 1 && (static_cast<int64_t>(batches_.size()) > limits_.batches ||
                                 changes_ > limits_.changes || bytes_ > limits_.bytes)) {
    DropOldest();
  }
}

void Feed::DropOldest() {
  const FeedBatch& oldest = *batches_.front();
  changes_ -= oldest.changes;
  bytes_ -= oldest.bytes;
  begin_ = oldest.revision;
  batches_.pop_front();
  BERTH_CHECK(changes_ >= 0 && bytes_ >= 0);
}

void Feed::Restart(Revision revision) {
  {
    MutexLock lock(&mutex_);
    while (!batches_.empty()) DropOldest();
    BERTH_CHECK(changes_ == 0 && bytes_ == 0);
    begin_ = revision;
  }
  Wake();
}

absl::StatusOr<std::vector<FeedBatchPtr>> Feed::After(Revision revision, int batches_max) const {
  MutexLock lock(&mutex_);
  if (revision < begin_) {
    return Refuse(absl::StatusCode::kOutOfRange, "REVISION_COMPACTED",
                  absl::StrCat("the changes after revision ", revision.number,
                               " are no longer kept: begin with a snapshot, or after revision ",
                               begin_.number),
                  {{{"oldest_epoch", absl::StrCat(begin_.epoch)},
                    {"oldest_revision", absl::StrCat(begin_.number)}}});
  }
  const auto first = std::upper_bound(
      batches_.begin(), batches_.end(), revision,
      [](const Revision& wanted, const FeedBatchPtr& batch) { return wanted < batch->revision; });
  const Revision& own = first == batches_.begin() ? begin_ : (*std::prev(first))->revision;
  if (own == revision && !MayBeOneHistory(own, revision)) return RevisionLost(revision, own);
  const int64_t count = std::min<int64_t>(batches_.end() - first, batches_max);
  return std::vector<FeedBatchPtr>(first, first + count);
}

void Feed::Wake() {
  MutexLock lock(&subscribers_mutex_);
  for (const auto& [handle, wake] : subscribers_) wake();
}

int64_t Feed::Subscribe(std::function<void()> wake) {
  MutexLock lock(&subscribers_mutex_);
  const int64_t handle = next_handle_++;
  subscribers_.emplace(handle, std::move(wake));
  return handle;
}

void Feed::Unsubscribe(int64_t handle) {
  MutexLock lock(&subscribers_mutex_);
  const bool was_there = subscribers_.erase(handle) == 1;
  // A handle is given back once, by whom Subscribe gave it to.
  BERTH_CHECK(was_there);
}

}  // namespace berth::placement
