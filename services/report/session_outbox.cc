// The methods of ReportSession that decide the order in which messages are sent, when the next
// message is read, and how the session ends.
#include <utility>

#include "placement/ground/check.h"
#include "services/report/session.h"
#include "services/wire/form.h"

namespace berth::services {

using placement::MutexLock;
using placement::ProviderId;

namespace {

constexpr size_t kOutboxMax = 8;  // answers that the tracker has not read yet, or that wait

}  // namespace

void ReportSession::OrderSnapshot(ProviderId node) {
  pb::SessionResponse message;
  SetRevision(sessions_->ledger()->Newest()->position().revision, message.mutable_revision());
  message.mutable_snapshot_order()->set_node_uuid(node.ToString());
  Send(std::move(message));
}

void ReportSession::OrderAudit(const std::string& order_id, ProviderId node) {
  pb::SessionResponse message;
  SetRevision(sessions_->ledger()->Newest()->position().revision, message.mutable_revision());
  message.mutable_audit_order()->set_order_id(order_id);
  message.mutable_audit_order()->set_node_uuid(node.ToString());
  Send(std::move(message));
}

void ReportSession::Send(pb::SessionResponse message) {
  MutexLock lock(&mutex_);
  outbox_.push_back(std::move(message));
  WriteNext();
}

void ReportSession::End(const absl::Status& status) {
  MutexLock lock(&mutex_);
  if (ending_ || finished_) return;
  ending_ = status;
  WriteNext();
}

bool ReportSession::ended() const {
  MutexLock lock(&mutex_);
  return ending_.has_value() || finished_;
}

void ReportSession::WriteNext() {
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

void ReportSession::ReadNext() {
  MutexLock lock(&mutex_);
  read_waits_ = true;
  ReadIfRoom();
}

void ReportSession::ReadIfRoom() {
  const size_t waiting = outbox_.size() + answers_.size();
  if (!read_waits_ || waiting >= kOutboxMax || ending_ || finished_) return;
  read_waits_ = false;
  incoming_.Clear();  // frees memory: the next may come late
  sink_->Read(&incoming_);
}

void ReportSession::HandleSent(bool ok) {
  {
    MutexLock lock(&mutex_);
    writing_ = false;
    outgoing_.Clear();                                // frees memory: the next may come late
    if (!ok && !ending_) ending_ = absl::OkStatus();  // the tracker has gone
    WriteNext();
    ReadIfRoom();
  }
  FlushPushes();
}

void ReportSession::Closed() {
  {
    MutexLock lock(&mutex_);
    BERTH_CHECK(finished_ && !writing_);
  }
  sessions_->Closed(shared_from_this());
}

}  // namespace berth::services
