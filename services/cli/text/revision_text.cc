#include "services/cli/text/revision_text.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace berth::cli {

namespace pb = ::berth::placement::v1;

absl::StatusOr<pb::Revision> ParseRevision(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  int64_t epoch = 1, number = 0;
  const bool reads = parts.size() == 1 ? absl::SimpleAtoi(parts[0], &number)
                                       : parts.size() == 2 && absl::SimpleAtoi(parts[0], &epoch) &&
                                             absl::SimpleAtoi(parts[1], &number);
  if (!reads || epoch < 0 || number < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is not a revision: write NUMBER or EPOCH:NUMBER"));
  }
  pb::Revision revision;
  revision.set_epoch(epoch);
  revision.set_number(number);
  return revision;
}

std::string RevisionText(const pb::Revision& revision) {
  return absl::StrCat(revision.number(), " of epoch ", revision.epoch());
}

}  // namespace berth::cli
