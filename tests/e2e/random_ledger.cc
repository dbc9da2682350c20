#include "tests/e2e/random_ledger.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/ground/uuid.h"

namespace berth::e2e {

namespace pb = ::berth::placement::v1;

namespace {

std::string NewUuid() { return placement::Uuid::Random().ToString(); }

void Stamp(google::protobuf::Timestamp* time, int64_t seconds) {
  time->set_seconds(seconds);
  time->set_nanos(123'456'000);
}

}  // namespace

std::vector<pb::Entity> RandomLedger::Make(int providers, int consumers) {
  for (int i = 0; i < 3; ++i) {
    New()->mutable_resource_class()->set_name(absl::StrCat("CUSTOM_CLASS_", i));
  }
  for (int i = 0; i < 5; ++i) New()->mutable_trait()->set_name(absl::StrCat("CUSTOM_T_", i));
  for (int i = 0; i < providers; ++i) AddProvider(i);
  for (int i = 0; i < consumers; ++i) AddConsumer();
  AddServices();
  AddNodes();
  AddAggregates();
  AddInstances();
  return std::move(entities_);
}

std::string RandomLedger::Class() {
  const char* const kStandard[] = {"VCPU", "MEMORY_MB", "DISK_GB"};
  return Below(2) == 0 ? kStandard[Below(3)] : absl::StrCat("CUSTOM_CLASS_", Below(3));
}

const pb::Provider& RandomLedger::SomeProvider() {
  return providers_[static_cast<size_t>(Below(static_cast<int>(providers_.size())))];
}

void RandomLedger::AddProvider(int number) {
  pb::Provider* provider = New()->mutable_provider();
  provider->set_uuid(NewUuid());
  provider->set_name(absl::StrCat("provider ü ", number));
  if (!providers_.empty() && Below(3) > 0) provider->set_parent_uuid(SomeProvider().uuid());
  for (int i = Below(4); i > 0; --i) {
    pb::Inventory& inventory = (*provider->mutable_inventories())[Class()];
    inventory.set_total(1 + Below(100));
    inventory.set_reserved(Below(static_cast<int>(inventory.total())));
    inventory.set_min_unit(1 + Below(2));
    inventory.set_max_unit(1 + Below(1'000));
    inventory.set_step_size(1 + Below(3));
    inventory.set_allocation_ratio(0.1 + Below(160) / 10.0);
  }
  std::set<std::string> traits, aggregates;
  for (int i = Below(3); i > 0; --i) traits.insert(absl::StrCat("CUSTOM_T_", Below(5)));
  for (int i = Below(3); i > 0; --i) {
    aggregates.insert(absl::StrCat("00000000-0000-4000-8000-00000000000", Below(9)));
  }
  for (const std::string& trait : traits) provider->add_traits(trait);
  for (const std::string& aggregate : aggregates) provider->add_aggregate_uuids(aggregate);
  Stamp(provider->mutable_created_at(), -1'000 + number);
  Stamp(provider->mutable_updated_at(), 1'700'000'000);
  providers_.push_back(*provider);
}

// One that holds nothing is none (P-3).
void RandomLedger::AddConsumer() {
  pb::Consumer consumer;
  consumer.set_uuid(NewUuid());
  consumer.set_project_id(absl::StrCat("project ", Below(4)));
  consumer.set_user_id(absl::StrCat("user ", Below(4)));
  consumer.set_consumer_type(Below(4) == 0 ? "unknown" : "INSTANCE");
  std::map<std::string, std::map<std::string, int64_t>> held;
  for (int i = 0; i < 3; ++i) {
    const pb::Provider& provider = SomeProvider();
    for (const auto& [name, _] : provider.inventories()) {
      held[provider.uuid()][name] = 1 + Below(20);
    }
  }
  for (const auto& [uuid, amounts] : held) {
    pb::ProviderAllocation* allocation = consumer.add_allocations();
    allocation->set_provider_uuid(uuid);
    allocation->mutable_resources()->insert(amounts.begin(), amounts.end());
  }
  if (held.empty()) return;
  if (Below(3) == 0) Stamp(consumer.mutable_lease_expires_at(), 4'000'000'000 + Below(100));
  Stamp(consumer.mutable_created_at(), 1'600'000'000);
  Stamp(consumer.mutable_updated_at(), 1'600'000'001);
  *New()->mutable_consumer() = consumer;
}

void RandomLedger::AddServices() {
  for (int i = 0; i < 4; ++i) {
    pb::Service* service = New()->mutable_service();
    service->set_uuid(NewUuid());
    service->set_host(absl::StrCat("host", i));
    service->set_binary("berth-tracker");
    service->set_version("1.2.3");
    service->set_incarnation(NewUuid());
    service->set_disabled(i == 1);
    if (i == 1) service->set_disabled_reason("new memory");
    service->set_forced_down(i == 2);
    service->set_zone(i == 1 ? "zone-1" : "");
    Stamp(service->mutable_created_at(), 1'650'000'000);
    Stamp(service->mutable_updated_at(), 1'650'000'001);
  }
}

void RandomLedger::AddNodes() {
  for (int i = 0; i < 4; ++i) {
    pb::Node* node = New()->mutable_node();
    node->set_uuid(providers_[static_cast<size_t>(i)].uuid());
    node->set_name(absl::StrCat("node", i));
    node->set_host(absl::StrCat("host", i));
    node->set_retired(i == 3);
    node->set_sequence(i * 17);
    if (i > 0) node->mutable_facts()->set_hypervisor_type("QEMU");
    if (i > 1) node->add_orphans()->set_uuid(NewUuid());
    Stamp(node->mutable_created_at(), 1'650'000'000);
    Stamp(node->mutable_updated_at(), 1'650'000'002);
  }
}

void RandomLedger::AddAggregates() {
  for (int i = 0; i < 4; ++i) {
    pb::Aggregate* aggregate = New()->mutable_aggregate();
    aggregate->set_uuid(NewUuid());
    aggregate->set_name(absl::StrCat("rack ü ", i));
    for (int entry = 0; entry < i; ++entry) {
      (*aggregate->mutable_metadata())[absl::StrCat("key ", entry)] = entry == 1 ? "" : "a=b\n\t☃";
    }
    Stamp(aggregate->mutable_created_at(), 1'650'000'000);
    Stamp(aggregate->mutable_updated_at(), 1'650'000'001);
  }
}

void RandomLedger::AddInstances() {
  std::vector<std::string> uuids;
  for (int i = 0; i < 4; ++i) {
    pb::Instance* instance = New()->mutable_instance();
    uuids.push_back(NewUuid());
    instance->set_uuid(uuids.back());
    instance->set_name(absl::StrCat("guest ü ", i));
    instance->set_project_id("project 1");
    instance->set_user_id("user 1");
    if (i < 2) instance->set_host(absl::StrCat("host", i));
    if (i == 1) instance->set_node_uuid(NewUuid());
    instance->set_vm_state(i == 3 ? "deleted" : "active");
    if (i == 3) Stamp(instance->mutable_deleted_at(), 1'650'000'001);
    instance->mutable_flavor()->set_id("small");
    instance->mutable_flavor()->set_vcpus(1 + Below(8));
    instance->mutable_flavor()->set_memory_mib(Below(4096));
    (*instance->mutable_flavor()->mutable_extra_specs())["hw:cpu_policy"] = "dedicated";
    instance->add_numa_cells()->add_pinned_cpus(Below(8));
    instance->add_pci_devices()->set_address("0000:3b:00.1");
    (*instance->mutable_image()->mutable_properties())["os_type"] = "linux";
    instance->set_hidden(i == 2);
    Stamp(instance->mutable_created_at(), 1'650'000'000);
    Stamp(instance->mutable_updated_at(), 1'650'000'001);
  }
  for (int i = 0; i < 4; ++i) {
    pb::Migration* migration = New()->mutable_migration();
    migration->set_uuid(NewUuid());
    migration->set_instance_uuid(uuids[static_cast<size_t>(Below(4))]);
    migration->set_type(pb::MIGRATION_TYPE_RESIZE);
    migration->set_status(i == 0 ? "done" : "running");
    migration->set_source_host("host0");
    if (i == 1) migration->set_source_node_uuid(NewUuid());
    if (i > 1) migration->set_destination_host("host1");
    if (i == 2) migration->set_destination_node_uuid(NewUuid());
    migration->set_new_flavor_id("large");
    Stamp(migration->mutable_created_at(), 1'650'000'000);
    Stamp(migration->mutable_updated_at(), 1'650'000'001);
  }
}

}  // namespace berth::e2e
