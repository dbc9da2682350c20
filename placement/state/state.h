// State: everything that placement knows, at one revision, in memory.
//
// A value with persistent parts: copying shares them, Apply copies only what it touches. The ledger
// copies the published state, applies a batch to the copy, and publishes the copy as a new
// immutable root; a reader keeps the root it took for as long as it likes and sees one revision.
// Const members may be called from any thread; Apply only by the one owner of a copy.
//
// Invariants:
//   1. Parent edges form a forest; every provider stands in exactly one tree of `roots` (P-1).
//   2. Every allocation names an existing provider with an inventory of its class; used is the sum
//   of the allocations (P-2).
//   3. A consumer is present if and only if it holds something (P-3).
#ifndef BERTH_PLACEMENT_STATE_STATE_H_
#define BERTH_PLACEMENT_STATE_STATE_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "placement/state/consumer_table.h"
#include "placement/state/counted.h"
#include "placement/state/persistent_map.h"
#include "placement/state/roots.h"
#include "placement/state/tree.h"
#include "placement/values/catalog.h"
#include "placement/values/change.h"
#include "placement/values/types.h"

namespace berth::placement {

// A provider within its tree; valid while the state (or a TreePtr) is kept.
struct ProviderPlace {
  TreePtr tree;
  int position = 0;
  const ProviderConfig& config() const { return tree->config(position); }
  // Use of row `row` of config().inventories.
  Amount used(int row) const { return tree->used_of(position, row); }
  Generation allocation_generation() const { return tree->allocation_generations[position]; }
  const ConsumerSet& consumers() const { return tree->consumers[position]; }
};

// A provider's name as a key that is cheap to copy and to keep; compares by the name.
struct NameKey {
  std::shared_ptr<const ProviderConfig> config;

  friend bool operator<(const NameKey& a, const NameKey& b) {
    return a.config->name < b.config->name;
  }
  friend bool operator<(const NameKey& key, absl::string_view name) {
    return key.config->name < name;
  }
  friend bool operator<(absl::string_view name, const NameKey& key) {
    return name < key.config->name;
  }
};

// A node as the key of the index by host: rising by host, then by id.
struct HostNodeKey {
  std::string host;
  ProviderId id;

  friend auto operator<=>(const HostNodeKey&, const HostNodeKey&) = default;
};
// Finds the first node of `host` in that index: less than each key of the host, equal to none.
struct BeforeNodesOf {
  absl::string_view host;

  friend bool operator<(const HostNodeKey& key, const BeforeNodesOf& probe) {
    return key.host < probe.host;
  }
  friend bool operator<(const BeforeNodesOf& probe, const HostNodeKey& key) {
    return !(key < probe);
  }
};

// What the consumers of one owner hold together (P-159).
struct OwnerUsage {
  std::shared_ptr<const Owner> owner;
  int64_t consumer_count = 0;     // P-162
  std::vector<ClassAmount> used;  // rising by class, no zeros (P-163)
};

// An Owner as a key that is cheap to copy; compares with owners and with its like by value.
struct OwnerKey {
  std::shared_ptr<const Owner> owner;

  operator const Owner&() const { return *owner; }  // NOLINT: it is one, to whoever reads it
  friend bool operator<(const OwnerKey& a, const OwnerKey& b) { return *a.owner < *b.owner; }
};

// Where in the ledger's history a state stands.
struct Position {
  Revision revision;
  BatchId batch;  // of the log row at `revision`; all zero at {0, 0}
  absl::Time ledger_time = absl::UnixEpoch();
  int64_t command_count = 0;  // commands ever committed
  int format = 1;             // of the log rows that may be written
  uint32_t next_class_id =
      1;  // ids are never reused, also when the newest class or trait is deleted
  uint32_t next_trait_id = 1;
  int64_t epoch_began_at =
      0;  // revision number at which this epoch began; an older epoch's later revisions are lost
};

class State {
 public:
  const Position& position() const { return position_; }
  // Also sees to it that the catalog hands out no id below next_class_id and next_trait_id, and that
  // an epoch that is new stands in epochs().
  void set_position(const Position& position);
  // The first revision of each epoch of this history, rising: what an older epoch has from there on
  // is lost.
  const std::vector<Revision>& epochs() const { return *epochs_; }
  // Of a load, before set_position.
  void set_epochs(std::vector<Revision> epochs) {
    epochs_ = Counted<std::vector<Revision>>::Make(std::move(epochs));
  }

  const Catalog& catalog() const { return *catalog_; }

  // Providers.
  std::optional<ProviderPlace> FindProvider(ProviderId id) const;
  std::optional<ProviderId> FindProviderByName(absl::string_view name) const;
  // The tree whose root is `root`, or null.
  TreePtr FindTree(ProviderId root) const;
  // All trees, in chunks by rising root id: what the search scans.
  const Roots& roots() const { return roots_; }
  int64_t provider_count() const { return roots_.size() + root_of_.size(); }
  // The root of each provider that is none itself, rising by id.
  const PersistentMap<ProviderId, ProviderId>& root_of() const { return root_of_; }
  // How many inventories name the class, how many providers have the trait (P-37, P-44, P-45).
  int64_t inventories_of(ClassId resource_class) const;
  int64_t providers_with(TraitId trait) const;

