#include "placement/store/position_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace berth::placement {
namespace {

// The content of the file is one line: "berth-position 1 EPOCH NUMBER BATCH COMMANDS NEXT_CLASS
// NEXT_TRAIT end". The last word shows that the line is complete.
constexpr char kFirst[] = "berth-position";
constexpr char kVersion[] = "1";
constexpr char kLast[] = "end";

std::string TextOf(const Position& position) {
  return absl::StrCat(kFirst, " ", kVersion, " ", position.revision.epoch, " ",
                      position.revision.number, " ", position.batch.ToString(), " ",
                      position.command_count, " ", position.next_class_id, " ",
                      position.next_trait_id, " ", kLast, "\n");
}

std::optional<Position> PositionIn(absl::string_view text) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(absl::StripAsciiWhitespace(text), ' ');
  if (words.size() != 9 || words[0] != kFirst || words[1] != kVersion || words[8] != kLast) {
    return std::nullopt;
  }
  Position position;
  const std::optional<BatchId> batch = BatchId::Parse(words[4]);
  if (!batch || !absl::SimpleAtoi(words[2], &position.revision.epoch) ||
      !absl::SimpleAtoi(words[3], &position.revision.number) ||
      !absl::SimpleAtoi(words[5], &position.command_count) ||
      !absl::SimpleAtoi(words[6], &position.next_class_id) ||
      !absl::SimpleAtoi(words[7], &position.next_trait_id)) {
    return std::nullopt;
  }
  position.batch = *batch;
  return position;
}

absl::Status Failed(absl::string_view what, const std::string& path) {
  return absl::UnavailableError(absl::StrCat("cannot ", what, " ", path, ": ", strerror(errno)));
}

}  // namespace

absl::StatusOr<std::optional<Position>> PositionFile::Read() const {
  struct stat found;
  if (path_.empty() || (stat(path_.c_str(), &found) != 0 && errno == ENOENT)) {
    return std::optional<Position>();
  }
  std::ifstream file(path_);
  std::string line;
  std::getline(file, line);
  std::optional<Position> position = PositionIn(line);
  if (position) return position;
  return absl::DataLossError(
      absl::StrCat(path_, " is damaged: if the database was not restored, remove the file"));
}

absl::Status PositionFile::Write(const Position& position) {
  const MutexLock lock(&mutex_);
  if (path_.empty() || position.batch == written_) return absl::OkStatus();
  const std::string unfinished = path_ + ".new";
  std::ofstream file(unfinished, std::ios::trunc);
  file << TextOf(position);
  file.close();
  if (!file) return Failed("write", unfinished);
  if (std::rename(unfinished.c_str(), path_.c_str()) != 0) return Failed("replace", path_);
  written_ = position.batch;
  return absl::OkStatus();
}

}  // namespace berth::placement
