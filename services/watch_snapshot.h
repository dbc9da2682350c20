// WatchSnapshot: everything there is at one revision, as WatchResponse messages, one at a time.
//
// Keeps the state until it is told. Not thread-safe.
#ifndef BERTH_SERVICES_WATCH_SNAPSHOT_H_
#define BERTH_SERVICES_WATCH_SNAPSHOT_H_

#include <optional>
#include <string>
#include <vector>

#include "placement/state.h"
#include "services/watch_filter.h"
#include "services/wire_watch.h"

namespace berth::services {

class WatchSnapshot {
 public:
  WatchSnapshot(placement::StatePtr state, const WatchFilter& filter);

  placement::Revision revision() const { return state_->position().revision; }
  // The next message. REQUIRES: not done().
  WatchMessage Next();
  bool done() const { return step_ == Step::kDone; }

 private:
  enum class Step { kNames, kTrees, kConsumers, kFleet, kDone };

  void ChooseTrees();
  void AddNames(std::string* to) const;
  void AddTree(const placement::Tree& tree, std::string* to) const;
  void AddConsumers(std::string* to);
  void AddConsumer(const placement::Consumer& consumer, std::string* to) const;
  void AddFleet(std::string* to) const;

  const placement::StatePtr state_;
  const WatchFilter filter_;
  Step step_ = Step::kNames;
  std::vector<placement::TreePtr> trees_;  // that are told, and how many have been
  size_t trees_told_ = 0;
  std::vector<placement::ConsumerId> consumers_;  // that are told, where not all are
  size_t consumers_told_ = 0;
  std::optional<placement::ConsumerId> last_consumer_;  // where all are
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_WATCH_SNAPSHOT_H_
