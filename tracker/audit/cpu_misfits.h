// Finds the instances of a node that do not suit the CPU sets of its configuration (T-35).
//
// A pure function.
#ifndef BERTH_TRACKER_AUDIT_CPU_MISFITS_H_
#define BERTH_TRACKER_AUDIT_CPU_MISFITS_H_

#include <string>
#include <vector>

#include "tracker/account/account.h"
#include "tracker/settings/configuration.h"

namespace berth::tracker {

// Returns one sentence per instance, by uuid. An instance does not suit the sets if the node is
// configured without the kind of CPUs that the instance has: shared CPUs, or CPUs of its own. If no
// set or vcpu_pin_set is configured, guests may have any CPU as either kind.
std::vector<std::string> FindCpuMisfits(const NodeAccount& account,
                                        const NodeConfiguration& configuration);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_CPU_MISFITS_H_
