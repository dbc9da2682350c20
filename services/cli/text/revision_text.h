// Parses and formats revisions. Pure.
#ifndef BERTH_SERVICES_CLI_TEXT_REVISION_TEXT_H_
#define BERTH_SERVICES_CLI_TEXT_REVISION_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "berth/placement/v1/revision.pb.h"

namespace berth::cli {

// Parses `EPOCH:NUMBER`, or `NUMBER` alone, which means a revision of epoch 1. kInvalidArgument for
// any other text.
absl::StatusOr<placement::v1::Revision> ParseRevision(const std::string& text);
// A revision as text, for example "48231 of epoch 1".
std::string RevisionText(const placement::v1::Revision& revision);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_TEXT_REVISION_TEXT_H_
