// Adds the number of the record at fault to a failure of an import. Pure.
#ifndef BERTH_PLACEMENT_COMMANDS_RECORD_FAULT_H_
#define BERTH_PLACEMENT_COMMANDS_RECORD_FAULT_H_

#include "absl/status/status.h"
#include "placement/commands/command.h"

namespace berth::placement {

// Returns the refusal `status` with the number of the record in its message and in each of its
// items.
absl::Status AtRecord(RecordNumber record, const absl::Status& status);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_COMMANDS_RECORD_FAULT_H_
