// The file format of an exported ledger: the first line holds the revision and the number of
// entities; each further line holds one entity.
//
//   {"revision":{"epoch":"1","number":"48231"},"totalCount":"2"}
//   {"trait":{"name":"CUSTOM_GOLD","standard":false}}
//   {"provider":{"uuid":"...","name":"cn1",...}}
//
// The first line may be missing. Empty lines are ignored, but counted in line numbers. Pure.
#ifndef BERTH_SERVICES_CLI_SESSION_TRANSFER_FILE_H_
#define BERTH_SERVICES_CLI_SESSION_TRANSFER_FILE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/placement/v1/ledger.pb.h"

namespace berth::cli {

// Returns the first line of the file. `answer` is the first message of an export; its entities are
// left out.
std::string TransferHeader(const placement::v1::ExportLedgerResponse& answer);

// The content of a file, as the messages of an import.
struct Transfer {
  std::vector<placement::v1::ImportLedgerRequest> messages;  // at least one
  std::vector<int64_t> lines;  // the line number of each record, from 1
};

// Parses `text`. Calls `read`, which may be empty, with the number of bytes parsed so far.
// kInvalidArgument if a line is wrong, or if the file was cut off: it then has fewer entities than
// its first line announces. The message names `name` and the wrong line.
absl::StatusOr<Transfer> ReadTransfer(absl::string_view name, absl::string_view text,
                                      const std::function<void(int64_t)>& read);

// Returns `status` with line numbers: each item that has a record number also gets the line number
// of this record, as `line`.
absl::Status AtLines(const absl::Status& status, absl::string_view name,
                     const std::vector<int64_t>& lines);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_SESSION_TRANSFER_FILE_H_
