// The rows of the table `record`, which has instances, migrations, server groups and aggregates:
// writes them as arguments of the SQL functions write_records and remove_records, and reads them back.
#ifndef BERTH_PLACEMENT_STORE_RECORD_ROWS_H_
#define BERTH_PLACEMENT_STORE_RECORD_ROWS_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "placement/store/database.h"
#include "placement/store/sql_call.h"
#include "placement/values/aggregate.h"
#include "placement/values/instance.h"
#include "placement/values/server_group.h"

namespace berth::placement {

// The numbers of arguments of write_records and of remove_records.
inline constexpr int kRecordColumns = 6;
inline constexpr int kRemovedColumns = 3;

// Adds a row to a call of write_records. `before`: the generation of the record in the table; none
// if the record is new.
void AddRecord(SqlCall& call, std::optional<Generation> before, const InstanceRecord& instance);
void AddRecord(SqlCall& call, std::optional<Generation> before, const MigrationRecord& migration);
void AddRecord(SqlCall& call, std::optional<Generation> before, const ServerGroup& group);
void AddRecord(SqlCall& call, std::optional<Generation> before, const Aggregate& aggregate);

// Adds a row to a call of remove_records.
void RemoveRecord(SqlCall& call, const InstanceRecord& instance);
void RemoveRecord(SqlCall& call, const MigrationRecord& migration);
void RemoveRecord(SqlCall& call, const ServerGroup& group);
void RemoveRecord(SqlCall& call, const Aggregate& aggregate);

// The statements that select all records of a kind; a condition of the id may follow.
inline constexpr absl::string_view kSelectInstances =
    "SELECT id, generation, content, part_of FROM record WHERE kind = 1 AND";
inline constexpr absl::string_view kSelectMigrations =
    "SELECT id, generation, content, part_of FROM record WHERE kind = 2 AND";
inline constexpr absl::string_view kSelectServerGroups =
    "SELECT id, generation, content FROM record WHERE kind = 3 AND";
inline constexpr absl::string_view kSelectAggregates =
    "SELECT id, generation, content FROM record WHERE kind = 4 AND";

// The record in row `row` of `rows`, the result of one of these statements. If its content cannot be
// read, or says otherwise than the other columns of the row, the record has only what these say, and
// kUnreadable as its state, status or name. An unreadable group has no project, and the policy
// kSoftAffinity, which forbids nothing; an unreadable aggregate has no name.
InstancePtr ReadInstance(const QueryRows& rows, int row);
MigrationPtr ReadMigration(const QueryRows& rows, int row);
ServerGroupPtr ReadServerGroup(const QueryRows& rows, int row);
AggregatePtr ReadAggregate(const QueryRows& rows, int row);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STORE_RECORD_ROWS_H_
