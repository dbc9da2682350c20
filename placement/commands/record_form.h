// Checks the fields of the record of an instance or of a migration, and makes the refusals that
// several commands share. Pure.
#ifndef BERTH_PLACEMENT_COMMANDS_RECORD_FORM_H_
#define BERTH_PLACEMENT_COMMANDS_RECORD_FORM_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "placement/values/faults.h"
#include "placement/values/instance.h"

namespace berth::placement {

// Both functions add a fault for each field that is not as values/instance.h says. A fault names
// the field as the requests do, e.g. `instance.host`.
void InstanceFields(Faults& faults, const InstanceRecord& instance);
void MigrationFields(Faults& faults, const MigrationRecord& migration);
// Adds a fault, INVALID_FIELD, if a node is given without its host.
void NodeNeedsHost(Faults& faults, absl::string_view field, bool has_node, absl::string_view host);

// The refusal INSTANCE_NOT_FOUND. `field`: the field of the request that names the instance.
absl::Status InstanceNotFound(InstanceId id, const std::string& field);
// The refusal MIGRATION_NOT_FOUND for the request field migration_uuid.
absl::Status MigrationNotFound(MigrationId id);
// The refusal DUPLICATE_MIGRATION for the request field migration.uuid.
absl::Status DuplicateMigration(MigrationId id);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_COMMANDS_RECORD_FORM_H_
