#include "services/liveness.h"

#include "absl/strings/str_cat.h"

namespace berth::services {

using placement::MarkService;
using placement::MutexLock;
using placement::ServiceRecord;
using placement::Uuid;

namespace {

std::vector<std::pair<Liveness::Key, Uuid>> ServicesUp(const placement::State& state) {
  std::vector<std::pair<Liveness::Key, Uuid>> up;
  state.services().ForEach(
      [&up](const Liveness::Key& key, const std::shared_ptr<const ServiceRecord>& service) {
        if (service->up) up.emplace_back(key, service->incarnation);
      });
  return up;
}

}  // namespace

void Liveness::Hear(const Key& key, Uuid incarnation, int64_t count, absl::Time now) {
  MutexLock lock(&mutex_);
  Entry& entry = entries_[key];
  if (entry.heard.incarnation != incarnation) entry = Entry{{incarnation, now, 0}, {}};
  entry.heard.at = now;
  if (count > 0) entry.heard.count = count;
}

std::optional<Heard> Liveness::Find(const Key& key) const {
  MutexLock lock(&mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return std::nullopt;
  return found->second.heard;
}

std::vector<std::pair<std::string, absl::Time>> Liveness::All() const {
  MutexLock lock(&mutex_);
  std::vector<std::pair<std::string, absl::Time>> all;
  for (const auto& [key, entry] : entries_) {
    all.emplace_back(absl::StrCat(key.first, "/", key.second), entry.heard.at);
  }
  return all;
}

std::vector<MarkService> Liveness::Turns(const placement::State& state, absl::Time now) {
  MutexLock lock(&mutex_);
  if (!inherited_) {
    inherited_ = true;
    for (const auto& [key, incarnation] : ServicesUp(state)) {
      entries_.try_emplace(key, Entry{{incarnation, started_, 0}, {}});
    }
  }
  std::vector<MarkService> turns;
  for (auto at = entries_.begin(); at != entries_.end();) {
    const Key& key = at->first;
    Entry& entry = at->second;
    const bool up = now - entry.heard.at <= down_time_;
    const auto* service = state.services().Find(key);
    const bool ours = service != nullptr && (*service)->incarnation == entry.heard.incarnation;
    if (!ours || (*service)->up == up) entry.told.reset();
    if (ours && (*service)->up != up && entry.told != up) {
      entry.told = up;
      turns.push_back(MarkService{key.first, key.second, entry.heard.incarnation, up});
    }
    // A service that is down, and recorded so, is none of this process' business any more.
    const bool over = !up && (!ours || !(*service)->up);
    at = over ? entries_.erase(at) : std::next(at);
  }
  return turns;
}

}  // namespace berth::services
