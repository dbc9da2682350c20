// Failures of an import that name the record at fault. Pure.
#ifndef BERTH_PLACEMENT_COMMANDS_RECORD_FAULT_H_
#define BERTH_PLACEMENT_COMMANDS_RECORD_FAULT_H_

#include "absl/status/status.h"
#include "placement/commands/command.h"

namespace berth::placement {

// `status`, a refusal, with the number of the record added to its message and to each of its items.
absl::Status AtRecord(RecordNumber record, const absl::Status& status);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_COMMANDS_RECORD_FAULT_H_
