// Replay: whole recordings against a subject, line by line.
#ifndef BERTH_TESTS_ORACLE_REPLAY_H_
#define BERTH_TESTS_ORACLE_REPLAY_H_

#include <string>

#include "tests/oracle/report.h"
#include "tests/oracle/subject.h"

namespace berth::oracle {

// Replays every line of the file at `path`; what a line holds says what it is. A file that cannot
// be read, or holds nothing, is a failure.
Report ReplayFile(Subject& subject, const std::string& path);

}  // namespace berth::oracle

#endif  // BERTH_TESTS_ORACLE_REPLAY_H_
