// The rows of the table `record`, which has instances and migrations: writes them as arguments of
// the SQL function write_records, and reads them back.
#ifndef BERTH_PLACEMENT_STORE_RECORD_ROWS_H_
#define BERTH_PLACEMENT_STORE_RECORD_ROWS_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "placement/store/database.h"
#include "placement/store/sql_call.h"
#include "placement/values/instance.h"

namespace berth::placement {

// The number of arguments of write_records.
inline constexpr int kRecordColumns = 6;

// Adds a row to a call of write_records. `before`: the generation of the record in the table; none
// if the record is new.
void AddRecord(SqlCall& call, std::optional<Generation> before, const InstanceRecord& instance);
void AddRecord(SqlCall& call, std::optional<Generation> before, const MigrationRecord& migration);

// The statements that select all records of a kind; a condition of the id may follow.
inline constexpr absl::string_view kSelectInstances =
    "SELECT id, generation, content FROM record WHERE kind = 1 AND";
inline constexpr absl::string_view kSelectMigrations =
    "SELECT id, generation, content, instance FROM record WHERE kind = 2 AND";

// The record in row `row` of `rows`, the result of one of these two statements. If its content
// cannot be read, or has another id, generation or instance than its row, the record has only these
// and kUnreadable.
InstancePtr ReadInstance(const QueryRows& rows, int row);
MigrationPtr ReadMigration(const QueryRows& rows, int row);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STORE_RECORD_ROWS_H_
