// OperationsReplay: repeats recorded operations one after the other, and compares each outcome and
// the final state.
//
// A recorded success must succeed, and a recorded error must be refused with the same kind of error
// (outcome_kinds.h). The guard `current` becomes the subject's own present generation.
#ifndef BERTH_TESTS_ORACLE_OPERATIONS_REPLAY_H_
#define BERTH_TESTS_ORACLE_OPERATIONS_REPLAY_H_

#include "tests/oracle/json_input.h"
#include "tests/oracle/report.h"
#include "tests/oracle/subject.h"

namespace berth::oracle {

// `line` is a line of a recording with `steps` and `state`. REQUIRES: `subject` holds none of its
// providers and consumers. It holds none of them afterwards.
Report ReplayOperations(Subject& subject, const Json& line);

}  // namespace berth::oracle

#endif  // BERTH_TESTS_ORACLE_OPERATIONS_REPLAY_H_
