#include "services/client/cpp/pem.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace berth::client {
namespace {

constexpr int64_t kFileBytesMax = 1 << 20;

// A file that is closed at the end of its scope.
struct OpenFile {
  explicit OpenFile(const std::string& path)
      : number(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~OpenFile() {
    if (number >= 0) close(number);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  const int number;
};

// Returns what is wrong with `line` outside a block; empty: nothing.
absl::string_view WrongOutside(absl::string_view line, bool first, Between between) {
  if (absl::StartsWith(line, "-----END ")) return "a block ends here that does not begin";
  if (absl::StartsWith(line, "-----BEGIN ")) return "the line that begins a block is not complete";
  if (first || between == Between::kAnyText || line.empty() || line.front() == '#') return "";
  return "this text is no part of a certificate; remove the line, or let it begin with '#'";
}

}  // namespace

absl::Status BadFile(absl::string_view what, absl::string_view path, absl::string_view wrong) {
  return absl::InvalidArgumentError(absl::StrCat(what, " ", path, ": ", wrong));
}

absl::StatusOr<std::string> ReadPemFile(absl::string_view what, const std::string& path) {
  const OpenFile file(path);
  struct stat facts = {};
  if (file.number < 0 || fstat(file.number, &facts) != 0) {
    return BadFile(what, path,
                   absl::StrCat("cannot be read: ", std::strerror(errno),
                                "; the file must exist, and the user of this process must be "
                                "allowed to read it"));
  }
  if (S_ISDIR(facts.st_mode)) return BadFile(what, path, "is a directory; name the file in it");
  if (!S_ISREG(facts.st_mode)) return BadFile(what, path, "is not a regular file");
  std::string text;
  std::vector<char> piece(64 << 10);
  ssize_t got = 0;
  while ((got = read(file.number, piece.data(), piece.size())) > 0) {
    text.append(piece.data(), static_cast<size_t>(got));
    if (text.size() > kFileBytesMax) return BadFile(what, path, "is larger than 1 MiB");
  }
  if (got < 0) return BadFile(what, path, absl::StrCat("cannot be read: ", std::strerror(errno)));
  if (text.empty()) return BadFile(what, path, "is empty");
  return text;
}

absl::StatusOr<std::vector<PemBlock>> BlocksOf(absl::string_view what, const std::string& path,
                                               const std::string& text, Between between) {
  std::vector<PemBlock> blocks;
  bool inside = false;
  int number = 0;
  const auto wrong = [&](int line, absl::string_view words) {
    return BadFile(what, absl::StrCat(path, ":", line),
                   absl::StrCat(words, "; is the file complete?"));
  };
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripTrailingAsciiWhitespace(line);
    absl::string_view label = line;
    const bool begins =
        absl::ConsumePrefix(&label, "-----BEGIN ") && absl::ConsumeSuffix(&label, "-----");
    if (begins && inside) break;
    if (begins) blocks.push_back({std::string(label), "", number});
    if (!begins && !inside) {
      const absl::string_view words = WrongOutside(line, blocks.empty(), between);
      if (!words.empty()) return wrong(number, words);
      continue;
    }
    absl::StrAppend(&blocks.back().text, line, "\n");
    inside = !absl::StartsWith(line, "-----END ");
  }
  if (!inside) return blocks;
  return wrong(blocks.back().line, "the block that begins here does not end");
}

}  // namespace berth::client
