// The rows of instances and migrations: writes them as arguments of SQL functions, and reads them
// back.
#ifndef BERTH_PLACEMENT_STORE_RECORD_ROWS_H_
#define BERTH_PLACEMENT_STORE_RECORD_ROWS_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "placement/store/database.h"
#include "placement/store/sql_call.h"
#include "placement/values/instance.h"

namespace berth::placement {

// The numbers of arguments of the SQL functions write_instances and write_migrations.
inline constexpr int kInstanceColumns = 19;
inline constexpr int kMigrationColumns = 14;

// Adds a row to a call of write_instances or write_migrations. `before`: the generation of the
// record in the table; none if the record is new.
void AddInstance(SqlCall& call, std::optional<Generation> before, const InstanceRecord& instance);
void AddMigration(SqlCall& call, std::optional<Generation> before,
                  const MigrationRecord& migration);

// The statements that select all records, without WHERE. The first column is the id.
inline constexpr absl::string_view kSelectInstances =
    "SELECT id, generation, name, project, \"user\", host, node, vm_state, task_state, vcpus, "
    "memory_mib, root_disk_gib, ephemeral_disk_gib, swap_mib, details, micros_of(created_at), "
    "micros_of(updated_at), micros_of(deleted_at) FROM instance";
inline constexpr absl::string_view kSelectMigrations =
    "SELECT id, generation, instance, type, status, source_host, source_node, destination_host, "
    "destination_node, old_flavor_id, new_flavor_id, micros_of(created_at), micros_of(updated_at) "
    "FROM migration";

// The record in row `row` of `rows`, the result of one of these two statements.
InstancePtr ReadInstance(const QueryRows& rows, int row);
MigrationPtr ReadMigration(const QueryRows& rows, int row);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STORE_RECORD_ROWS_H_
