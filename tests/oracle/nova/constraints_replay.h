// Replays recordings of which NUMA topology Nova reads from a flavor and an image.
#ifndef BERTH_TESTS_ORACLE_NOVA_CONSTRAINTS_REPLAY_H_
#define BERTH_TESTS_ORACLE_NOVA_CONSTRAINTS_REPLAY_H_

#include <string>

#include "nlohmann/json.hpp"
#include "tests/oracle/report.h"

namespace berth::oracle::nova {

// A line of this format has the key `image_properties`.
Report ReplayConstraints(const nlohmann::json& line, const std::string& where);

}  // namespace berth::oracle::nova

#endif  // BERTH_TESTS_ORACLE_NOVA_CONSTRAINTS_REPLAY_H_
