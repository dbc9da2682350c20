// Replays one life of a node's PCI devices, as Nova recorded it, against tracker/devices.
#ifndef BERTH_TESTS_ORACLE_NOVA_PCI_REPLAY_H_
#define BERTH_TESTS_ORACLE_NOVA_PCI_REPLAY_H_

#include <string>

#include "nlohmann/json.hpp"
#include "tests/oracle/report.h"

namespace berth::oracle::nova {

// Whether `line` is a life of PCI devices.
bool IsPciLife(const nlohmann::json& line);

// The life passes if everything that the recording says comes out the same, step by step. Its first
// difference that no rule decides is its failure; the rest of the life is not replayed.
Report ReplayPciLife(const nlohmann::json& line, const std::string& where);

}  // namespace berth::oracle::nova

#endif  // BERTH_TESTS_ORACLE_NOVA_PCI_REPLAY_H_
