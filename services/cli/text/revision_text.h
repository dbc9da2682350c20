// Revisions as people type them and read them. Pure.
#ifndef BERTH_SERVICES_CLI_TEXT_REVISION_TEXT_H_
#define BERTH_SERVICES_CLI_TEXT_REVISION_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "berth/placement/v1/revision.pb.h"

namespace berth::cli {

// `NUMBER` of the first epoch, or `EPOCH:NUMBER`. kInvalidArgument for anything else.
absl::StatusOr<placement::v1::Revision> ParseRevision(const std::string& text);
// "48231 of epoch 1".
std::string RevisionText(const placement::v1::Revision& revision);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_TEXT_REVISION_TEXT_H_
