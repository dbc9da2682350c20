// EntityWalk: every entity of a state, one after the other, in as many steps as one likes.
//
// Classes, traits, trees with parents first, consumers, services, nodes: the order in which they can
// be made again. Keeps the state until it is done. Not thread-safe.
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
  // Fills what `next` gives, cleared, with the next entity, again and again, until `next` gives null
  // (that entity comes first the next time) or there are no more. REQUIRES: not done().
  void Fill(absl::FunctionRef<pb::Entity*()> next);
  bool done() const { return step_ == placement::kEntityKindCount; }
  // How many entities a walk without filters but `Names::kCustom`, and without usages, tells.
  static int64_t CustomCount(const placement::State& state);

 private:
  using Next = absl::FunctionRef<pb::Entity*()>;

  // Each returns whether all of its kind have been told.
  bool TellKind(placement::EntityKind kind, Next next);
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
  int step_ = 0;  // the kind of entity that is told next, as a number
  // What was told last of each kind; none: nothing yet.
  std::optional<std::string> last_class_, last_trait_;
  std::optional<placement::ConsumerId> last_consumer_;
  std::optional<std::pair<std::string, std::string>> last_service_;
  std::optional<placement::ProviderId> last_node_;
  bool trees_chosen_ = false;
  std::vector<placement::TreePtr> trees_;         // that are told
  size_t tree_ = 0;                               // of them, the next one
  int position_ = 0;                              // in it
  bool config_told_ = false;                      // of the provider there; its use is due
  std::vector<placement::ConsumerId> consumers_;  // that are told, where not all are
  size_t consumers_told_ = 0;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_WATCH_ENTITY_WALK_H_
