// What the self-check asks of the records of instances and migrations. Pure.
//
// Shares no code with placement/records, which makes the records: reads the bytes of bodies and of
// stored records field by field, by the numbers of record.proto.
#ifndef BERTH_PLACEMENT_LEDGER_RECORD_CHECK_H_
#define BERTH_PLACEMENT_LEDGER_RECORD_CHECK_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "placement/state/records.h"
#include "placement/values/instance.h"

namespace berth::placement {

// One text for each record that cannot be read, and for each whose body disagrees with its index: the
// body has a field of the index, or gives the instance other CPUs, devices or units. At most 100.
std::vector<std::string> FaultyRecords(const Records& records);

// The fields of a record as a text: `TextOf` of a record in memory is equal to `StoredInstanceText`
// or `StoredMigrationText` of its stored bytes. Bytes that hold no message give a text that no
// record has.
std::string TextOf(const InstanceRecord& instance);
std::string TextOf(const MigrationRecord& migration);
std::string StoredInstanceText(absl::string_view content);
std::string StoredMigrationText(absl::string_view content);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_RECORD_CHECK_H_
