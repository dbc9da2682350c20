// The rows of nodes: writes them as arguments of an SQL function, and reads them back.
#ifndef BERTH_PLACEMENT_STORE_NODE_ROWS_H_
#define BERTH_PLACEMENT_STORE_NODE_ROWS_H_

#include <memory>

#include "absl/strings/string_view.h"
#include "placement/store/database.h"
#include "placement/store/sql_call.h"
#include "placement/values/fleet.h"

namespace berth::placement {

// The number of arguments of the SQL function write_nodes.
inline constexpr int kNodeColumns = 25;

// Adds a row to a call of write_nodes. `keeps_facts`: the table has the node's facts already. They
// are long: PostgreSQL keeps them apart from the row, and does not touch them unless they are
// written.
void AddNode(SqlCall& call, const NodeRecord& node, bool keeps_facts);

// The statement that selects all nodes, without WHERE. The first column is the id.
inline constexpr absl::string_view kSelectNodes =
    "SELECT id, name, host, retired, incarnation, report_sequence, digest, reported_provider, "
    "reported_generation, coalesce(facts, ''), account, micros_of(created_at), "
    "micros_of(updated_at), total_vcpus, total_pcpus, total_memory_mib, total_disk_gib, "
    "used_vcpus, used_pcpus, used_memory_mib, used_disk_gib, disk_available_least_gib, "
    "instance_count, task_count, storage_id FROM node WHERE";

// The record in row `row` of `rows`, the result of this statement. Null if its lists of reported
// providers and generations have different lengths.
std::shared_ptr<NodeRecord> ReadNode(const QueryRows& rows, int row);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STORE_NODE_ROWS_H_
