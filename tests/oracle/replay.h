// Replay: whole recordings against a subject, line by line.
#ifndef BERTH_TESTS_ORACLE_REPLAY_H_
#define BERTH_TESTS_ORACLE_REPLAY_H_

#include <string>

#include "tests/oracle/report.h"
#include "tests/oracle/subject.h"

namespace berth::oracle {

// Replays every line of the file at `path`; the fields of a line tell its kind. A file that is
// empty or cannot be read is a failure.
Report ReplayFile(Subject& subject, const std::string& path);

}  // namespace berth::oracle

#endif  // BERTH_TESTS_ORACLE_REPLAY_H_
