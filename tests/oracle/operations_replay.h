// OperationsReplay: one recorded life: operations one after the other, each with its outcome, and
// what stood in the end.
//
// Success must answer success, and an error an error of its kind (section 9 of the specification).
// A guard is sent as what it was worth: the subject's own present generation for `current`.
#ifndef BERTH_TESTS_ORACLE_OPERATIONS_REPLAY_H_
#define BERTH_TESTS_ORACLE_OPERATIONS_REPLAY_H_

#include "tests/oracle/json_input.h"
#include "tests/oracle/report.h"
#include "tests/oracle/subject.h"

namespace berth::oracle {

// `line` is a line of a recording with `steps` and `state`. REQUIRES: `subject` holds none of its
// providers and consumers; nor does it afterwards.
Report ReplayOperations(Subject& subject, const Json& line);

}  // namespace berth::oracle

#endif  // BERTH_TESTS_ORACLE_OPERATIONS_REPLAY_H_
