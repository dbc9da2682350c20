// What the ledger keeps as bytes: the payload of a log row and kept answers (log.proto).
//
// Equal values give equal bytes. Decoding fails with kDataLoss for bytes that are not a message, or
// that hold a kind of change which this release does not know.
#ifndef BERTH_PLACEMENT_LOG_CODEC_H_
#define BERTH_PLACEMENT_LOG_CODEC_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "placement/commands/decision.h"
#include "placement/log/scope.h"
#include "placement/values/change.h"

namespace berth::placement {

// One command of a batch, as the log tells it.
struct LogCommand {
  std::string actor;
  std::string request_id;
  std::shared_ptr<const Changes> changes;
  std::string reason;  // in the author's words; empty: not said
  // Null: an empty one.
  std::shared_ptr<const Scope> scope = nullptr;
};

std::string EncodeBatch(const std::vector<LogCommand>& commands);
absl::StatusOr<std::vector<LogCommand>> DecodeBatch(absl::string_view payload);

// REQUIRES: the decision's status is OK.
std::string EncodeAnswer(const Decision& decision);
// The decision, marked as replayed.
absl::StatusOr<Decision> DecodeAnswer(absl::string_view answer);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LOG_CODEC_H_
