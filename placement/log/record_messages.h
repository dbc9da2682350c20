// The records of instances and migrations as messages of the log, and back. Pure.
#ifndef BERTH_PLACEMENT_LOG_RECORD_MESSAGES_H_
#define BERTH_PLACEMENT_LOG_RECORD_MESSAGES_H_

#include "placement/log/log.pb.h"
#include "placement/values/instance.h"

namespace berth::placement {

void EncodeInstance(const InstanceRecord& instance, ledger::v1::Instance* out);
InstancePtr DecodeInstance(const ledger::v1::Instance& in);
void EncodeMigration(const MigrationRecord& migration, ledger::v1::Migration* out);
MigrationPtr DecodeMigration(const ledger::v1::Migration& in);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LOG_RECORD_MESSAGES_H_
