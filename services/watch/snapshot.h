// WatchSnapshot: all entities of one revision that pass a filter, as WatchResponse messages.
//
// Keeps the state of that revision alive. Not thread-safe.
#ifndef BERTH_SERVICES_WATCH_SNAPSHOT_H_
#define BERTH_SERVICES_WATCH_SNAPSHOT_H_

#include "placement/state/state.h"
#include "services/watch/entity_walk.h"
#include "services/watch/filter.h"
#include "services/watch/messages.h"

namespace berth::services {

class WatchSnapshot {
 public:
  WatchSnapshot(placement::StatePtr state, const WatchFilter& filter)
      : walk_(std::move(state), filter, EntityWalk::Content::kAll) {}

  placement::Revision revision() const { return walk_.state().position().resume_point(); }
  // The next message. REQUIRES: not done().
  WatchMessage Next();
  bool done() const { return walk_.done(); }

 private:
  EntityWalk walk_;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_WATCH_SNAPSHOT_H_
