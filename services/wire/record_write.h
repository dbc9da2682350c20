// Conversion of a tracker's RecordWrite into the command that writes the records. Pure.
#ifndef BERTH_SERVICES_WIRE_RECORD_WRITE_H_
#define BERTH_SERVICES_WIRE_RECORD_WRITE_H_

#include "absl/status/statusor.h"
#include "berth/placement/v1/record_write.pb.h"
#include "placement/commands/record_write.h"
#include "services/wire/form.h"

namespace berth::services {

// INVALID_FIELD for a message that is larger than any record, for a uuid that is missing or
// misspelled, for an end without a migration, for a withdrawal with more than uuids and generations,
// and for a number out of its range. The fields are named `record_write.instance.uuid` and so on.
//
// REQUIRES: no text of the message contains the character U+0000.
absl::StatusOr<placement::WriteRecords> WriteRecordsOf(const pb::RecordWrite& from,
                                                       placement::TrackerProcess tracker);

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_RECORD_WRITE_H_
