#include "tracker/settings/provider_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tracker/ground/status_macros.h"
#include "tracker/ground/uuid.h"
#include "tracker/settings/provider_yaml.h"

namespace berth::tracker {
namespace {

absl::Status Unreadable(const std::string& path, int error) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be read: ", std::strerror(error)));
}

// Returns the paths of the files `*.yaml`, sorted by name. Like a shell, skips names that begin
// with a dot.
absl::StatusOr<std::vector<std::string>> FindYamlFiles(const std::string& directory) {
  std::vector<std::string> paths;
  std::error_code failure;
  std::filesystem::directory_iterator at(directory, failure);
  if (failure.value() == ENOENT) return paths;
  for (; !failure && at != std::filesystem::directory_iterator(); at.increment(failure)) {
    const std::string name = at->path().filename().string();
    if (absl::EndsWith(name, ".yaml") && !absl::StartsWith(name, ".")) {
      paths.push_back(at->path().string());
    }
  }
  if (failure) return Unreadable(directory, failure.value());
  std::sort(paths.begin(), paths.end());
  return paths;
}

absl::StatusOr<std::string> ReadYamlFile(const std::string& path) {
  std::error_code failure;
  if (std::filesystem::is_directory(path, failure)) return Unreadable(path, EISDIR);
  errno = 0;
  std::ifstream file(path);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  // An empty file sets the fail bit of `text`, so only `file` tells whether reading has failed.
  if (!file) return Unreadable(path, errno != 0 ? errno : EIO);
  return text.str();
}

// Checks that no two entries name a provider in the same way.
absl::Status CheckNamedOnce(const std::vector<ProviderEntry>& entries) {
  std::map<std::pair<Uuid, std::string>, const ProviderEntry*> seen;
  for (const ProviderEntry& entry : entries) {
    const auto [known, added] = seen.try_emplace({entry.uuid, entry.name}, &entry);
    if (added) continue;
    const std::string what = entry.every_root()  ? "uuid $COMPUTE_NODE"
                             : IsNil(entry.uuid) ? absl::StrCat("name ", entry.name)
                                                 : absl::StrCat("uuid ", entry.uuid.ToString());
    return absl::InvalidArgumentError(absl::StrCat(entry.source, ": identification: the ", what,
                                                   " has an entry already, at ",
                                                   known->second->source));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ProviderFiles> ReadProviderFiles(const std::string& directory) {
  ProviderFiles files;
  BERTH_ASSIGN_OR_RETURN(const std::vector<std::string> paths, FindYamlFiles(directory));
  if (paths.empty()) {
    files.notes.push_back(
        absl::StrCat(directory,
                     " has no provider configuration files (*.yaml); if it should have some, check "
                     "that the tracker may read the directory"));
  }
  for (const std::string& path : paths) {
    BERTH_ASSIGN_OR_RETURN(const std::string text, ReadYamlFile(path));
    BERTH_RETURN_IF_ERROR(ParseProviderFile(path, text, &files));
  }
  BERTH_RETURN_IF_ERROR(CheckNamedOnce(files.entries));
  std::erase_if(files.entries, [&files](const ProviderEntry& entry) {
    const bool empty = entry.inventories.empty() && entry.traits.empty();
    if (empty) {
      files.warnings.push_back(absl::StrCat(
          entry.source, ": the entry adds neither inventories nor traits, so it has no effect"));
    }
    return empty;
  });
  return files;
}

}  // namespace berth::tracker
