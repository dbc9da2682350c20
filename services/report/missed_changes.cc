#include "services/report/missed_changes.h"

#include <algorithm>

namespace berth::services {
namespace {

constexpr int kPagesMax = 4;  // that a tracker may have missed; beyond them it is told everything
constexpr size_t kPageBatches = 64;

void AddBatch(const placement::FeedBatch& batch, placement::ProviderId node, PushScope* scope) {
  for (const placement::FeedCommand& command : batch.commands) {
    const std::vector<placement::ProviderId>& roots = command.concerned.roots;
    if (std::find(roots.begin(), roots.end(), node) == roots.end()) continue;
    for (const placement::Change& change : *command.changes) AddToScope(change, scope);
  }
}

}  // namespace

bool AddMissed(const placement::Feed& feed, placement::Revision now, const HelloNode& node,
               PushScope* scope) {
  // What an epoch lost, the tracker may have seen: only everything tells that it is gone.
  if (!node.pushed || node.pushed->epoch != now.epoch || *node.pushed > now) return false;
  placement::Revision heard = *node.pushed;
  for (int page = 0; page < kPagesMax; ++page) {
    const auto batches = feed.After(heard, static_cast<int>(kPageBatches));
    if (!batches.ok()) return false;
    for (const placement::FeedBatchPtr& batch : *batches) AddBatch(*batch, node.id, scope);
    if (batches->size() < kPageBatches) return true;
    heard = batches->back()->revision;
  }
  return false;
}

}  // namespace berth::services
