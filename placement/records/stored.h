// Records as the bytes that the log and the table `record` hold, and back: the messages of
// stored.proto. Pure.
#ifndef BERTH_PLACEMENT_RECORDS_STORED_H_
#define BERTH_PLACEMENT_RECORDS_STORED_H_

#include <string>

#include "absl/strings/string_view.h"
#include "placement/values/instance.h"

namespace berth::placement {

std::string StoredBytes(const InstanceRecord& instance);
std::string StoredBytes(const MigrationRecord& migration);

// Return the record that the bytes hold; null if they hold none.
InstancePtr StoredInstanceIn(absl::string_view bytes);
MigrationPtr StoredMigrationIn(absl::string_view bytes);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_RECORDS_STORED_H_
