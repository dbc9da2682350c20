// Codec: turns the commands of a batch, and kept answers, into bytes and back.
//
// The bytes are messages of log.proto, the payload of a log row, and of answer.proto, the answer in
// the table `request`. Equal values give equal bytes. Decoding fails with kDataLoss if the bytes
// are not such a message, or if they contain a kind of change that this release does not know. Pure
// functions.
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

// One command of a batch, as a log row contains it.
struct LogCommand {
  std::string actor;
  std::string request_id;
  std::shared_ptr<const Changes> changes;
  std::string reason;  // log.proto says which commands have one; empty: none was given
  // Null: an empty scope.
  std::shared_ptr<const Scope> scope = nullptr;
  std::shared_ptr<const std::string> method = nullptr;  // as in Command
};

std::string EncodeBatch(const std::vector<LogCommand>& commands);
absl::StatusOr<std::vector<LogCommand>> DecodeBatch(absl::string_view payload);

// REQUIRES: the decision's status is OK.
std::string EncodeAnswer(const Decision& decision);
// The decision whose encoding is `answer`, marked as replayed.
absl::StatusOr<Decision> DecodeAnswer(absl::string_view answer);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LOG_CODEC_H_
