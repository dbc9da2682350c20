#include "services/report/liveness.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace berth::services {

using placement::MarkService;
using placement::MutexLock;
using placement::ServiceRecord;
using placement::Uuid;

namespace {

constexpr int kJudgedMax = 4096;  // services per step: heartbeats wait meanwhile

}  // namespace

void Liveness::Hear(const Key& key, Uuid incarnation, const std::optional<Beat>& beat,
                    placement::BootTime now, absl::Time wall_time) {
  MutexLock lock(&mutex_);
  const auto [at, is_new] = entries_.try_emplace(key);
  Entry& entry = at->second;
  const bool is_other = is_new || entry.heard.incarnation != incarnation;
  if (is_other || now - entry.heard.at > down_time_) pending_.insert(key);
  if (is_other) {
    entry.heard = Heard{incarnation, now, wall_time};
    entry.told.reset();
  } else if (!entry.here) {
    entry.heard.stale_audit = false;  // said before the stream moved to another process
  }
  entry.here = true;
  entry.heard.at = now;
  entry.heard.seen_at = wall_time;
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

std::vector<std::pair<std::string, placement::BootTime>> Liveness::All() const {
  MutexLock lock(&mutex_);
  std::vector<std::pair<std::string, placement::BootTime>> all;
  for (const auto& [key, entry] : entries_) {
    if (entry.here) all.emplace_back(NameOf(key), entry.heard.at);
  }
  return all;
}

void Liveness::NoteChange(const Key& key) {
  MutexLock lock(&mutex_);
  pending_.insert(key);
}

void Liveness::NoteAll(const placement::State& state) {
  std::vector<Key> up;
  state.services().ForEach(
      [&up](const Key& key, const std::shared_ptr<const ServiceRecord>& service) {
        if (service->up) up.push_back(key);
      });
  MutexLock lock(&mutex_);
  for (const auto& [key, entry] : entries_) pending_.insert(key);
  pending_.insert(up.begin(), up.end());
}

Liveness::Transitions Liveness::Judge(const placement::State& state, placement::BootTime now,
                                      size_t transitions_max) {
  MutexLock lock(&mutex_);
  while (!alarms_.empty() && alarms_.begin()->first < now) {
    const Key& key = *alarms_.begin()->second;
    pending_.insert(key);
    SetAlarm(entries_.find(key), std::nullopt);
  }
  Transitions result;
  while (!pending_.empty() && result.judged < kJudgedMax &&
         result.up.size() + result.down.size() < transitions_max) {
    const Key key = std::move(pending_.extract(pending_.begin()).value());
    JudgeOne(key, state, now, &result);
    ++result.judged;
  }
  return result;
}

void Liveness::JudgeOne(const Key& key, const placement::State& state, placement::BootTime now,
                        Transitions* result) {
  const auto* service = state.services().Find(key);
  auto at = entries_.find(key);
  if (service != nullptr && (*service)->up) {
    const Uuid incarnation = (*service)->incarnation;
    const auto [found, is_new] = entries_.try_emplace(key);
    at = found;
    if (is_new || at->second.heard.incarnation != incarnation) {
      at->second.heard = Heard{incarnation, now};
      at->second.here = false;
      at->second.told.reset();
    }
  }
  if (at == entries_.end()) return;
  Entry& entry = at->second;
  const bool up = now - entry.heard.at <= down_time_;
  const bool ours = service != nullptr && (*service)->incarnation == entry.heard.incarnation;
  const bool differs = ours && (*service)->up != up;
  if (!differs) entry.told.reset();
  if (differs && entry.told != up) {
    entry.told = up;
    (up ? result->up : result->down)
        .push_back(MarkService{key.first, key.second, entry.heard.incarnation, up});
  }
  SetAlarm(at, up ? std::optional(entry.heard.at + down_time_) : std::nullopt);
  // If a service is down and recorded as down, its entry is not needed until the service is heard
  // again.
  if (!up && (!ours || !(*service)->up)) entries_.erase(at);
}

void Liveness::SetAlarm(Entries::iterator at, std::optional<placement::BootTime> time) {
  std::optional<placement::BootTime>& alarm = at->second.alarm;
  if (alarm) alarms_.erase({*alarm, &at->first});
  if (time) alarms_.insert({*time, &at->first});
  alarm = time;
}

void Liveness::Retry(const Key& key) {
  MutexLock lock(&mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  found->second.told.reset();
  pending_.insert(key);
}

void Liveness::HearElsewhere(const Key& key, placement::BootTime at) {
  MutexLock lock(&mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  if (at > entry.heard.at) entry.here = false;  // the stream is at the other process now
  entry.heard.at = std::max(entry.heard.at, at);
  entry.told.reset();
  pending_.insert(key);
}

}  // namespace berth::services
