// EntityWalk: visits every entity of a state that passes a filter, in as many steps as the caller
// likes.
//
// The order is classes, traits, trees with parents first, consumers, services, nodes: an importer
// can create the entities in this order. Keeps the state alive. Not thread-safe.
#ifndef BERTH_SERVICES_WATCH_ENTITY_WALK_H_
#define BERTH_SERVICES_WATCH_ENTITY_WALK_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "berth/placement/v1/entity.pb.h"
#include "placement/state/state.h"
#include "services/watch/filter.h"

namespace berth::services {

class EntityWalk {
 public:
  enum class Names { kAll, kCustom };  // kCustom: standard classes and traits are left out

  EntityWalk(placement::StatePtr state, const WatchFilter& filter, Names names);

  const placement::State& state() const { return *state_; }
  // Calls `next` for an empty message and fills it with the next entity, until `next` returns null
  // or no entity is left. The next call goes on after the last entity. REQUIRES: not done().
  void Fill(absl::FunctionRef<pb::Entity*()> next);
  bool done() const { return step_ == Step::kDone; }
  // How many entities a walk over `state` with Names::kCustom and no filter visits, without usages.
  static int64_t CustomCount(const placement::State& state);

 private:
  enum class Step { kClasses, kTraits, kTrees, kConsumers, kServices, kNodes, kDone };
  using Next = absl::FunctionRef<pb::Entity*()>;

  // Each fills messages with one kind of entity; whether all of that kind were visited.
  bool TellStep(Next next);
  bool TellClasses(Next next);
  bool TellTraits(Next next);
  bool TellTrees(Next next);
  bool TellProvider(const placement::Tree& tree, Next next);
  bool TellConsumers(Next next);
  bool TellHolders(Next next);
  bool TellServices(Next next);
  bool TellNodes(Next next);
  void ChooseTrees();

  const placement::StatePtr state_;
  const WatchFilter filter_;
  const Names names_;
  Step step_ = Step::kClasses;
  // The entity of each kind that was visited last, if any.
  std::optional<std::string> last_class_, last_trait_;
  std::optional<placement::ConsumerId> last_consumer_;
  std::optional<std::pair<std::string, std::string>> last_service_;
  std::optional<placement::ProviderId> last_node_;
  bool trees_chosen_ = false;
  std::vector<placement::TreePtr> trees_;         // that pass the filter
  size_t tree_ = 0;                               // index of the present tree in trees_
  int position_ = 0;                              // of the next provider in that tree
  bool config_told_ = false;                      // that provider was visited, but not its usage
  std::vector<placement::ConsumerId> consumers_;  // that pass, if the filter is by tree
  size_t consumers_told_ = 0;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_WATCH_ENTITY_WALK_H_
