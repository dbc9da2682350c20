// Scope: the information about a command, besides its changes, that a watch stream with filters
// needs.
//
// A watcher may ask for some trees or aggregates only. To filter a change, the stream must know the
// root and the aggregates of the trees that the change concerns, before and after the command. A
// change also has indirect effects, which the watcher must receive, too. The scope of a command
// contains all this. It is computed once, when the command is decided, and is stored in the log
// beside the changes. So a log row can be delivered without the states before and after it. The
// scope of an ordinary claim, on root providers that are in no aggregate, is empty.
//
// An entity is in at most one of these three lists:
//   changes     The entity has a new value, and the command names the entity.
//   derived     The entity has a new value, and the command does not name the entity. Example:
//               provider P moves under another root, and its child C moves with it. The record of C
//               names the root of C, so it has a new value.
//   neighbours  The entity has the same value as before, but its tree has other aggregates or
//               another root now. Example: provider P joins aggregate A. Its child C and the
//               consumers that hold something on C have not changed, but a watcher of A sees them
//               from now on.
//
// Invariants, checked in ScopeMaker::Finish (struct Scope explains the fields):
//   1. No entity is twice in the three lists.
//   2. `before` is empty unless trees_changed is true. If it is true, `before` differs from
//      `after`.
//   3. `gave_up`, `nodes`, `renewed`, `other_hosts` and the lists of `before` and `after` are in
//      ascending order, without duplicates.
//   4. `removed_keys` has one key for each ClassRemoved, TraitRemoved and ServiceRemoved change.
//
// membership.h says to which node a provider belongs.
//
// Values; not thread-safe.
#ifndef BERTH_PLACEMENT_LOG_SCOPE_H_
#define BERTH_PLACEMENT_LOG_SCOPE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "placement/log/membership.h"
#include "placement/state/state.h"
#include "placement/values/change.h"

namespace berth::placement {

// The aggregates that providers of `tree` are in, in ascending order.
std::vector<AggregateId> AggregatesOf(const Tree& tree);
// The use of the provider at `position` of `tree`, as a change.
ProviderUsed UseOf(const Tree& tree, int position);

// The roots of providers and the aggregates of trees, in one state, for the providers that a
// command concerns.
struct TreeFacts {
  // (provider, root of the provider's tree), in order of providers. Providers that are roots
  // themselves are left out.
  std::vector<std::pair<ProviderId, ProviderId>> roots;
  // (root of a tree, the aggregates of the tree's providers), both in ascending order. A tree
  // without aggregates is left out.
  std::vector<std::pair<ProviderId, std::vector<AggregateId>>> aggregates;

  // The root of `provider`; `provider` itself if it is a root.
  ProviderId RootOf(ProviderId provider) const;
  // The aggregates of the tree of `root`. Null: the tree is in no aggregate.
  const std::vector<AggregateId>* AggregatesOf(ProviderId root) const;

  friend bool operator==(const TreeFacts&, const TreeFacts&) = default;
};

// The positions of some of a command's changes in its list of changes. Ascending, each once.
using Positions = absl::InlinedVector<int32_t, 4>;

// A host, and the changes of a command that concern the host.
struct HostNews {
  std::string host;
  Positions changes;

