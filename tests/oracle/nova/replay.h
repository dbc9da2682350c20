// Replays recorded answers of OpenStack Nova against the tracker's own code: guest topology, fit,
// devices, accounts, claims.
//
// Each function replays one line of a recording and reports what came out otherwise. A recording in
// another format ends the process with an exception of nlohmann. Pure.
#ifndef BERTH_TESTS_ORACLE_NOVA_REPLAY_H_
#define BERTH_TESTS_ORACLE_NOVA_REPLAY_H_

#include <string>

#include "nlohmann/json.hpp"
#include "tests/oracle/report.h"

namespace berth::oracle::nova {

using Json = nlohmann::json;

// Replays all lines of the file. Each line's keys say what it is.
Report ReplayFile(const std::string& path);

}  // namespace berth::oracle::nova

#endif  // BERTH_TESTS_ORACLE_NOVA_REPLAY_H_
