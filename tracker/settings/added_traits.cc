#include "tracker/settings/added_traits.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tracker/ground/status_macros.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {
namespace {

absl::Status TraitFileFailed(absl::string_view what, const std::string& path) {
  return absl::FailedPreconditionError(
      absl::StrCat("added traits: cannot ", what, " ", path, ": ", std::strerror(errno)));
}

absl::StatusOr<AddedTraits> ReadTraitFile(const std::string& path) {
  errno = 0;
  std::ifstream file(path);
  if (!file && errno == ENOENT) return AddedTraits();
  if (!file) return TraitFileFailed("read", path);
  std::ostringstream text;
  text << file.rdbuf();
  const nlohmann::json json = nlohmann::json::parse(text.str(), nullptr, false);
  AddedTraits traits;
  bool good = json.is_object();
  for (const auto& item : json.items()) {
    const std::optional<Uuid> provider = ParseName(item.key());
    if (!good || !provider || !item.value().is_array()) {
      good = false;
      break;
    }
    for (const nlohmann::json& trait : item.value()) {
      good = good && trait.is_string();
      if (trait.is_string()) traits[*provider].insert(trait.get<std::string>());
    }
  }
  if (good) return traits;
  return absl::FailedPreconditionError(
      absl::StrCat("added traits: ", path,
                   " is damaged: remove it; then traits that provider configuration files added "
                   "earlier stay until somebody removes them"));
}

// Writes another file and renames it, so that `path` is never half written.
absl::Status WriteTraitFile(const std::string& path, const AddedTraits& traits) {
  const std::string temporary = path + ".new";
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [provider, names] : traits) json[provider.ToString()] = names;
  const std::string text = json.dump() + "\n";
  const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return TraitFileFailed("write", temporary);
  const ssize_t written = write(file, text.data(), text.size());
  const bool whole = written == static_cast<ssize_t>(text.size()) && fsync(file) == 0;
  const int error = errno;
  close(file);
  errno = error;
  if (!whole) return TraitFileFailed("write", temporary);
  if (std::rename(temporary.c_str(), path.c_str()) != 0) return TraitFileFailed("write", path);
  return absl::OkStatus();
}

}  // namespace

absl::Status AddedTraitsFile::Open(const std::string& directory) {
  path_ = directory + "/added_traits.json";
  BERTH_ASSIGN_OR_RETURN(written_, ReadTraitFile(path_));
  MutexLock lock(&mutex_);
  traits_ = written_;
  return absl::OkStatus();
}

absl::Status AddedTraitsFile::Remember(const AddedTraits& traits) {
  AddedTraits all;
  {
    MutexLock lock(&mutex_);
    for (const auto& [provider, names] : traits) {
      traits_[provider].insert(names.begin(), names.end());
    }
    all = traits_;
  }
  if (all == written_ || path_.empty()) return absl::OkStatus();
  BERTH_RETURN_IF_ERROR(WriteTraitFile(path_, all));
  written_ = std::move(all);
  return absl::OkStatus();
}

void AddedTraitsFile::Forget(const Uuid& provider_uuid, const std::string& trait) {
  MutexLock lock(&mutex_);
  const auto provider = traits_.find(provider_uuid);
  if (provider == traits_.end()) return;
  provider->second.erase(trait);
  if (provider->second.empty()) traits_.erase(provider);
}

AddedTraits AddedTraitsFile::traits() const {
  MutexLock lock(&mutex_);
  return traits_;
}

}  // namespace berth::tracker
