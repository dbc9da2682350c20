// The methods of ReportSession that answer a tracker's writes of records.
#include <algorithm>
#include <utility>

#include "services/process/error.h"
#include "services/report/push_slice.h"
#include "services/report/session.h"
#include "services/wire/record_write.h"

namespace berth::services {

using placement::Decision;
using placement::InstanceId;
using placement::MigrationId;
using placement::MutexLock;
using placement::ProviderId;
using placement::WriteRecords;

// The answer to `write` without its status. It will have the records that the write names, as far as
// their uuids can be read and the session announced the node.
ReportSession::WaitingAnswer ReportSession::AnswerTo(const pb::RecordWrite& write) const {
  WaitingAnswer answer;
  answer.message.set_write_id(write.write_id());
  answer.message.set_node_uuid(EchoOf(write.node_uuid()));
  const auto node = ProviderId::Parse(write.node_uuid());
  if (!node || !Names(*hello(), *node)) return answer;
  answer.node = node;
  const auto instance = InstanceId::Parse(write.instance().uuid());
  if (instance) answer.names.instances.insert(*instance);
  const auto migration = MigrationId::Parse(write.migration().uuid());
  if (migration) answer.names.migrations.insert(*migration);
  return answer;
}

void ReportSession::HandleRecordWrite(const absl::Status& form) {
  const pb::RecordWrite& message = incoming_.record_write();
  WaitingAnswer answer = AnswerTo(message);
  if (!form.ok()) return SettleRecordWrite(std::move(answer), form);
  absl::StatusOr<WriteRecords> write = WriteRecordsOf(message, {key_.first, incarnation_});
  if (!write.ok()) return SettleRecordWrite(std::move(answer), write.status());
  if (!answer.node) {
    return SettleRecordWrite(
        std::move(answer), InvalidField("record_write.node_uuid",
                                        "is not a node that this session announced in its hello"));
  }
  Submit(*std::move(write),
         [this, answer](const Decision& decision) { SettleRecordWrite(answer, decision.status); });
}

// Ends the session if the outcome is unknown, or if this process may write nothing any more.
void ReportSession::SettleRecordWrite(WaitingAnswer answer, const absl::Status& status) {
  const absl::Status ending = EndingOf(status);
  if (!ending.ok()) return End(ending);
  *answer.message.mutable_status() = PlacementError(status);
  {
    MutexLock lock(&mutex_);
    answers_.push_back(std::move(answer));
    SendRecordAnswers();
  }
  ReadNext();
}

// An answer has the values of the newest state. If a push is being sent, its slices may have older
// values of the same records, and the tracker takes them in when the last slice has come. So the
// answer waits until then.
void ReportSession::SendRecordAnswers() {
  if (push_ || answers_.empty()) return;
  const placement::StatePtr state = sessions_->ledger()->Newest();
  for (WaitingAnswer& answer : answers_) {
    pb::SessionResponse response;
    SetRevision(state->position().revision, response.mutable_revision());
    pb::RecordAnswer* const message = response.mutable_record_answer();
    *message = std::move(answer.message);
    pb::Push records;
    if (answer.node) FillSlice(*state, key_.first, *answer.node, &answer.names, &records);
    message->mutable_instances()->Swap(records.mutable_instances());
    message->mutable_removed_instance_uuids()->Swap(records.mutable_removed_instance_uuids());
    message->mutable_migrations()->Swap(records.mutable_migrations());
    message->mutable_removed_migration_uuids()->Swap(records.mutable_removed_migration_uuids());
    outbox_.push_back(std::move(response));
  }
  answers_.clear();
  WriteNext();
}

}  // namespace berth::services
