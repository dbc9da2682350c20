// Pem: files in the form PEM, cut into their blocks.
//
// Functions without state. Errors name the file, the line if one is at fault, and what to do.
#ifndef BERTH_SERVICES_CLIENT_CPP_PEM_H_
#define BERTH_SERVICES_CLIENT_CPP_PEM_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace berth::client {

// One part of a PEM file: from its BEGIN line to its END line.
struct PemBlock {
  std::string label;  // such as CERTIFICATE
  std::string text;
  int line = 0;  // of BEGIN
};

// What may stand outside the blocks of a PEM file.
enum class Between {
  kAnyText,   // for example what `openssl x509 -text` prints
  kComments,  // before the first block any text, and then comments that begin with '#'
};

// kInvalidArgument: "WHAT PATH: WRONG".
absl::Status BadFile(absl::string_view what, absl::string_view path, absl::string_view wrong);

// Reads a file. kInvalidArgument if it is no regular file, is empty, is larger than 1 MiB or cannot
// be read. `what`: how errors call the file.
absl::StatusOr<std::string> ReadPemFile(absl::string_view what, const std::string& path);

// Returns the blocks of `text`, which comes from `path`. kInvalidArgument if one is not complete, or
// if text stands between them that `between` does not allow.
absl::StatusOr<std::vector<PemBlock>> BlocksOf(absl::string_view what, const std::string& path,
                                               const std::string& text, Between between);

}  // namespace berth::client

#endif  // BERTH_SERVICES_CLIENT_CPP_PEM_H_
