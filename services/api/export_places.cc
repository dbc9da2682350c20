#include "services/api/export_places.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/values/refusal.h"

namespace berth::services {

using placement::MutexLock;

namespace {

absl::Status ExportTooSlow() {
  return placement::Refuse(
      absl::StatusCode::kAborted, "WATCHER_TOO_SLOW",
      absl::StrCat("the caller had ", absl::FormatDuration(ExportPlaces::kReadWithin),
                   " to read the export, and all of it had ",
                   absl::FormatDuration(ExportPlaces::kLastsMax),
                   ": begin again, with a faster connection"));
}

}  // namespace

bool ExportPlaces::IsLate(const Export& running, placement::BootTime now) {
  absl::Duration read_for = running.read_for;
  if (running.waits_since) read_for += now - *running.waits_since;
  return read_for > kReadWithin || now - running.begun_at > kLastsMax;
}

int64_t ExportPlaces::Take(const std::string& owner, placement::BootTime now, End end) {
  MutexLock lock(&mutex_);
  const auto of_owner = std::count_if(exports_.begin(), exports_.end(), [&](const auto& running) {
    return running.second.owner == owner;
  });
  if (of_owner >= kOwnerMax || exports_.size() >= kExportsMax) return 0;
  exports_[++tickets_] = Export{owner, now, std::move(end), absl::ZeroDuration(), std::nullopt};
  return tickets_;
}

void ExportPlaces::Await(int64_t ticket, placement::BootTime now, absl::FunctionRef<void()> write) {
  End end;
  {
    MutexLock lock(&mutex_);
    const auto running = exports_.find(ticket);
    if (running == exports_.end()) return;
    if (!IsLate(running->second, now)) {
      running->second.waits_since = now;
      return write();
    }
    end = std::move(running->second.end);
    exports_.erase(running);
  }
  end(ExportTooSlow());
}

bool ExportPlaces::Heard(int64_t ticket, placement::BootTime now) {
  MutexLock lock(&mutex_);
  const auto running = exports_.find(ticket);
  if (running == exports_.end()) return false;
  if (const auto since = std::exchange(running->second.waits_since, std::nullopt)) {
    running->second.read_for += now - *since;
  }
  return true;
}

void ExportPlaces::Leave(int64_t ticket) {
  MutexLock lock(&mutex_);
  exports_.erase(ticket);
}

void ExportPlaces::Tick(placement::BootTime now) {
  std::vector<End> ends;
  {
    MutexLock lock(&mutex_);
    for (auto at = exports_.begin(); at != exports_.end();) {
      const bool is_late = at->second.waits_since && IsLate(at->second, now);
      if (is_late) ends.push_back(std::move(at->second.end));
      at = is_late ? exports_.erase(at) : std::next(at);
    }
  }
  for (const End& end : ends) end(ExportTooSlow());
}

}  // namespace berth::services
