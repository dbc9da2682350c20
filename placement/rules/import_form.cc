#include "placement/rules/import_form.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "placement/claims/allocation_form.h"
#include "placement/commands/inventory_write.h"
#include "placement/commands/record_fault.h"
#include "placement/commands/record_form.h"
#include "placement/values/catalog.h"
#include "placement/values/faults.h"

namespace berth::placement {
namespace {

void Twice(Faults& faults, const std::string& field, absl::string_view what) {
  faults.Add(kDuplicateParameter, field, absl::StrCat("is given twice: ", what));
}

// Checks each record by itself, one kind of records after the other. Also checks that no entity has
// two records.
class ImportForm {
 public:
  explicit ImportForm(const ImportLedger& command) : command_(command) {
    for (const ImportedProvider& provider : command.providers) {
      places_.try_emplace(provider.id, provider.record);
    }
  }

  absl::Status Check() {
    absl::Status status;
    command_.ForEachKind([&](const auto& records) {
      if (status.ok()) status = CheckEach(records);
    });
    return status;
  }

 private:
  template <typename Record>
  absl::Status CheckEach(const std::vector<Record>& records) {
    for (const Record& record : records) {
      Faults faults;
      CheckOne(faults, record);
      if (absl::Status status = faults.status(); !status.ok()) {
        return AtRecord(record.record, status);
      }
    }
    return absl::OkStatus();
  }

  void CheckOne(Faults& faults, const ImportedName<ClassId>& record) {
    CustomName(faults, "resource_class.name", record.name);
    if (!classes_.insert(record.name).second) Twice(faults, "resource_class.name", record.name);
  }
  void CheckOne(Faults& faults, const ImportedName<TraitId>& record) {
    CustomName(faults, "trait.name", record.name);
    if (!traits_.insert(record.name).second) Twice(faults, "trait.name", record.name);
  }

  static void CustomName(Faults& faults, const char* field, const std::string& name) {
    if (IsCustomName(name)) return;
    faults.Add(kInvalidName, field,
               "must be CUSTOM_ followed by capital letters, digits or underscores, 255 "
               "characters at most");
  }

  void CheckOne(Faults& faults, const ImportedProvider& record) {
    const std::string id = record.id.ToString();
    if (places_.at(record.id) != record.record) Twice(faults, "provider.uuid", id);
    faults.Length("provider.name", record.name, 1, kProviderNameMax);
    if (!provider_names_.insert(record.name).second) Twice(faults, "provider.name", record.name);
    const auto parent = record.parent ? places_.find(*record.parent) : places_.end();
    if (parent != places_.end() && parent->second > record.record) {
      faults.Add(kInvalidField, "provider.parent_uuid",
                 absl::StrCat("names the provider of record ", parent->second,
                              ", which comes later: a parent must come before its children"),
                 {{"provider", id}});
    }
    InventoryListFields(faults, "provider.inventories", record.inventories);
    for (const std::string& trait : record.traits) faults.UpperName("provider.traits", trait);
    EachOnce<AggregateId>(faults, "aggregate", "provider.aggregate_uuids", record.aggregates,
                          [](AggregateId aggregate) { return aggregate; });
  }

  void CheckOne(Faults& faults, const ImportedConsumer& record) {
    if (!consumers_.insert(record.id).second) {
      Twice(faults, "consumer.uuid", record.id.ToString());
    }
    faults.Length("consumer.project_id", record.project, 1, kOwnerMax);
    faults.Length("consumer.user_id", record.user, 1, kOwnerMax);
    if (!record.type.empty()) faults.UpperName("consumer.consumer_type", record.type);
    if (record.allocations.empty() || record.allocations.size() > kConsumerProvidersMax) {
      faults.Add(kInvalidField, "consumer.allocations",
                 absl::StrCat("must name 1 to ", kConsumerProvidersMax, " providers"));
    }
    const auto is_amount = [](Amount amount) { return amount >= 1 && amount <= kAmountMax; };
    for (const ProviderAmounts& group : record.allocations) {
      AmountFields(faults, "consumer.allocations", group, is_amount, "1 to 2147483647");
    }
    EachOnce<ProviderId>(faults, "provider", "consumer.allocations", record.allocations,
                         [](const ProviderAmounts& group) { return group.provider; });
  }

