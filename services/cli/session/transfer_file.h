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

// The first line of the file, made from `answer`, the first message of an export, without its
// entities.
std::string TransferHeader(const placement::v1::ExportLedgerResponse& answer);

// The content of a file, as the messages of an import.
struct Transfer {
  std::vector<placement::v1::ImportLedgerRequest> messages;  // at least one
  std::vector<int64_t> lines;  // the line number of each record, from 1
};

// Parses `text`. `read`, which may be empty, is called with the number of bytes parsed so far.
// kInvalidArgument, which names `name` and the line at fault; also if there are fewer entities than
// the first line announces, because the file was cut off.
absl::StatusOr<Transfer> ReadTransfer(absl::string_view name, absl::string_view text,
                                      const std::function<void(int64_t)>& read);

// `status`, in whose items each record number has its line number added as `line`.
absl::Status AtLines(const absl::Status& status, absl::string_view name,
                     const std::vector<int64_t>& lines);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_SESSION_TRANSFER_FILE_H_
