#include "placement/records/tracker_edit.h"

#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "berth/placement/v1/record.pb.h"
#include "placement/records/message.h"

namespace berth::placement {
namespace {

using Devices = google::protobuf::RepeatedPtrField<v1::PciDevice>;

// Copies to each device what `known` says of the device with its address, except for which request
// it is. What is known of a device is copied once, however often a peer names it.
void Describe(const Devices& known, Devices* devices) {
  absl::flat_hash_map<absl::string_view, const v1::PciDevice*> by_address;
  for (const v1::PciDevice& device : known) by_address[device.address()] = &device;
  for (v1::PciDevice& device : *devices) {
    const auto found = by_address.find(device.address());
    if (found == by_address.end()) continue;
    std::string request_id = std::move(*device.mutable_request_id());
    device = *found->second;
    device.set_request_id(std::move(request_id));
    by_address.erase(found);
  }
}

}  // namespace

InstanceRecord TrackerEdit(const InstanceRecord& before, const v1::Instance& written,
                           bool reverts) {
  v1::Instance record;
  FillInstance(before, &record);
  record.set_host(written.host());
  record.set_node_uuid(written.node_uuid());
  record.set_claimed_generation(written.claimed_generation());
  if (!written.launched_on().empty()) record.set_launched_on(written.launched_on());
  if (!written.vm_state().empty()) {
    record.set_vm_state(written.vm_state());
    record.set_task_state(written.task_state());
  }
  *record.mutable_numa_cells() = written.numa_cells();
  if (written.numa_cells_size() > 0) {
    record.set_emulator_threads_policy(written.emulator_threads_policy());
  }
  Devices known = record.pci_devices();
  if (reverts && record.has_migration_context()) {
    const v1::MigrationContext& context = record.migration_context();
    if (context.has_old_flavor()) *record.mutable_flavor() = context.old_flavor();
    *record.mutable_pci_requests() = context.old_pci_requests();
    known.MergeFrom(context.old_pci_devices());
  }
  *record.mutable_pci_devices() = written.pci_devices();
  Describe(known, record.mutable_pci_devices());
  *record.mutable_named_units() = written.named_units();
  record.clear_migration_context();
  if (written.has_migration_context()) {
    *record.mutable_migration_context() = written.migration_context();
    Describe(known, record.mutable_migration_context()->mutable_old_pci_devices());
  }
  InstanceRecord after = InstanceFrom(std::move(record));
  after.generation = before.generation;
  after.created_at = before.created_at;
  after.updated_at = before.updated_at;
  after.deleted_at = before.deleted_at;
  return after;
}

}  // namespace berth::placement
