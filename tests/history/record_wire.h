// Record wire: the calls about records of instances and migrations, and their answers. Pure.
//
// The state of a record is a number. It is written into several fields, so that a record that mixes
// two writes is found.
#ifndef BERTH_TESTS_HISTORY_RECORD_WIRE_H_
#define BERTH_TESTS_HISTORY_RECORD_WIRE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "berth/placement/v1/record.pb.h"
#include "google/protobuf/message.h"
#include "tests/history/history.h"
#include "tests/history/wire.h"

namespace berth::history {

// The row of a record on `host` in `state`. The amount is -1 if one of them is not of a history.
Row StateRow(absl::string_view host, absl::string_view state);
// The row of a record. The amount is -1 if the fields of the record do not belong together.
Row RowOf(const placement::v1::Instance& instance);
Row RowOf(const placement::v1::Migration& migration);

// The call of `operation`, with `id` as its request id. REQUIRES: IsOfRecords(operation.kind).
Call RecordCall(const ClientLog& log, const Operation& operation, const std::string& id);
// Writes the answer into the record and appends what was listed to `log`. Returns false, and does
// nothing, if `response` does not answer a call about records.
bool TakeRecords(const google::protobuf::Message& response, ClientLog* log, Operation* operation);

}  // namespace berth::history

#endif  // BERTH_TESTS_HISTORY_RECORD_WIRE_H_
