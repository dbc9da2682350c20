// EntityWalk: fills messages with every entity of a state that passes a filter, in as many steps as
// the caller likes.
//
// The order is: classes, traits, trees (parents before children), consumers, services, nodes,
// instances, migrations. An importer can use this order. Keeps the state alive. Not thread-safe.
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
  // kExport: standard names are left out, and usages, which can be computed from the consumers.
  enum class Content { kAll, kExport };

  EntityWalk(placement::StatePtr state, const WatchFilter& filter, Content content);

  const placement::State& state() const { return *state_; }
  // Calls `next`, which returns an empty message, and fills the message with the next entity.
  // Repeats this until `next` returns null or no entity is left. The next call of Fill goes on
  // after the last entity. REQUIRES: not done().
  void Fill(absl::FunctionRef<pb::Entity*()> next);
  bool done() const { return step_ == placement::kEntityKindCount; }

 private:
  using Next = absl::FunctionRef<pb::Entity*()>;

  // Each of these methods fills messages with the entities of one kind. Returns false if `next`
  // returned null before all entities of this kind were filled in.
  bool TellKind(placement::EntityKind kind, Next next);
  bool TellClasses(Next next);
  bool TellTraits(Next next);
  bool TellTrees(Next next);
  bool TellProvider(const placement::Tree& tree, Next next);
  bool TellConsumers(Next next);
  bool TellHolders(Next next);
  bool TellServices(Next next);
  bool TellNodes(Next next);
  bool TellAggregates(Next next);
  bool TellServerGroups(Next next);
  bool TellInstances(Next next);
  bool TellMigrations(Next next);
  void ChooseTrees();

  const placement::StatePtr state_;
  const WatchFilter filter_;
  const Content content_;
  int step_ = 0;  // the kind of entity that is filled in next, as a number
  // For each kind, the key of the entity that was filled in last; none before the first one.
  std::optional<std::string> last_class_, last_trait_;
  std::optional<placement::ConsumerId> last_consumer_;
  std::optional<std::pair<std::string, std::string>> last_service_;
  std::optional<placement::ProviderId> last_node_;
  std::optional<placement::AggregateId> last_aggregate_;
  std::optional<placement::ServerGroupId> last_group_;
  std::optional<placement::InstanceId> last_instance_;
  std::optional<placement::MigrationId> last_migration_;
  bool trees_chosen_ = false;
  std::vector<placement::TreePtr> trees_;         // the trees that pass the filter
  size_t tree_ = 0;                               // index of the present tree in trees_
  int position_ = 0;                              // of the next provider in this tree
  bool config_told_ = false;                      // the usage of this provider is next
  std::vector<placement::ConsumerId> consumers_;  // for a filter that names trees
  size_t consumers_told_ = 0;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_WATCH_ENTITY_WALK_H_
