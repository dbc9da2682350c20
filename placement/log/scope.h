// Scope: where a command's changes stand: what filters need of the states before and after it, and
// what those who watch are told besides.
//
// Computed once, by whoever decides the command, and kept in the log beside the changes: a log row
// can be told to a filtered watcher without the states around it. The common claim, on providers
// that are their own roots and in no aggregate, needs nothing of it. Values.
#ifndef BERTH_PLACEMENT_LOG_SCOPE_H_
#define BERTH_PLACEMENT_LOG_SCOPE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "placement/state/state.h"
#include "placement/values/change.h"

namespace berth::placement {

// The aggregates of any member, rising.
std::vector<AggregateId> AggregatesOf(const Tree& tree);
// What is used of a member, as a change would tell it.
ProviderUsed UseOf(const Tree& tree, int position);

// Roots of providers, and aggregates of trees, in one state, as far as a command needs them.
struct TreeFacts {
  // By rising provider; those that are their own roots are left out.
  std::vector<std::pair<ProviderId, ProviderId>> roots;
  // By rising root: aggregates of any member, rising; trees in none are left out.
  std::vector<std::pair<ProviderId, std::vector<AggregateId>>> aggregates;

  ProviderId RootOf(ProviderId provider) const;
  // Null: none.
  const std::vector<AggregateId>* AggregatesOf(ProviderId root) const;

  friend bool operator==(const TreeFacts&, const TreeFacts&) = default;
};

struct Scope {
  // Of every provider that the changes name, that their consumers hold or held.
  TreeFacts after;
  // Only where the trees changed: the same before. Else `after` held before, too.
  bool trees_changed = false;
  TreeFacts before;
  // By rising consumer: the providers of which it holds nothing any more.
  std::vector<std::pair<ConsumerId, std::vector<ProviderId>>> gave_up;
  // What else is different afterwards, as after-images: the use of a provider whose inventories
  // changed, providers that came under another root.
  Changes derived;
  // What is as it was, in a tree that is not: whom a filter may now let through, or no longer.
  Changes neighbours;
  // The names, or the uuids of services, that ClassRemoved, TraitRemoved and ServiceRemoved of the
  // changes mean, in their order.
  std::vector<std::string> removed_keys;
  // The hosts of which a record was before the command and is not afterwards: of each node that the
  // command moved to another host or removed. Rising.
  std::vector<std::string> left_hosts;

  bool empty() const;
};

// Gathers the scope of one command: made before its changes are applied, finished after.
class ScopeMaker {
 public:
  // `changes` must live until Finish.
  ScopeMaker(const State& before, const Changes& changes);
  Scope Finish(const State& after) &&;

 private:
  void TakeTree(const State& before, ProviderId provider);
  // `host_after`: null if the node is removed.
  void TakeNode(const State& before, ProviderId id, const std::string* host_after);
  void TakeConsumer(const State& before, const ConsumerPtr& after, ConsumerId id);
  void Compare(const State& after);
  // To what is derived where it `differs` from before, else to the neighbours.
  void Add(Change change, bool differs);
  const Tree* TreeBefore(ProviderId provider) const;

  const Changes& changes_;
  Scope scope_;
  bool puts_providers_ = false;
  std::vector<ProviderId> named_;      // whose trees are wanted; in any order
  std::vector<TreePtr> trees_before_;  // of providers put or removed, and their parents; each once
};

// Whom the changes of a command concern: the hosts of the records that it changed, before and after,
// and the roots of the trees that it touched, before and after, also by changing a consumer that
// holds something of them. Both rising. What is pushed to trackers is routed by this alone.
struct Concerned {
  std::vector<std::string> hosts;
  std::vector<ProviderId> roots;
};
Concerned ConcernedBy(const Changes& changes, const Scope& scope);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LOG_SCOPE_H_
