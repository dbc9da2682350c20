// Replays recordings of how Nova placed the cells of guests, and counted what guests use.
#ifndef BERTH_TESTS_ORACLE_NOVA_FIT_REPLAY_H_
#define BERTH_TESTS_ORACLE_NOVA_FIT_REPLAY_H_

#include <string>

#include "nlohmann/json.hpp"
#include "tests/oracle/report.h"

namespace berth::oracle::nova {

// A line of this format has a `host` with `cells`, and an `instance`.
bool IsFit(const nlohmann::json& line);

Report ReplayFit(const nlohmann::json& line, const std::string& where);

}  // namespace berth::oracle::nova

#endif  // BERTH_TESTS_ORACLE_NOVA_FIT_REPLAY_H_
