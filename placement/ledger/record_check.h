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
#include "placement/state/state.h"
#include "placement/values/aggregate.h"
#include "placement/values/instance.h"
#include "placement/values/server_group.h"

namespace berth::placement {

// Return one text for each unreadable record (kUnreadable). FaultyRecords also returns one for each
// record whose body is no message or has a field of the index, or whose HeldParts do not agree with
// the body; it does not compare HeldParts::Context::migration. At most 100 texts.
std::vector<std::string> UnreadableRecords(const State& state);
std::vector<std::string> FaultyRecords(const State& state);

// The fields of a record as a text; of a long field, only the digest. A readable record in memory
// and its stored bytes, `content`, give the same text. If `content` is no message, the text is one
// that no record in memory gives.
std::string TextOf(const InstanceRecord& instance);
std::string TextOf(const MigrationRecord& migration);
std::string TextOf(const ServerGroup& group);
std::string TextOf(const Aggregate& aggregate);
std::string StoredInstanceText(absl::string_view content);
std::string StoredMigrationText(absl::string_view content);
std::string StoredServerGroupText(absl::string_view content);
std::string StoredAggregateText(absl::string_view content);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_RECORD_CHECK_H_
