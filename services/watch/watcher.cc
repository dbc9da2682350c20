#include "services/watch/watcher.h"

#include <utility>

#include "placement/ground/boot_clock.h"
#include "placement/values/refusal.h"

namespace berth::services {

using placement::MutexLock;

void Watcher::Begin(const WatchFilter& filter, placement::Revision position,
                    std::unique_ptr<WatchSnapshot> snapshot) {
  filter_ = filter;
  MutexLock lock(&mutex_);
  position_ = position;
  snapshot_ = std::move(snapshot);
  in_snapshot_ = snapshot_ != nullptr;
  begun_at_ = sent_at_ = placement::BootNow();
}

void Watcher::SayWhere() {
  MutexLock lock(&mutex_);
  if (!ended_) Put(BeatMessage(position_));
}

void Watcher::Start() {
  MutexLock lock(&mutex_);
  started_ = true;
}

placement::Revision Watcher::position() const {
  MutexLock lock(&mutex_);
  return position_;
}

bool Watcher::ended() const {
  MutexLock lock(&mutex_);
  return ended_;
}

void Watcher::SetLive(bool live) {
  MutexLock lock(&mutex_);
  live_ = live;
}

bool Watcher::IsHungry() const {
  MutexLock lock(&mutex_);
  return started_ && !live_ && !ended_ && !sending_since_;
}

bool Watcher::TellSnapshot() {
  std::unique_ptr<WatchSnapshot> snapshot;
  {
    MutexLock lock(&mutex_);
    snapshot = std::move(snapshot_);
  }
  if (snapshot == nullptr) return false;
  WatchMessage message = snapshot->Next();
  if (snapshot->done()) snapshot.reset();
  MutexLock lock(&mutex_);
  if (ended_) return true;
  snapshot_ = std::move(snapshot);
  in_snapshot_ = snapshot_ != nullptr;
  Put(std::move(message));
  return true;
}

bool Watcher::HasRoom() const {
  MutexLock lock(&mutex_);
  return !ended_ && outbox_.size() <= limits_.messages_max / 4 &&
         outbox_bytes_ <= limits_.bytes_max / 4;
}

void Watcher::Tell(const ToldRevision& told) {
  MutexLock lock(&mutex_);
  if (ended_ || told.revision() <= position_) return;
  const bool waits = !outbox_.empty();
  for (WatchMessage& message : told.MessagesFor(filter_)) Put(std::move(message));
  if (live_ && waits &&
      (outbox_.size() > limits_.messages_max || outbox_bytes_ > limits_.bytes_max)) {
    return EndLocked(TooSlow());
  }
  position_ = told.revision();
}

void Watcher::SkipTo(placement::Revision revision) {
  MutexLock lock(&mutex_);
  if (position_ < revision) position_ = revision;
}

void Watcher::Beat(placement::Revision revision, placement::BootTime now) {
  MutexLock lock(&mutex_);
  if (ended_ || !started_) return;
  if (in_snapshot_ && now - begun_at_ > limits_.snapshot_max) return EndLocked(SnapshotTooSlow());
  if (sending_since_ && now - *sending_since_ > limits_.sending_max) return EndLocked(TooSlow());
  // During a snapshot no empty message may be sent: it would tell the client that the snapshot is
  // complete.
  if (in_snapshot_ || sending_since_ || now - sent_at_ < limits_.quiet_max) return;
  if (live_ && position_ < revision) position_ = revision;
  Put(BeatMessage(position_));
}

void Watcher::Put(WatchMessage message) {
  outbox_bytes_ += message->size();
  outbox_.push_back(std::move(message));
  SendNext();
}

void Watcher::SendNext() {
  if (sending_since_ || ended_ || outbox_.empty()) return;
  const WatchMessage message = std::move(outbox_.front());
  outbox_.pop_front();
  outbox_bytes_ -= message->size();
  sending_since_ = placement::BootNow();
  sink_->Send(message);
}

void Watcher::Sent(bool ok) {
  MutexLock lock(&mutex_);
  sending_since_.reset();
  sent_at_ = placement::BootNow();
  if (!ok) return EndLocked(absl::CancelledError("the watcher has gone"));
  SendNext();
}

void Watcher::End(const absl::Status& status) {
  MutexLock lock(&mutex_);
  EndLocked(status);
}

void Watcher::EndLocked(const absl::Status& status) {
  if (ended_) return;
  ended_ = true;
  gone_->store(true);
  outbox_.clear();
  outbox_bytes_ = 0;
  snapshot_.reset();
  sink_->Finish(status);
}

absl::Status Watcher::TooSlow() const {
  return placement::Refuse(
      absl::StatusCode::kAborted, "WATCHER_TOO_SLOW",
      absl::StrCat("the caller reads too slowly: it was sent changes up to revision ",
                   position_.number, "; watch again after the last complete revision"));
}

absl::Status Watcher::SnapshotTooSlow() const {
  return placement::Refuse(
      absl::StatusCode::kAborted, "WATCHER_TOO_SLOW",
      absl::StrCat("the snapshot at revision ", position_.number, " was not read within ",
                   absl::FormatDuration(limits_.snapshot_max),
                   ": begin again, with filters or a faster connection"));
}

}  // namespace berth::services
