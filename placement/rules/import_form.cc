#include "placement/rules/import_form.h"

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
#include "placement/values/catalog.h"
#include "placement/values/faults.h"

namespace berth::placement {
namespace {

void Twice(Form& form, const std::string& field, absl::string_view what) {
  form.Fault(kDuplicateParameter, field, absl::StrCat("is given twice: ", what));
}

// The form of what may stand once in the records, kind by kind.
class Records {
 public:
  explicit Records(const ImportLedger& command) : command_(command) {
    for (const ImportedProvider& provider : command.providers) {
      places_.try_emplace(provider.id, provider.record);
    }
  }

  absl::Status Check() {
    absl::Status status = Each(command_.classes, &Records::Class);
    if (status.ok()) status = Each(command_.traits, &Records::Trait);
    if (status.ok()) status = Each(command_.providers, &Records::Provider);
    if (status.ok()) status = Each(command_.consumers, &Records::Consumer);
    if (status.ok()) status = Each(command_.services, &Records::Service);
    if (status.ok()) status = Each(command_.nodes, &Records::Node);
    return status;
  }

 private:
  template <typename Record>
  absl::Status Each(const std::vector<Record>& records,
                    void (Records::*check)(Form&, const Record&)) {
    for (const Record& record : records) {
      Form form;
      (this->*check)(form, record);
      if (absl::Status status = form.status(); !status.ok()) {
        return AtRecord(record.record, status);
      }
    }
    return absl::OkStatus();
  }

  void Class(Form& form, const ImportedName& record) {
    CustomName(form, "resource_class.name", record.name);
    if (!classes_.insert(record.name).second) Twice(form, "resource_class.name", record.name);
  }
  void Trait(Form& form, const ImportedName& record) {
    CustomName(form, "trait.name", record.name);
    if (!traits_.insert(record.name).second) Twice(form, "trait.name", record.name);
  }

  static void CustomName(Form& form, const char* field, const std::string& name) {
    if (IsCustomName(name)) return;
    form.Fault(kInvalidName, field,
               "must be CUSTOM_ followed by capital letters, digits or underscores, 255 "
               "characters at most");
  }

  void Provider(Form& form, const ImportedProvider& record) {
    const std::string id = record.id.ToString();
    if (places_.at(record.id) != record.record) Twice(form, "provider.uuid", id);
    form.Length("provider.name", record.name, 1, kProviderNameMax);
    if (!provider_names_.insert(record.name).second) Twice(form, "provider.name", record.name);
    const auto parent = record.parent ? places_.find(*record.parent) : places_.end();
    if (parent != places_.end() && parent->second > record.record) {
      form.Fault(kInvalidField, "provider.parent_uuid",
                 absl::StrCat("names a provider that comes later, in record ", parent->second),
                 {{"provider", id}});
    }
    InventoryListFields(form, "provider.inventories", record.inventories);
    for (const std::string& trait : record.traits) form.UpperName("provider.traits", trait);
    EachOnce<AggregateId>(form, "aggregate", "provider.aggregate_uuids", record.aggregates,
                          [](AggregateId aggregate) { return aggregate; });
  }

  void Consumer(Form& form, const ImportedConsumer& record) {
    if (!consumers_.insert(record.id).second) {
      Twice(form, "consumer.uuid", record.id.ToString());
    }
    form.Length("consumer.project_id", record.project, 1, kOwnerMax);
    form.Length("consumer.user_id", record.user, 1, kOwnerMax);
    if (!record.type.empty()) form.UpperName("consumer.consumer_type", record.type);
    if (record.allocations.empty() || record.allocations.size() > kConsumerProvidersMax) {
      form.Fault(kInvalidField, "consumer.allocations",
                 absl::StrCat("must name 1 to ", kConsumerProvidersMax, " providers"));
    }
    const auto is_amount = [](Amount amount) { return amount >= 1 && amount <= kAmountMax; };
    for (const ProviderAmounts& group : record.allocations) {
      AmountFields(form, "consumer.allocations", group, is_amount, "1 to 2147483647");
    }
    EachOnce<ProviderId>(form, "provider", "consumer.allocations", record.allocations,
                         [](const ProviderAmounts& group) { return group.provider; });
  }

  void Service(Form& form, const ImportedService& record) {
    const ServiceRecord& service = record.service;
    form.Length("service.host", service.host, 1, kTextMax);
    form.Length("service.binary", service.binary, 1, kTextMax);
    form.Length("service.version", service.version, 0, kTextMax);
    form.Length("service.disabled_reason", service.disabled_reason, 0, kTextMax);
    if (!service_ids_.insert(service.id).second) {
      Twice(form, "service.uuid", service.id.ToString());
    }
    if (!service_keys_.emplace(service.host, service.binary).second) {
      Twice(form, "service.host", absl::StrCat(service.binary, " of ", service.host));
    }
  }

  void Node(Form& form, const ImportedNode& record) {
    const NodeRecord& node = record.node;
    form.Length("node.name", node.name, 1, kTextMax);
    form.Length("node.host", node.host, 1, kTextMax);
    if (node.report_sequence < 0) {
      form.Fault(kInvalidField, "node.sequence", "must not be below 0");
    }
    if (node.facts != nullptr && node.facts->size() > kFactsBytesMax) {
      form.Fault(
          kInvalidField, "node",
          absl::StrCat("must not have more than ", kFactsBytesMax, " bytes of reported facts"));
    }
    if (!node_ids_.insert(node.id).second) Twice(form, "node.uuid", node.id.ToString());
    if (!node_keys_.emplace(node.host, node.name).second) {
      Twice(form, "node.name", absl::StrCat(node.name, " of ", node.host));
    }
  }

  const ImportLedger& command_;
  absl::flat_hash_map<ProviderId, RecordNumber> places_;  // where each comes first
  absl::flat_hash_set<absl::string_view> classes_, traits_, provider_names_;
  absl::flat_hash_set<ConsumerId> consumers_;
  absl::flat_hash_set<Uuid> service_ids_;
  absl::flat_hash_set<ProviderId> node_ids_;
  absl::flat_hash_set<std::pair<absl::string_view, absl::string_view>> service_keys_, node_keys_;
};

}  // namespace

absl::Status CheckImportForm(const ImportLedger& command) {
  if (command.size() > kImportedMax) {
    Form form;
    form.Fault(
        kInvalidField, "entities",
        absl::StrCat("must be ", kImportedMax, " entities at most in one import, but there are ",
                     command.size(), ": import providers first, then their consumers"));
    return form.status();
  }
  if (absl::Status status = Records(command).Check(); !status.ok()) return status;
  for (const ImportedProvider& record : command.providers) {
    const absl::Status status =
        CheckInventories(record.inventories, {{"provider", record.id.ToString()}});
    if (!status.ok()) return AtRecord(record.record, status);
  }
  return absl::OkStatus();
}

}  // namespace berth::placement
