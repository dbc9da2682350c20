// Records as the bytes that the log and the table `record` hold, and back: the messages of
// stored.proto. Pure.
#ifndef BERTH_PLACEMENT_RECORDS_STORED_H_
#define BERTH_PLACEMENT_RECORDS_STORED_H_

#include <string>

#include "absl/strings/string_view.h"
#include "placement/ground/uuid.h"
#include "placement/values/instance.h"

namespace berth::ledger::v1 {
class Id;
}

namespace berth::placement {

// A uuid as it stands in the messages of stored.proto and of the log, and back.
void EncodeId(const Uuid& uuid, ledger::v1::Id* out);
Uuid DecodeId(const ledger::v1::Id& in);

std::string StoredBytes(const InstanceRecord& instance);
std::string StoredBytes(const MigrationRecord& migration);

// Return the record that the bytes hold; null if they hold none.
InstancePtr StoredInstanceIn(absl::string_view bytes);
MigrationPtr StoredMigrationIn(absl::string_view bytes);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_RECORDS_STORED_H_
