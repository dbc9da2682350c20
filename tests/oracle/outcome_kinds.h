// Outcome kinds: a table of recorded HTTP answers and the refusals of Berth that match them.
#ifndef BERTH_TESTS_ORACLE_OUTCOME_KINDS_H_
#define BERTH_TESTS_ORACLE_OUTCOME_KINDS_H_

#include <string>

#include "absl/status/status.h"

namespace berth::oracle {

// Whether `ours` matches HTTP `status` with `code` in operation `op`.
bool IsSameKind(const std::string& op, int status, const std::string& code,
                const absl::Status& ours);

}  // namespace berth::oracle

#endif  // BERTH_TESTS_ORACLE_OUTCOME_KINDS_H_
