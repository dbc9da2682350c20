// Runs another program and takes what it prints.
#ifndef BERTH_TRACKER_HYPERVISOR_COMMAND_H_
#define BERTH_TRACKER_HYPERVISOR_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace berth::tracker {

// The standard output of `arguments`, found on the PATH, run without a shell and in the C locale.
//
// NotFound when there is no such program, DeadlineExceeded when it runs longer than `timeout` (it is
// killed), Internal when it fails or prints more than a megabyte.
absl::StatusOr<std::string> RunCommand(const std::vector<std::string>& arguments,
                                       absl::Duration timeout);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_HYPERVISOR_COMMAND_H_
