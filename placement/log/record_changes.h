// The changes of aggregates, server groups, instances and migrations in messages of the log. Pure.
#ifndef BERTH_PLACEMENT_LOG_RECORD_CHANGES_H_
#define BERTH_PLACEMENT_LOG_RECORD_CHANGES_H_

#include <optional>

#include "placement/log/log.pb.h"
#include "placement/values/change.h"

namespace berth::placement {

// The change in `in`, which must be a change of an aggregate, a server group, an instance or a
// migration; none if its record cannot be read.
std::optional<Change> DecodeRecordChange(const ledger::v1::Change& in);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LOG_RECORD_CHANGES_H_
