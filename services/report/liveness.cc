#include "services/report/liveness.h"

#include <algorithm>

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

void Liveness::Hear(const Key& key, Uuid incarnation, const std::optional<Beat>& beat,
                    absl::Time now) {
  MutexLock lock(&mutex_);
  Entry& entry = entries_[key];
  const bool back = entry.heard.incarnation == incarnation && !entry.here;
  if (entry.heard.incarnation != incarnation) entry = Entry{{incarnation, now}, true, {}};
  if (back) entry.heard.stale_audit = false;  // what it said before it went elsewhere is over
  entry.here = true;
  entry.heard.at = now;
  if (!beat) return;
  entry.heard.count = beat->count;
  entry.heard.stale_audit = beat->stale_audit;
}

std::optional<Heard> Liveness::Find(const Key& key) const {
  MutexLock lock(&mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end() || !found->second.here) return std::nullopt;
  return found->second.heard;
}

std::string Liveness::NameOf(const Key& key) { return absl::StrCat(key.first, "/", key.second); }

std::vector<std::pair<std::string, absl::Time>> Liveness::All() const {
  MutexLock lock(&mutex_);
  std::vector<std::pair<std::string, absl::Time>> all;
  for (const auto& [key, entry] : entries_) {
    if (entry.here) all.emplace_back(NameOf(key), entry.heard.at);
  }
  return all;
}

Liveness::TurnList Liveness::Turns(const placement::State& state, absl::Time now,
                                   size_t turns_max) {
  MutexLock lock(&mutex_);
  for (const auto& [key, incarnation] : ServicesUp(state)) {
    Entry& entry = entries_.try_emplace(key, Entry{{incarnation, now}, false, {}}).first->second;
    if (entry.heard.incarnation != incarnation) entry = Entry{{incarnation, now}, false, {}};
  }
  TurnList turns;
  for (auto at = entries_.begin(); at != entries_.end();) {
    const Key& key = at->first;
    Entry& entry = at->second;
    const bool up = now - entry.heard.at <= down_time_;
    const auto* service = state.services().Find(key);
    const bool ours = service != nullptr && (*service)->incarnation == entry.heard.incarnation;
    const bool turned = ours && (*service)->up != up;
    if (!turned) entry.told.reset();
    if (turned && entry.told != up && turns.up.size() + turns.down.size() < turns_max) {
      entry.told = up;
      (up ? turns.up : turns.down)
          .push_back(MarkService{key.first, key.second, entry.heard.incarnation, up});
    }
    // A service that is down, and recorded so, is nobody's business until it is heard again.
    const bool over = !up && (!ours || !(*service)->up);
    at = over ? entries_.erase(at) : std::next(at);
  }
  return turns;
}

void Liveness::Retry(const Key& key) {
  MutexLock lock(&mutex_);
  const auto found = entries_.find(key);
  if (found != entries_.end()) found->second.told.reset();
}

void Liveness::HearElsewhere(const Key& key, absl::Time at) {
  MutexLock lock(&mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  if (at > entry.heard.at) entry.here = false;  // its stream is there now
  entry.heard.at = std::max(entry.heard.at, at);
  entry.told.reset();
}

}  // namespace berth::services
