// ImportLedger: the command that adds the entities of an export, and their records.
#ifndef BERTH_PLACEMENT_COMMANDS_IMPORT_H_
#define BERTH_PLACEMENT_COMMANDS_IMPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "placement/values/aggregate.h"
#include "placement/values/change.h"
#include "placement/values/fleet.h"
#include "placement/values/instance.h"
#include "placement/values/server_group.h"
#include "placement/values/types.h"

namespace berth::placement {

// The number of a record in the import, from 1. Refusals name the number.
using RecordNumber = int64_t;
// The times at which an imported entity was made and last changed. Absent: the time of the import.
struct ImportedTimes {
  std::optional<absl::Time> created_at, updated_at;
};
template <typename IdType>  // ClassId or TraitId
struct ImportedName {
  RecordNumber record = 0;
  std::string name;
};
struct ImportedProvider {
  RecordNumber record = 0;
  ProviderId id;
  std::string name;
  std::optional<ProviderId> parent;  // an earlier record, or in the ledger already
  std::vector<NamedInventory> inventories;
  std::vector<std::string> traits;
  std::vector<AggregateId> aggregates;
  ImportedTimes times;
};
struct ImportedConsumer {
  RecordNumber record = 0;
  ConsumerId id;
  std::string project;
  std::string user;
  std::string type;  // empty: none (P-24)
  std::vector<ProviderAmounts> allocations;
  std::optional<absl::Time> lease_expires_at;  // if this is past, the consumer is released soon
  ImportedTimes times;
};
struct ImportedService {
  RecordNumber record = 0;
  ServiceRecord service;  // its times are ignored
  ImportedTimes times;
};
struct ImportedNode {
  RecordNumber record = 0;
  NodeRecord node;
  ImportedTimes times;
};
struct ImportedAggregate {
  RecordNumber record = 0;
  Aggregate aggregate;  // its generation and its times are ignored
  ImportedTimes times;
};
struct ImportedServerGroup {
  RecordNumber record = 0;
  ServerGroup group;  // its generation and its times are ignored
  ImportedTimes times;
};
struct ImportedInstance {
  RecordNumber record = 0;
  InstanceRecord instance;  // its generation and its times, except deleted_at, are ignored
  ImportedTimes times;
};
struct ImportedMigration {
  RecordNumber record = 0;
  MigrationRecord migration;  // its generation and its times are ignored
  ImportedTimes times;
};
// Adds all listed entities, or none. Only classes and traits may be in the ledger already.
struct ImportLedger {
  std::vector<ImportedName<ClassId>> classes;  // custom ones; existing ones stay
  std::vector<ImportedName<TraitId>> traits;   // likewise
  std::vector<ImportedProvider> providers;
  std::vector<ImportedConsumer> consumers;
  std::vector<ImportedService> services;
  std::vector<ImportedNode> nodes;
  std::vector<ImportedAggregate> aggregates;
  std::vector<ImportedServerGroup> groups;
  std::vector<ImportedInstance> instances;    // of these groups, or of groups in the ledger
  std::vector<ImportedMigration> migrations;  // of these instances, or of instances in the ledger
  bool require_empty = false;                 // refuse unless the ledger has only standard names
  bool validate_only = false;

  // Calls visit(records) with the records of each kind, in the order of EntityKind. So a visitor
  // that does not handle the records of some kind does not compile.
  template <typename Visit>
  void ForEachKind(Visit visit) const {
    ForEachEntityKind([&](EntityKind kind) {
      switch (kind) {
        case EntityKind::kResourceClass:
          return visit(classes);
        case EntityKind::kTrait:
          return visit(traits);
        case EntityKind::kProvider:
          return visit(providers);
        case EntityKind::kProviderUsage:
          return;  // has no records: the use follows from the consumers
        case EntityKind::kConsumer:
          return visit(consumers);
        case EntityKind::kService:
          return visit(services);
        case EntityKind::kNode:
          return visit(nodes);
        case EntityKind::kAggregate:
          return visit(aggregates);
        case EntityKind::kServerGroup:
          return visit(groups);
        case EntityKind::kInstance:
          return visit(instances);
        case EntityKind::kMigration:
          return visit(migrations);
      }
    });
  }
  int64_t size() const {
    int64_t sum = 0;
    ForEachKind([&](const auto& records) { sum += static_cast<int64_t>(records.size()); });
    return sum;
  }
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_COMMANDS_IMPORT_H_
