// The parts that several commands about the records of instances and migrations share: the checks
// of fields and generations, the refusals, and the record that is stored. Pure.
#ifndef BERTH_PLACEMENT_COMMANDS_RECORD_FORM_H_
#define BERTH_PLACEMENT_COMMANDS_RECORD_FORM_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "placement/commands/outcome.h"
#include "placement/values/aggregate.h"
#include "placement/values/faults.h"
#include "placement/values/instance.h"
#include "placement/values/server_group.h"

namespace berth::placement {

// Both functions add a fault for each field that is not as values/instance.h says. A fault names
// the field as the requests do: below `path` in an instance, and e.g. `migration.status`.
void InstanceFields(Faults& faults, absl::string_view path, const InstanceRecord& instance);
void MigrationFields(Faults& faults, const MigrationRecord& migration);
// Adds a fault unless `reason`, the reason of a write for the log, has at most 255 characters and no
// control characters.
void ReasonField(Faults& faults, absl::string_view reason);
// Adds a fault, INVALID_FIELD, if a node is given without its host.
void NodeNeedsHost(Faults& faults, absl::string_view field, bool has_node, absl::string_view host);

// The refusal INSTANCE_NOT_FOUND. `field`: the field of the request that names the instance.
absl::Status InstanceNotFound(InstanceId id, const std::string& field);
// The refusal MIGRATION_NOT_FOUND for the request field migration_uuid.
absl::Status MigrationNotFound(MigrationId id);
// The refusal DUPLICATE_MIGRATION for the request field migration.uuid.
absl::Status DuplicateMigration(MigrationId id);
// The refusals UUID_IN_USE. An instance and a migration never have the same uuid, because their
// consumers have these uuids, and the end of a move releases the migration's consumer. `field`: the
// field of the request that has the uuid.
absl::Status UuidOfMigration(InstanceId id, const std::string& field);
absl::Status UuidOfInstance(MigrationId id, const std::string& field);

// ABORTED / RECORD_CONFLICT unless `record` has the expected generation. None and null mean: no
// record.
absl::Status CheckGeneration(InstanceId id, std::optional<Generation> expected,
                             const InstancePtr& record);
absl::Status CheckGeneration(Generation expected, const MigrationRecord& record);
absl::Status CheckGeneration(ServerGroupId id, std::optional<Generation> expected,
                             const ServerGroupPtr& group);
absl::Status CheckGeneration(AggregateId id, std::optional<Generation> expected,
                             const AggregatePtr& aggregate);

// The record that the ledger stores for `record`, which a caller gave. `before`: the record that it
// replaces; null: it is new.
InstancePtr StoredInstance(const InstanceRecord& record, const InstancePtr& before,
                           const RuleContext& context);
// The same for a migration that had the record `before`; `record` is a changed copy of it.
MigrationPtr StoredMigration(MigrationRecord record, const RuleContext& context);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_COMMANDS_RECORD_FORM_H_
