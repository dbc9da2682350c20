#include "services/report/missed_changes.h"

#include "services/process/history_alarm.h"

namespace berth::services {
namespace {

constexpr int kPagesMax = 4;  // if a tracker missed more, it is sent everything
constexpr size_t kPageBatches = 64;

}  // namespace

bool AddMissed(const placement::Feed& feed, placement::Revision now, const std::string& host,
               const HelloNode& node, PushScope* scope) {
  // If a new epoch has begun, the tracker may have changes that were lost with the old one. Only a
  // push of the node's whole tree removes them from the tracker's records, so the caller must make
  // such a push.
  if (!node.pushed || node.pushed->epoch != now.epoch) return false;
  if (*node.pushed > now) {
    AlarmOfHistory("a tracker", *node.pushed, now);
    return false;
  }
  placement::Revision heard = *node.pushed;
  for (int page = 0; page < kPagesMax; ++page) {
    const auto batches = feed.After(heard, static_cast<int>(kPageBatches));
    if (absl::IsFailedPrecondition(batches.status())) AlarmOfHistory("a tracker", heard, now);
    if (!batches.ok()) return false;
    for (const placement::FeedBatchPtr& batch : *batches) {
      for (const placement::FeedCommand& command : batch->commands) {
        AddTreeToScope(command, node.id, false, scope);
        AddRecordsToScope(command, host, node.id, scope);
      }
    }
    if (batches->size() < kPageBatches) return true;
    heard = batches->back()->revision;
  }
  return false;
}

}  // namespace berth::services
