// Scope: what a watch stream with filters needs to know about a command besides its changes.
//
// A watcher may ask for some trees or aggregates only. To filter a change, one must know the root and
// the aggregates of the trees concerned, before and after the command. And a change has indirect
// effects that the watcher must hear of, too. The scope of a command says all this. It is computed
// once, when the command is decided, and stored in the log beside the changes; so a log row can be
// delivered without the states before and after it. The scope of a common claim, on root providers
// that are in no aggregate, is empty.
//
// An entity is in one of these lists at most:
//   changes     it has a new value, and the command names it
//   derived     it has a new value, and the command does not name it. Example: provider P moves under
//               another root, and its child C moves with it: the record of C names its root
//   neighbours  it has the same value as before, and its tree has other aggregates or another root
//               now. Example: provider P joins aggregate A. Its child C and the consumers that hold
//               something of C have not changed, but a watcher of aggregate A sees them from now on
//
// Invariants, checked in ScopeMaker::Finish:
//   1. No entity is twice in the three lists.
//   2. `before` is empty unless trees_changed, and then it differs from `after`.
//   3. The lists of TreeFacts and gave_up are in rising order, without duplicates.
//   4. removed_keys has one key for each ClassRemoved, TraitRemoved and ServiceRemoved.
//
// Values; not thread-safe.
#ifndef BERTH_PLACEMENT_LOG_SCOPE_H_
#define BERTH_PLACEMENT_LOG_SCOPE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "placement/state/state.h"
#include "placement/values/change.h"

namespace berth::placement {

// The aggregates that members of `tree` are in, in rising order.
std::vector<AggregateId> AggregatesOf(const Tree& tree);
// The use of the member at `position`, as a change.
ProviderUsed UseOf(const Tree& tree, int position);

// The roots of providers and the aggregates of trees in one state, for the providers that a command
// concerns.
struct TreeFacts {
  // (provider, its root), in rising order of providers. Roots themselves are left out.
  std::vector<std::pair<ProviderId, ProviderId>> roots;
  // (root of a tree, the aggregates of its members), both in rising order. A tree without aggregates
  // is left out.
  std::vector<std::pair<ProviderId, std::vector<AggregateId>>> aggregates;

  // `provider` itself if it is a root.
  ProviderId RootOf(ProviderId provider) const;
  // Null: the tree of `root` is in no aggregate.
  const std::vector<AggregateId>* AggregatesOf(ProviderId root) const;

  friend bool operator==(const TreeFacts&, const TreeFacts&) = default;
};

struct Scope {
  // After the command, for the providers that the changes name, and those of which their consumers
  // hold or held something.
  TreeFacts after;
  // Whether `before` is different. If false, `before` is empty and `after` was true before, too.
  bool trees_changed = false;
  TreeFacts before;
  // (consumer, the providers of which it held something before and holds nothing now), in rising
  // order of consumers.
  std::vector<std::pair<ConsumerId, std::vector<ProviderId>>> gave_up;
  // See above; the values after the command.
  Changes derived;
  Changes neighbours;
  // What each ClassRemoved, TraitRemoved and ServiceRemoved of the changes removed, in their order:
  // the name of the class or trait, the uuid of the service.
  std::vector<std::string> removed_keys;

  bool empty() const;
};

// Computes the scope of one command: constructed before the changes are applied, finished after.
class ScopeMaker {
 public:
  // `changes` must live until Finish.
  ScopeMaker(const State& before, const Changes& changes);
  Scope Finish(const State& after) &&;

 private:
  void TakeTree(const State& before, ProviderId provider);
  void TakeConsumer(const State& before, const ConsumerPtr& after, ConsumerId id);
  void Compare(const State& after);
  // Adds `change` to derived if its value `differs` from the one before, else to neighbours.
  void Add(Change change, bool differs);
  const Tree* TreeBefore(ProviderId provider) const;

  const Changes& changes_;
  Scope scope_;
  bool puts_providers_ = false;
  std::vector<ProviderId> named_;  // the providers whose trees the scope describes; in any order
  // The trees, before the command, of providers that it puts or removes and of their parents; each
  // once.
  std::vector<TreePtr> trees_before_;
};

// The roots, in rising order, of the trees that a command touched: of providers and nodes that the
// changes name, and of providers of which a changed consumer holds something. Before the command and
// after it.
std::vector<ProviderId> RootsTouched(const Changes& changes, const Scope& scope);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LOG_SCOPE_H_
