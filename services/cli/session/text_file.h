// Reads the text that a command takes from a file or from standard input.
#ifndef BERTH_SERVICES_CLI_SESSION_TEXT_FILE_H_
#define BERTH_SERVICES_CLI_SESSION_TEXT_FILE_H_

#include <string>

#include "absl/status/statusor.h"

namespace berth::cli {

// The whole file `path`, or all of standard input if `path` is `-`. kNotFound if it cannot be read.
absl::StatusOr<std::string> ReadText(const std::string& path);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_SESSION_TEXT_FILE_H_
