// The file of a whole ledger: one line says where and when it was, then one for each entity.
//
//   {"revision":{"epoch":"1","number":"48231"},"totalCount":"2"}
//   {"trait":{"name":"CUSTOM_GOLD","standard":false}}
//   {"provider":{"uuid":"...","name":"cn1",...}}
//
// The first line may be left out. Empty lines count as lines and nothing else. Pure.
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

// The line of `answer`, which is the first of an export, without its entities.
std::string TransferHeader(const placement::v1::ExportLedgerResponse& answer);

// What a file holds, as the messages of an import.
struct Transfer {
  std::vector<placement::v1::ImportLedgerRequest> messages;  // at least one
  std::vector<int64_t> lines;                                // where each record stands, from 1
};

// Reads `text`; `read` (may be empty) hears of how many bytes it is through. kInvalidArgument naming
// `name` and the line at fault; where there are not as many entities as the first line says, it was
// cut off.
absl::StatusOr<Transfer> ReadTransfer(absl::string_view name, absl::string_view text,
                                      const std::function<void(int64_t)>& read);

// `status` with the lines of the records that it names, as the item `line`.
absl::Status AtLines(const absl::Status& status, absl::string_view name,
                     const std::vector<int64_t>& lines);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_SESSION_TRANSFER_FILE_H_
