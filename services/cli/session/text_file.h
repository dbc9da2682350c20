// Text that a command reads: a file, or standard input.
#ifndef BERTH_SERVICES_CLI_SESSION_TEXT_FILE_H_
#define BERTH_SERVICES_CLI_SESSION_TEXT_FILE_H_

#include <string>

#include "absl/status/statusor.h"

namespace berth::cli {

// All of the file `path`, or of standard input where it is `-`. kNotFound where it cannot be read.
absl::StatusOr<std::string> ReadText(const std::string& path);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_SESSION_TEXT_FILE_H_
