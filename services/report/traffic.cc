#include "services/report/traffic.h"

#include <utility>

#include "placement/ground/check.h"

namespace berth::services {

using placement::MutexLock;

void Traffic::ReadNext() {
  MutexLock lock(&mutex_);
  read_waits_ = true;
  ReadIfRoom();
}

void Traffic::ReadIfRoom() {
  if (!read_waits_ || outbox_.size() + promised_ >= kOutboxMax || ending_) return;
  read_waits_ = false;
  incoming_.Clear();  // frees memory: the next may come late
  sink_->Read(&incoming_);
}

void Traffic::Send(pb::SessionResponse message) {
  MutexLock lock(&mutex_);
  outbox_.push_back(std::move(message));
  WriteNext();
}

void Traffic::Promise() {
  MutexLock lock(&mutex_);
  ++promised_;
}

void Traffic::SendPromised(pb::SessionResponse message) {
  MutexLock lock(&mutex_);
  BERTH_CHECK(promised_ > 0);
  --promised_;
  outbox_.push_back(std::move(message));
  WriteNext();
}

void Traffic::WriteNext() {
  if (writing_ || finished_) return;
  if (ending_) {
    finished_ = true;
    sink_->Finish(*ending_);
  } else if (!outbox_.empty()) {
    outgoing_ = std::move(outbox_.front());
    outbox_.pop_front();
    writing_ = true;
    sink_->Send(outgoing_);
  }
}

void Traffic::HandleSent(bool ok) {
  MutexLock lock(&mutex_);
  writing_ = false;
  outgoing_.Clear();                                // frees memory: the next may come late
  if (!ok && !ending_) ending_ = absl::OkStatus();  // the tracker has gone
  WriteNext();
  ReadIfRoom();
}

bool Traffic::is_free() const {
  MutexLock lock(&mutex_);
  return !writing_ && !ending_;
}

void Traffic::End(const absl::Status& status) {
  MutexLock lock(&mutex_);
  if (ending_) return;
  ending_ = status;
  WriteNext();
}

bool Traffic::ended() const {
  MutexLock lock(&mutex_);
  return ending_.has_value();
}

void Traffic::CheckClosed() const {
  MutexLock lock(&mutex_);
  BERTH_CHECK(finished_ && !writing_);
}

}  // namespace berth::services