  void CheckOne(Faults& faults, const ImportedService& record) {
    const ServiceRecord& service = record.service;
    faults.Length("service.host", service.host, 1, kTextMax);
    faults.Length("service.binary", service.binary, 1, kTextMax);
    faults.Length("service.version", service.version, 0, kTextMax);
    faults.Length("service.zone", service.zone, 0, kTextMax);
    faults.Length("service.disabled_reason", service.disabled_reason, 0, kTextMax);
    if (!service_ids_.insert(service.id).second) {
      Twice(faults, "service.uuid", service.id.ToString());
    }
    if (!service_keys_.emplace(service.host, service.binary).second) {
      Twice(faults, "service.host", absl::StrCat(service.binary, " of ", service.host));
    }
  }

  void CheckOne(Faults& faults, const ImportedNode& record) {
    const NodeRecord& node = record.node;
    faults.Length("node.name", node.name, 1, kTextMax);
    faults.Length("node.host", node.host, 1, kTextMax);
    if (node.report_sequence < 0 || node.report_sequence == std::numeric_limits<int64_t>::max()) {
      faults.Add(kInvalidField, "node.sequence", "must be the number of a report, or 0");
    }
    if (node.facts != nullptr) AtMostBytes(faults, "node.facts", *node.facts, kFactsBytesMax);
    faults.Length("node.facts.storage_id", node.sums.storage_id, 0, kTextMax);
    AtMostBytes(faults, "node.account", node.account, kAccountBytesMax);
    if (!node_ids_.insert(node.id).second) Twice(faults, "node.uuid", node.id.ToString());
    if (!node_keys_.emplace(node.host, node.name).second) {
      Twice(faults, "node.name", absl::StrCat(node.name, " of ", node.host));
    }
  }

  void CheckOne(Faults& faults, const ImportedAggregate& record) {
    AggregateFields(faults, "aggregate", record.aggregate);
    if (!aggregate_ids_.insert(record.aggregate.id).second) {
      Twice(faults, "aggregate.uuid", record.aggregate.id.ToString());
    }
    if (!aggregate_names_.insert(record.aggregate.name).second) {
      Twice(faults, "aggregate.name", record.aggregate.name);
    }
  }

  void CheckOne(Faults& faults, const ImportedServerGroup& record) {
    ServerGroupFields(faults, "server_group", record.group);
    if (!group_ids_.insert(record.group.id).second) {
      Twice(faults, "server_group.uuid", record.group.id.ToString());
    }
  }

  void CheckOne(Faults& faults, const ImportedInstance& record) {
    InstanceFields(faults, "instance", record.instance);
    if (record.instance.deleted_at.has_value() != (record.instance.vm_state == kDeletedState)) {
      faults.Add(kInvalidField, "instance.deleted_at",
                 "must be given if and only if vm_state is deleted");
    }
    if (!instance_ids_.insert(record.instance.id).second) {
      Twice(faults, "instance.uuid", record.instance.id.ToString());
    }
  }

  void CheckOne(Faults& faults, const ImportedMigration& record) {
    MigrationFields(faults, record.migration);
    if (!migration_ids_.insert(record.migration.id).second) {
      Twice(faults, "migration.uuid", record.migration.id.ToString());
    }
  }

  const ImportLedger& command_;
  absl::flat_hash_map<ProviderId, RecordNumber> places_;  // the first record of each provider
  absl::flat_hash_set<absl::string_view> classes_, traits_, provider_names_, aggregate_names_;
  absl::flat_hash_set<ConsumerId> consumers_;
  absl::flat_hash_set<Uuid> service_ids_;
  absl::flat_hash_set<ProviderId> node_ids_;
  absl::flat_hash_set<AggregateId> aggregate_ids_;
  absl::flat_hash_set<ServerGroupId> group_ids_;
  absl::flat_hash_set<InstanceId> instance_ids_;
  absl::flat_hash_set<MigrationId> migration_ids_;
  absl::flat_hash_set<std::pair<absl::string_view, absl::string_view>> service_keys_, node_keys_;
};

}  // namespace

absl::Status CheckImportForm(const ImportLedger& command) {
  if (command.size() > kImportedMax) {
    Faults faults;
    faults.Add(
        kInvalidField, "entities",
        absl::StrCat("must be ", kImportedMax, " entities at most in one import, but there are ",
                     command.size(), ": import providers first, then their consumers"));
    return faults.status();
  }
  BERTH_RETURN_IF_ERROR(ImportForm(command).Check());
  for (const ImportedProvider& record : command.providers) {
    const absl::Status status =
        CheckInventories(record.inventories, {{"provider", record.id.ToString()}});
    if (!status.ok()) return AtRecord(record.record, status);
  }
  return absl::OkStatus();
}

}  // namespace berth::placement
