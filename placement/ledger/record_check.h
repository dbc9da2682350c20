// Checks the records of instances and migrations, for the self-check and for the start of the
// ledger. Pure functions.
//
// This file shares no code with placement/records, which makes the records. It reads the bytes of
// bodies and of stored records field by field, by the numbers of record.proto.
#ifndef BERTH_PLACEMENT_LEDGER_RECORD_CHECK_H_
#define BERTH_PLACEMENT_LEDGER_RECORD_CHECK_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "placement/state/records.h"
#include "placement/values/instance.h"

namespace berth::placement {

// Tells, in one text each, which records are faulty: the record is unreadable (kUnreadable), its
// body is no message or has a field of the index, or its HeldParts do not agree with its body. Does
// not compare HeldParts::Context::migration. Stops after about 100 texts.
std::vector<std::string> FaultyRecords(const Records& records);

// The fields of a record as a text; of a long field, only the digest. A record in memory and its
// stored bytes, `content`, give the same text. If `content` is no message, the text is one that no
// record in memory gives.
std::string TextOf(const InstanceRecord& instance);
std::string TextOf(const MigrationRecord& migration);
std::string StoredInstanceText(absl::string_view content);
std::string StoredMigrationText(absl::string_view content);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_RECORD_CHECK_H_
