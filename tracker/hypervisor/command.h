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

// Runs the program arguments[0], which is looked up in PATH, without a shell and in the C locale.
// Returns its standard output.
//
// NotFound if the program does not exist; DeadlineExceeded if it runs longer than `timeout`, after
// which it is killed; Internal if it fails or prints more than a megabyte.
absl::StatusOr<std::string> RunCommand(const std::vector<std::string>& arguments,
                                       absl::Duration timeout);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_HYPERVISOR_COMMAND_H_
