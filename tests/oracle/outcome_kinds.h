// Outcome kinds: what a recorded HTTP answer is among our refusals: the table of section 9.
#ifndef BERTH_TESTS_ORACLE_OUTCOME_KINDS_H_
#define BERTH_TESTS_ORACLE_OUTCOME_KINDS_H_

#include <string>

#include "absl/status/status.h"

namespace berth::oracle {

// Whether `ours` is of the kind that HTTP `status` with `code` stands for in operation `op`.
bool IsSameKind(const std::string& op, int status, const std::string& code,
                const absl::Status& ours);

}  // namespace berth::oracle

#endif  // BERTH_TESTS_ORACLE_OUTCOME_KINDS_H_
