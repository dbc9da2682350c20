// WatchSnapshot: everything there is at one revision, as WatchResponse messages, one at a time:
// each holds at most kWatchMessageBytesMax and what one more entity takes.
//
// Keeps the state until it is told. Not thread-safe.
#ifndef BERTH_SERVICES_WATCH_SNAPSHOT_H_
#define BERTH_SERVICES_WATCH_SNAPSHOT_H_

#include <optional>
#include <string>
#include <utility>
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
  // In this order.
  enum class Step { kChoice, kClasses, kTraits, kTrees, kConsumers, kServices, kNodes, kDone };

  void ChooseTrees();
  bool Add(std::string* to);
  bool AddClasses(std::string* to);
  bool AddTraits(std::string* to);
  bool AddTrees(std::string* to);
  void AddMember(const placement::Tree& tree, int position, std::string* to) const;
  bool AddConsumers(std::string* to);
  bool AddServices(std::string* to);
  bool AddNodes(std::string* to);

  const placement::StatePtr state_;
  const WatchFilter filter_;
  Step step_ = Step::kChoice;
  std::string last_class_, last_trait_;    // that were told; empty: none
  std::vector<placement::TreePtr> trees_;  // that are told, and how many have been
  size_t trees_told_ = 0;
  int members_told_ = 0;                          // of the next tree
  std::vector<placement::ConsumerId> consumers_;  // that are told, where not all are
  size_t consumers_told_ = 0;
  std::optional<placement::ConsumerId> last_consumer_;  // where all are
  std::optional<std::pair<std::string, std::string>> last_service_;
  std::optional<placement::ProviderId> last_node_;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_WATCH_SNAPSHOT_H_
