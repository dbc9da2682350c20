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
  return placement::Refuse(absl::StatusCode::kAborted, "WATCHER_TOO_SLOW",
                           absl::StrCat("the export was not read within ",
                                        absl::FormatDuration(ExportPlaces::kReadWithin),
                                        ": begin again, with a faster connection"));
}

}  // namespace

int64_t ExportPlaces::Take(const std::string& owner, placement::BootTime now, End end) {
  MutexLock lock(&mutex_);
  const auto of_owner = std::count_if(exports_.begin(), exports_.end(), [&](const auto& running) {
    return running.second.owner == owner;
  });
  if (of_owner >= kOwnerMax || exports_.size() >= kExportsMax) return 0;
  exports_[++tickets_] = Export{owner, now, std::move(end)};
  return tickets_;
}

void ExportPlaces::Await(int64_t ticket, placement::BootTime now, absl::FunctionRef<void()> write) {
  End end;
  {
    MutexLock lock(&mutex_);
    const auto running = exports_.find(ticket);
    if (running == exports_.end()) return;
    if (now - running->second.begun_at <= kReadWithin) {
      running->second.waits = true;
      return write();
    }
    end = std::move(running->second.end);
    exports_.erase(running);
  }
  end(ExportTooSlow());
}

bool ExportPlaces::Heard(int64_t ticket) {
  MutexLock lock(&mutex_);
  const auto running = exports_.find(ticket);
  if (running == exports_.end()) return false;
  running->second.waits = false;
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
      const bool is_late = at->second.waits && now - at->second.begun_at > kReadWithin;
      if (is_late) ends.push_back(std::move(at->second.end));
      at = is_late ? exports_.erase(at) : std::next(at);
    }
  }
  for (const End& end : ends) end(ExportTooSlow());
}

}  // namespace berth::services