  friend bool operator==(const HostNews&, const HostNews&) = default;
};

struct Scope {
  // The facts after the command. They cover the providers that the changes name, and the providers
  // on which a changed consumer holds or held something.
  TreeFacts after;
  // Whether the facts before the command differ from `after`. If false, `before` is empty, and
  // `after` also describes the trees before the command.
  bool trees_changed = false;
  TreeFacts before;
  // Each consumer that no longer holds anything on some providers, with these providers. Sorted by
  // consumer.
  std::vector<std::pair<ConsumerId, std::vector<ProviderId>>> gave_up;
  // The entities of the kinds `derived` and `neighbours` (see the top of this file), with their
  // values after the command.
  Changes derived;
  Changes neighbours;
  // For each ClassRemoved, TraitRemoved and ServiceRemoved of the changes, in the order of the
  // changes: the name of the removed class or trait, or the uuid of the removed service.
  std::vector<std::string> removed_keys;
  // The hosts that a change concerns and does not name, each with these changes: the host that a
  // changed node, instance or migration had before the command; for a changed instance, both hosts
  // of each of its migrations that may still hold resources; for a removed instance, both hosts of
  // each of its migrations. Sorted by host.
  std::vector<HostNews> other_hosts;
  // (provider, the node to which it belongs), in order of providers: of the providers that a change
  // names, or on which a changed consumer holds or held something, those that do not belong to the
  // root of their tree; and the providers that the command removes and that were no roots. For a
  // removed provider, the node of before the command.
  std::vector<std::pair<ProviderId, ProviderId>> nodes;
  // The nodes of which more has changed for their trackers than the changes name, so that the
  // trackers must be told everything. First, the nodes that gained or lost providers with a provider
  // above these. Example: provider P of node N moves below a provider of node M; its child C moves
  // with it from N to M. Second, the nodes that come from another host, and the new nodes
  // whose root provider existed before: the tracker of the host lacks the tree. Sorted.
  std::vector<ProviderId> renewed;

  // The node to which the provider belongs. REQUIRES: the changes name the provider, or a changed
  // consumer holds or held something on it.
  ProviderId NodeOf(ProviderId provider) const;
  bool empty() const;
};

// Computes the scope of one command. To be constructed before the changes are applied; Finish is to
// be called after they are applied.
class ScopeMaker {
 public:
  // `changes` must live until Finish returns.
  ScopeMaker(const State& before, const Changes& changes);
  Scope Finish(const State& after) &&;

 private:
  using ProviderIds = absl::flat_hash_set<ProviderId>;

  // Takes `change`, which is at the position `at` of the changes.
  void Take(const State& before, const Change& change, int32_t at);
  void TakeProvider(const State& before, ProviderId provider);
  void TakeTree(const State& before, ProviderId provider);
  // Notes the node `id`, and the host that it leaves, if any. `host_after`: the node's host after
  // the command; null if the node is removed.
  void TakeNode(const State& before, ProviderId id, const std::string* host_after, int32_t at);
  void TakeConsumer(const State& before, const ConsumerPtr& after, ConsumerId id);
  // `after`: the instance after the command; null if it is removed.
  void TakeInstance(const Records& before, InstanceId id, const InstancePtr& after, int32_t at);
  void TakeMigration(const Records& before, MigrationId id, int32_t at);
  void AddHosts(const MigrationRecord& migration, int32_t at);
  // Fills other_hosts from others_.
  void GroupHosts();
  void Compare(const State& after);
  // Fills derived and neighbours from one tree. `put`, `used`: the providers whose configuration or
  // use the changes name. `told`: the consumers in the changes; CompareTree adds those it handles.
  void CompareTree(const Tree& tree, const State& after, const ProviderIds& put,
                   const ProviderIds& used, absl::flat_hash_set<ConsumerId>* told);
  // Adds `change` to derived if the value `differs` from the value before the command, else to
  // neighbours.
  void Add(Change change, bool differs);
  const Tree* TreeBefore(ProviderId provider) const;
  // The node of the provider for Scope::nodes. None if that is the root of the provider's tree, or
  // if the changes do not concern the provider.
  std::optional<ProviderId> NodeToName(const State& after, ProviderId provider,
                                       const std::optional<ProviderPlace>& place);

  const Changes& changes_;
  Scope scope_;
  bool puts_providers_ = false;
  std::vector<ProviderId> named_;  // the providers whose trees the scope describes; in any order
  // Those of named_ that the changes concern, sorted. Empty before Compare, which adds the others.
  std::vector<ProviderId> direct_;
  // The trees, before the command, of the providers that the command puts or removes, and of their
  // parents. Each tree once.
  std::vector<TreePtr> trees_before_;
  absl::flat_hash_map<ProviderId, const Tree*> members_before_;  // of trees_before_
  Membership membership_;
  std::vector<std::pair<std::string, int32_t>> others_;  // a host, and a change that concerns it
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LOG_SCOPE_H_
