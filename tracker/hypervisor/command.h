// Runs a program and reads its output.
//
// Thread-safe.
#ifndef BERTH_TRACKER_HYPERVISOR_COMMAND_H_
#define BERTH_TRACKER_HYPERVISOR_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace berth::tracker {

// Runs the program arguments[0] without a shell and in the C locale; PATH is searched for the
// program. Returns the program's standard output.
//
// NotFound if the program does not exist. DeadlineExceeded if the program runs longer than
// `timeout`; it is killed then. Internal if the program fails or prints more than a megabyte.
absl::StatusOr<std::string> RunCommand(const std::vector<std::string>& arguments,
                                       absl::Duration timeout);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_HYPERVISOR_COMMAND_H_
