// Record wire: the calls about records of instances and migrations, and their answers. Pure.
//
// The state of a record is a number. It is written into several fields, so that a record that mixes
// two writes is found.
#ifndef BERTH_TESTS_HISTORY_RECORD_WIRE_H_
#define BERTH_TESTS_HISTORY_RECORD_WIRE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "berth/placement/v1/record.pb.h"
#include "google/protobuf/message.h"
#include "tests/history/history.h"
#include "tests/history/wire.h"

namespace berth::history {

// The rows of an instance. The amount is -1 if the fields do not belong together, or if the host is
// not of a history. `fault`: the code of the last failure.
std::vector<Row> InstanceRows(absl::string_view host, absl::string_view state, int64_t vcpus,
                              int64_t fault);
// The rows of a migration; the same for the amount.
std::vector<Row> MigrationRows(absl::string_view source, absl::string_view status,
                               absl::string_view destination);
std::vector<Row> RowsOf(const placement::v1::Instance& instance);
// The amount is -1, too, if the migration is of another instance than its number says.
std::vector<Row> RowsOf(const placement::v1::Migration& migration);

// The call of `operation`, with `id` as its request id. REQUIRES: IsOfRecords(operation.kind).
Call RecordCall(const ClientLog& log, const Operation& operation, const std::string& id);
// Writes the answer into the record and appends what was listed to `log`. Returns false, and does
// nothing, if `response` does not answer a call about records.
bool TakeRecords(const google::protobuf::Message& response, ClientLog* log, Operation* operation);

// The token of the page after the list in `response`; empty: there is none.
std::string PageTokenOf(const google::protobuf::Message& response);
// Makes the call for a list ask for the page of `token`.
void SetPageToken(const std::string& token, google::protobuf::Message* request);

}  // namespace berth::history

#endif  // BERTH_TESTS_HISTORY_RECORD_WIRE_H_
