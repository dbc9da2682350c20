// ImportPlan: computes the changes of an import, or finds its fault.
//
// The plan walks over the records once. It keeps the fault of the earliest stage and, of two faults
// of one stage, the fault of the first record. On a provider that the import makes, the imported
// consumers may hold more than its capacity and units allow: such a ledger is legal, because
// inventories may be changed while they are in use (P-89). A provider that existed before must have
// free capacity for what is imported on it. A plan is a local value of one decision; it keeps
// references to the state, the command and the context.
#ifndef BERTH_PLACEMENT_RULES_IMPORT_PLAN_H_
#define BERTH_PLACEMENT_RULES_IMPORT_PLAN_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "placement/commands/command.h"
#include "placement/commands/outcome.h"
#include "placement/state/state.h"

namespace berth::placement {

class ImportPlan {
 public:
  // REQUIRES: CheckImportForm(command) is OK.
  ImportPlan(const State& state, const ImportLedger& command, const RuleContext& context);

  // WRONG_LEDGER_STATE if the command requires an empty ledger, and this ledger has more than the
  // standard names.
  absl::Status CheckEmpty() const;
  // Computes the changes. Refuses, in this order: SELF_PARENT, PARENT_NOT_FOUND,
  // DUPLICATE_PROVIDER, TRAIT_NOT_FOUND, CONSUMER_GENERATION_CONFLICT, PROVIDER_NOT_FOUND for a
  // provider of a consumer, RESOURCE_CLASS_NOT_FOUND, NO_INVENTORY, UNIT_CONSTRAINT_VIOLATED,
  // CAPACITY_EXCEEDED, DUPLICATE_SERVICE, PROVIDER_NOT_FOUND for the root provider of a node,
  // DUPLICATE_NODE, RECORD_CONFLICT for an aggregate that exists, DUPLICATE_AGGREGATE,
  // RECORD_CONFLICT for a server group that exists, RECORD_CONFLICT for an instance that has a
  // record, or UUID_IN_USE for one that has the uuid of a migration,
  // SERVER_GROUP_NOT_FOUND or SERVER_GROUP_FULL for the group of an instance, INSTANCE_NOT_FOUND for the instance of a migration,
  // DUPLICATE_MIGRATION or, for a migration that has the uuid of an instance, UUID_IN_USE.
  absl::Status Settle();
  // The changes of the command. REQUIRES: Settle returned OK. To be called once.
  Outcome MakeOutcome();

 private:
  enum class Stage {
    kSelfParent,
    kParent,
    kProvider,
    kTrait,
    kConsumer,
    kHeldProvider,
    kClass,
    kInventory,
    kUnits,
    kRoom,
    kService,
    kNodeProvider,
    kNode,
    kAggregate,
    kAggregateName,
    kServerGroup,
    kInstance,
    kInstanceGroup,
    kMigrationInstance,
    kMigration,
    kNone,
  };
  // A provider on which imported consumers hold something. The amounts are parallel to the
  // provider's inventories.
  struct Taken {
    const ProviderConfig* config = nullptr;
    std::optional<ProviderPlace> place;  // none: it is imported, too
    absl::InlinedVector<Amount, 4> before;
    absl::InlinedVector<Amount, 4> asked;
  };
  using ConfigPtr = std::shared_ptr<const ProviderConfig>;

  // Keeps the fault that `refusal` makes, unless a fault of the same stage or of an earlier stage
  // is kept already.
  void Note(Stage stage, RecordNumber record, absl::FunctionRef<absl::Status()> refusal);
  // Each of these adds the changes of the records of one kind, and notes their faults.
  void Add(const std::vector<ImportedName<ClassId>>& records);
  void Add(const std::vector<ImportedName<TraitId>>& records);
  void Add(const std::vector<ImportedProvider>& records);
  void Add(const std::vector<ImportedConsumer>& records);
  void Add(const std::vector<ImportedService>& records);
  void Add(const std::vector<ImportedNode>& records);
  // Defined in import_records.cc:
  void Add(const std::vector<ImportedAggregate>& records);
  void Add(const std::vector<ImportedServerGroup>& records);
  void Add(const std::vector<ImportedInstance>& records);
  void Add(const std::vector<ImportedMigration>& records);

  template <typename Put, typename IdType>
  void AddNames(const std::vector<ImportedName<IdType>>& records, NameTable<IdType>& table);
  void AddProvider(const ImportedProvider& record);
  void CheckProvider(const ImportedProvider& record);
  void AddConsumer(const ImportedConsumer& record);
  void AddRow(const ImportedConsumer& record, Taken& taken, const NamedAmount& amount,
              Consumer& consumer);
  void CheckRow(const ImportedConsumer& record, const Taken& taken, const NamedAmount& amount,
                int row);
  void AddUsed();
  Taken* Take(ProviderId id);
  std::optional<ClassId> ClassOf(RecordNumber record, const std::string& name);
  void TellOverCapacity(Result& result) const;

  const State& state_;
  const ImportLedger& command_;
  const RuleContext& context_;
  Stage stage_ = Stage::kNone;  // of `fault_`
  absl::Status fault_;
  NameTable<ClassId> classes_;  // of the state and of the records
  NameTable<TraitId> traits_;
  Changes changes_;                 // of the records up to now
  std::vector<ConfigPtr> configs_;  // in the order of the records
  absl::flat_hash_map<ProviderId, ConfigPtr> new_providers_;
  absl::flat_hash_map<ProviderId, Taken> taken_;
  std::map<Owner, std::shared_ptr<const Owner>> owners_;
  absl::flat_hash_set<ServerGroupId> new_groups_;
  absl::flat_hash_set<InstanceId> new_instances_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_RULES_IMPORT_PLAN_H_
