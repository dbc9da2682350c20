// CandidatesReplay: one recorded world, built on a subject, asked each of its queries, and taken
// away again.
//
// An answer must be the recorded one, as a set. Where a rule of the specification decides otherwise
// the answer must be what trying everything gives, and the report names the rule (section 10.1).
#ifndef BERTH_TESTS_ORACLE_CANDIDATES_REPLAY_H_
#define BERTH_TESTS_ORACLE_CANDIDATES_REPLAY_H_

#include "tests/oracle/json_input.h"
#include "tests/oracle/report.h"
#include "tests/oracle/subject.h"

namespace berth::oracle {

// `world` is a line of a recording with `setup` and `queries`. REQUIRES: `subject` holds no
// provider; so it does afterwards.
Report ReplayCandidates(Subject& subject, const Json& world);

}  // namespace berth::oracle

#endif  // BERTH_TESTS_ORACLE_CANDIDATES_REPLAY_H_
