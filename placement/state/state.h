// State: everything that placement knows at one revision, in memory.
//
// A value. Copies share their parts, and Apply copies only the parts that it changes. The ledger
// copies the newest published state, applies a batch to the copy, and publishes the copy. A reader
// that keeps a published state sees one revision for as long as it likes. Any thread may call const
// members; only the one owner of an unpublished copy may call Apply.
//
// Invariants:
//   1. Each parent exists, no provider is below itself, and every provider is in exactly one tree
//   of `roots` (P-1).
//   2. Every allocation names an existing provider with an inventory of its class; the use of an
//   inventory is the sum of its allocations (P-2).
//   3. A consumer is present if and only if it holds something (P-3).
//   4. The instance of every migration has a record, and the group of every member exists.
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
#include "placement/state/aggregates.h"
#include "placement/state/consumer_table.h"
#include "placement/state/counted.h"
#include "placement/state/fleet.h"
#include "placement/state/persistent_map.h"
#include "placement/state/records.h"
#include "placement/state/roots.h"
#include "placement/state/tree.h"
#include "placement/values/catalog.h"
#include "placement/values/change.h"
#include "placement/values/types.h"

namespace berth::placement {

// A provider and the tree that it is in.
struct ProviderPlace {
  TreePtr tree;
  int position = 0;
  const ProviderConfig& config() const { return tree->config(position); }
  // The use of inventory `row` of config().inventories.
  Amount used(int row) const { return tree->used_of(position, row); }
  Generation allocation_generation() const { return tree->allocation_generations[position]; }
  const ConsumerSet& consumers() const { return tree->consumers[position]; }
};

// A provider's name as a key. The key is a pointer to the provider, to save memory; keys are
// compared by name.
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

// What the consumers of one owner hold together (P-159).
struct OwnerUsage {
  std::shared_ptr<const Owner> owner;
  int64_t consumer_count = 0;     // P-162
  std::vector<ClassAmount> used;  // sorted by class, no zeros (P-163)
};

// An Owner as a key. The key is only a pointer, to save memory; keys are compared by the owner's
// value.
struct OwnerKey {
  std::shared_ptr<const Owner> owner;

  operator const Owner&() const { return *owner; }  // NOLINT: usable wherever an Owner is read
  friend bool operator<(const OwnerKey& a, const OwnerKey& b) { return *a.owner < *b.owner; }
};

// The revision of a state, and the counters of the ledger at that revision.
struct Position {
  Revision revision;
  BatchId batch;  // the batch of the log row at `revision`; all zero at {0, 0}
  absl::Time ledger_time = absl::UnixEpoch();
  int64_t command_count = 0;  // commands ever committed
  int format = 1;             // the newest format of log rows that may be written
  uint32_t next_class_id =
      1;  // ids are never reused, even after the newest class or trait was deleted
  uint32_t next_trait_id = 1;
  int64_t epoch_began_at =
      0;  // number of this epoch's first revision; older epochs' revisions from it on are lost

  // The revision together with the id of its batch. A watcher or a tracker sends it back when it
  // resumes.
  Revision resume_point() const { return {revision.epoch, revision.number, batch.uuid.high}; }
};

class State {
 public:
  const Position& position() const { return position_; }
  // Sets the position. Also raises the catalog's next ids to next_class_id and next_trait_id, and
  // adds a new epoch to epochs().
  void set_position(const Position& position);
  // The first revision of each epoch, sorted. A revision of an older epoch is lost if its number is
  // the number of such a first revision or greater.
  const std::vector<Revision>& epochs() const { return *epochs_; }
  // Sets epochs(). To be called when a state is loaded, before set_position.
  void set_epochs(std::vector<Revision> epochs) {
    epochs_ = Counted<std::vector<Revision>>::Make(std::move(epochs));
  }

  const Catalog& catalog() const { return *catalog_; }

  // Providers.
  std::optional<ProviderPlace> FindProvider(ProviderId id) const;
  std::optional<ProviderId> FindProviderByName(absl::string_view name) const;
  // The tree whose root is `root`, or null.
  TreePtr FindTree(ProviderId root) const;
  // All trees, in order of root id.
  const Roots& roots() const { return roots_; }
  int64_t provider_count() const { return roots_.size() + root_of_.size(); }
  // The root of each provider that is not a root, sorted by the provider's id.
  const PersistentMap<ProviderId, ProviderId>& root_of() const { return root_of_; }
  // How many inventories name the class, and how many providers have the trait (P-37, P-44, P-45).
  int64_t inventories_of(ClassId resource_class) const;
  int64_t providers_with(TraitId trait) const;

  // Consumers.
  ConsumerPtr FindConsumer(ConsumerId id) const { return consumers_.Find(id); }
  const ConsumerTable& consumers() const { return consumers_; }
  // The consumers that have a lease, in order of the end of the lease.
  const PersistentMap<std::pair<absl::Time, ConsumerId>, std::monostate>& leases() const {
    return leases_;
  }
  // What each owner holds, sorted by (project, user, type).
  const PersistentMap<OwnerKey, Counted<OwnerUsage>>& owners() const { return owners_; }
  // The Owner object that consumers with an equal owner share; a new object if no consumer has an
  // equal owner.
  std::shared_ptr<const Owner> ShareOwner(Owner owner) const;

  // The fleet: services and nodes, in order of keys.
  const Fleet& fleet() const { return fleet_; }
  const PersistentMap<Fleet::ServiceKey, ServicePtr>& services() const { return fleet_.services(); }
  const PersistentMap<ProviderId, NodeRecordPtr>& nodes() const { return fleet_.nodes(); }
  // The service with the uuid `id`, or null. The cost does not grow with the number of services
  // that do not match.
  ServicePtr FindServiceById(Uuid id) const { return fleet_.FindServiceById(id); }
  // The nodes of `host`, sorted by id. The cost does not grow with the number of nodes of other
  // hosts.
  std::vector<NodeRecordPtr> NodesOf(absl::string_view host) const { return fleet_.NodesOf(host); }

  // The aggregates that have a name.
  const Aggregates& aggregates() const { return aggregates_; }
  // The records of instances and migrations, and the server groups.
  const Records& records() const { return records_; }

  // Applies the changes of one command. The invariants hold again when Apply returns. The use of
  // providers is computed from the consumers' allocations; each ProviderUsed must agree with it. A
  // load applies the rows of all tables as the changes of one command. REQUIRES: the changes are in
  // the order of change.h, and either a rule made them for this state or they are next in the log.
  // Changes that do not fit the state end the process.
  void Apply(const Changes& changes);

 private:
  // The use of inventories that a command has removed while they were in use. An entry is erased
  // when the consumer changes of the same command have released the use.
  using DroppedUse = absl::flat_hash_map<std::pair<ProviderId, ClassId>, Amount>;
  // The providers that are in no tree while trees are rebuilt.
  using Pool = absl::flat_hash_map<ProviderId, Provider>;

  void ApplyOne(const Change& change, DroppedUse& dropped);

  // Defined in providers.cc:
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

  // Defined in consumers.cc:
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
  Fleet fleet_;
  Aggregates aggregates_;
  Records records_;
};

using StatePtr = std::shared_ptr<const State>;

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STATE_STATE_H_
