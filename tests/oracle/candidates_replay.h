// CandidatesReplay: builds a recorded world on a subject, asks the recorded queries, and removes
// the world.
//
// Each answer must be the recorded set. If a rule of tests/rules/ decides differently from the
// recorded placement, the answer must be what trying everything gives, and the report names the
// rule.
#ifndef BERTH_TESTS_ORACLE_CANDIDATES_REPLAY_H_
#define BERTH_TESTS_ORACLE_CANDIDATES_REPLAY_H_

#include "tests/oracle/json_input.h"
#include "tests/oracle/report.h"
#include "tests/oracle/subject.h"

namespace berth::oracle {

// `world` is a line of a recording with `setup` and `queries`. REQUIRES: `subject` holds no
// provider. It holds none afterwards.
Report ReplayCandidates(Subject& subject, const Json& world);

}  // namespace berth::oracle

#endif  // BERTH_TESTS_ORACLE_CANDIDATES_REPLAY_H_