  // Consumers.
  ConsumerPtr FindConsumer(ConsumerId id) const { return consumers_.Find(id); }
  const ConsumerTable& consumers() const { return consumers_; }
  // Who has a lease, rising by its end.
  const PersistentMap<std::pair<absl::Time, ConsumerId>, std::monostate>& leases() const {
    return leases_;
  }
  // When the first lease ends; none: nobody has one.
  std::optional<absl::Time> first_lease_end() const;
  // What each owner holds, rising by (project, user, type): the owners of a project stand side by
  // side.
  const PersistentMap<OwnerKey, Counted<OwnerUsage>>& owners() const { return owners_; }
  // An Owner that is shared with all equal ones, or a new one.
  std::shared_ptr<const Owner> ShareOwner(Owner owner) const;

  // Fleet, rising by key.
  const PersistentMap<std::pair<std::string, std::string>, ServicePtr>& services() const {
    return services_;
  }
  const PersistentMap<ProviderId, NodeRecordPtr>& nodes() const { return nodes_; }
  // The service with the uuid `id`, or null. Looks at no other service.
  ServicePtr FindServiceById(Uuid id) const;
  // The nodes of `host`, rising by id. Looks at no node of another host.
  std::vector<NodeRecordPtr> NodesOf(absl::string_view host) const;

  // Applies what one command did. REQUIRES: the rules made it for this state, or it stands next in
  // the log, in the order that change.h gives; anything else ends the process. The invariants hold
  // again when it returns. Use follows from the consumers' rows; a ProviderUsed must agree with it.
  // To load tables, apply their rows in the same order, all of them or in any portions of a step.
  void Apply(const Changes& changes);

 private:
  // Use of inventory rows that a command's configurations dropped, until its consumers give it up.
  using DroppedUse = absl::flat_hash_map<std::pair<ProviderId, ClassId>, Amount>;
  // Providers out of their trees.
  using Pool = absl::flat_hash_map<ProviderId, Provider>;

  void ApplyOne(const Change& change, DroppedUse& dropped);

  // state_providers.cc
  void ReleaseNames(absl::Span<const Change> puts, absl::Span<const Change> removals);
  void ApplyProviders(absl::Span<const Change> puts, DroppedUse& dropped);
  void ApplyProvidersRemoved(absl::Span<const Change> removals);
  void ApplyUsed(const ProviderUsed& change);
  void PutConfig(const std::shared_ptr<const ProviderConfig>& config, Pool& pool,
                 DroppedUse& dropped);
  void CheckConfig(const ProviderConfig& config) const;
  void CountUses(const ProviderConfig& config, int64_t difference);
  ProviderId RootOf(ProviderId id) const;
  void TakeApart(ProviderId root, Pool& pool, std::vector<ProviderId>& roots);
  void PutTogether(Pool pool, const std::vector<ProviderId>& old_roots);

  void PutService(const ServicePtr& service);
  void RemoveService(const ServiceRemoved& removed);
  void PutNode(const NodeRecordPtr& node);
  void RemoveNode(ProviderId id);

  // state_consumers.cc
  void PutConsumer(const Consumer& consumer, DroppedUse& dropped);
  void RemoveConsumer(ConsumerId id, DroppedUse& dropped);
  void MoveRows(ConsumerId id, absl::Span<const Allocation> before,
                absl::Span<const Allocation> after, DroppedUse& dropped);
  void MoveLease(ConsumerId id, std::optional<absl::Time> before, std::optional<absl::Time> after);
  void ChargeOwner(const std::shared_ptr<const Owner>& owner, int64_t sign,
                   absl::Span<const Allocation> rows);

  Position position_;
  Counted<std::vector<Revision>> epochs_ = Counted<std::vector<Revision>>::Make();
  Counted<Catalog> catalog_ = Counted<Catalog>::Make();
  Roots roots_;
  PersistentMap<ProviderId, ProviderId> root_of_;
  PersistentMap<NameKey, ProviderId> provider_names_;
  PersistentMap<ClassId, int64_t> class_uses_;
  PersistentMap<TraitId, int64_t> trait_uses_;
  ConsumerTable consumers_;
  PersistentMap<std::pair<absl::Time, ConsumerId>, std::monostate> leases_;
  PersistentMap<OwnerKey, Counted<OwnerUsage>> owners_;
  PersistentMap<std::pair<std::string, std::string>, ServicePtr> services_;
  PersistentMap<Uuid, ServicePtr> services_by_id_;  // the same records
  PersistentMap<ProviderId, NodeRecordPtr> nodes_;
  PersistentMap<HostNodeKey, std::monostate> nodes_by_host_;  // the keys of the same records
};

using StatePtr = std::shared_ptr<const State>;

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STATE_STATE_H_
