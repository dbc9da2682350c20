#include "tracker/facts/document_cache.h"

#include <algorithm>

namespace berth::tracker {
namespace {

constexpr int kSweepIntervals = 9;

}  // namespace

std::vector<std::string> DocumentsToRead(const std::map<std::string, int64_t>& listed,
                                         const std::map<std::string, KnownDocument>& known,
                                         int64_t sweep_share) {
  std::vector<std::string> names;
  std::vector<std::pair<int64_t, std::string>> others;  // with the number of their reading
  for (const auto& [name, run] : listed) {
    const auto found = known.find(name);
    if (found == known.end() || found->second.outdated || found->second.run != run) {
      names.push_back(name);
    } else {
      others.emplace_back(found->second.read_number, name);
    }
  }
  std::sort(others.begin(), others.end());
  others.resize(std::min(others.size(), static_cast<size_t>(std::max<int64_t>(0, sweep_share))));
  for (auto& [number, name] : others) names.push_back(std::move(name));
  std::sort(names.begin(), names.end());
  return names;
}

int64_t SweepShare(int64_t documents, absl::Duration since_last, absl::Duration interval) {
  const int64_t period = kSweepIntervals * absl::ToInt64Milliseconds(interval);
  // `since_last` is by the host's clock, which somebody may set backwards or far ahead.
  const int64_t since = std::min(absl::ToInt64Milliseconds(since_last), period);
  return since <= 0 ? 0 : (documents * since + period - 1) / period;
}

}  // namespace berth::tracker
