// Record wire: the calls about records of instances and migrations, and their answers. Pure.
//
// The state of a record is a number. It is written into several fields, so that a record that mixes
// two writes is found.
#ifndef BERTH_TESTS_HISTORY_RECORD_WIRE_H_
#define BERTH_TESTS_HISTORY_RECORD_WIRE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "berth/placement/v1/record.pb.h"
#include "google/protobuf/message.h"
#include "tests/history/history.h"
#include "tests/history/wire.h"

namespace berth::history {

// The name of a host of a history.
std::string HostName(uint16_t host);
// The number for the status of a migration or the state of an instance; none: it is not of a history.
std::optional<int32_t> StatusOf(absl::string_view words);

// The fields of a record as somebody read them. Uuids are text; empty: none.
struct InstanceFields {
  absl::string_view host, node, state;
  int64_t vcpus = 0;
  int64_t fault = 0;  // the code of the last failure
};
struct MigrationFields {
  uint64_t number = 0;    // by its uuid
  uint64_t instance = 0;  // by the uuid of its instance
  int64_t type = 0;
  absl::string_view status, source, source_node, destination, destination_node;
};
// The rows of a record. The amount is -1 if the fields do not belong together, or if a host or a
// state is not of a history.
std::vector<Row> RowsOf(const InstanceFields& fields);
std::vector<Row> RowsOf(const MigrationFields& fields);
std::vector<Row> RowsOf(const placement::v1::Instance& instance);
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
