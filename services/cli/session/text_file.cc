#include "services/cli/session/text_file.h"

#include <fstream>
#include <iostream>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace berth::cli {

absl::StatusOr<std::string> ReadText(const std::string& path) {
  using Bytes = std::istreambuf_iterator<char>;
  if (path == "-") return std::string(Bytes(std::cin), Bytes());
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat("the file '", path, "' cannot be read"));
  return std::string(Bytes(file), Bytes());
}

}  // namespace berth::cli
