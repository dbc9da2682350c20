// ImportLedger: the command that adds the entities of an export, and their records.
#ifndef BERTH_PLACEMENT_COMMANDS_IMPORT_H_
#define BERTH_PLACEMENT_COMMANDS_IMPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "placement/values/change.h"
#include "placement/values/fleet.h"
#include "placement/values/instance.h"
#include "placement/values/types.h"

namespace berth::placement {

// The number of a record in the import, from 1. Refusals name the number.
using RecordNumber = int64_t;
// The times at which an imported entity was made and last changed. Absent: the time of the import.
struct ImportedTimes {
  std::optional<absl::Time> created_at, updated_at;
};
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
  std::vector<ImportedName> classes, traits;  // custom ones; existing ones stay
  std::vector<ImportedProvider> providers;
  std::vector<ImportedConsumer> consumers;
  std::vector<ImportedService> services;
  std::vector<ImportedNode> nodes;
  std::vector<ImportedInstance> instances;
  std::vector<ImportedMigration> migrations;  // of these instances, or of instances in the ledger
  bool require_empty = false;                 // refuse unless the ledger has only standard names
  bool validate_only = false;

  int64_t count(EntityKind kind) const {  // how many records of `kind` there are
    switch (kind) {
      case EntityKind::kResourceClass:
        return static_cast<int64_t>(classes.size());
      case EntityKind::kTrait:
        return static_cast<int64_t>(traits.size());
      case EntityKind::kProvider:
        return static_cast<int64_t>(providers.size());
      case EntityKind::kProviderUsage:
        return 0;  // has no records: the use follows from the consumers
      case EntityKind::kConsumer:
        return static_cast<int64_t>(consumers.size());
      case EntityKind::kService:
        return static_cast<int64_t>(services.size());
      case EntityKind::kNode:
        return static_cast<int64_t>(nodes.size());
      case EntityKind::kInstance:
        return static_cast<int64_t>(instances.size());
      case EntityKind::kMigration:
        return static_cast<int64_t>(migrations.size());
    }
    return 0;
  }
  int64_t size() const {
    int64_t sum = 0;
    ForEachEntityKind([&](EntityKind kind) { sum += count(kind); });
    return sum;
  }
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_COMMANDS_IMPORT_H_
