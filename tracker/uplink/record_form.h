// Checks records by the rules by which placement checks them, so that the tracker sends no record
// that placement would refuse for its form.
//
// Pure functions. placement/commands/record_form.h and services/wire/instance.h have the same
// rules; tests/services/tracker/record_form_test.cc compares them.
//
// A fault is InvalidArgument. Its message begins with the path of the field, such as
// `instance.project_id`. Of several faults the first one counts, in the order of the rules.
#ifndef BERTH_TRACKER_UPLINK_RECORD_FORM_H_
#define BERTH_TRACKER_UPLINK_RECORD_FORM_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "berth/placement/v1/record.pb.h"
#include "berth/placement/v1/record_write.pb.h"

namespace berth::tracker {

// The largest size in bytes of a record without its uuid, times, texts and amounts: of its flavor's
// extra_specs, its image, its NUMA cells and the like.
inline constexpr size_t kRecordBytesMax = 64 << 10;

// The largest amount of a record or an allocation. Sums of any number of them fit into 64 bits.
inline constexpr int64_t kRecordAmountMax = 2147483647;

// The fault that `field` is as `why` says.
absl::Status FieldFault(absl::string_view field, absl::string_view why);

// A fault if a string of the message, or of a message in it, contains the character U+0000.
absl::Status CheckText(const google::protobuf::Message& message);

// Check a record that somebody else wrote. `path`: of the instance in the request.
absl::Status CheckInstanceForm(const std::string& path, const placement::v1::Instance& instance);
absl::Status CheckMigrationForm(const placement::v1::Migration& migration);

// A fault if an amount of the flavor is out of its range, or if its extra_specs are larger than any
// record. Placement does not check the flavors before and after a move; the tracker counts them.
absl::Status CheckFlavorForm(const std::string& path, const placement::v1::Flavor& flavor);

// Checks what the tracker is about to send. A withdrawal has only ids, so it has no fault.
absl::Status CheckWriteForm(const placement::v1::RecordWrite& write);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_UPLINK_RECORD_FORM_H_
