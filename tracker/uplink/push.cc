#include "tracker/uplink/push.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tracker/ground/uuid.h"
#include "tracker/uplink/messages.h"
#include "tracker/uplink/record_form.h"
#include "tracker/uplink/record_messages.h"

namespace berth::tracker {
namespace {

namespace v1 = placement::v1;

void ReadConsumer(const v1::Consumer& wire, Records* records) {
  for (const v1::ProviderAllocation& held : wire.allocations()) {
    KnownAllocation allocation;
    allocation.provider_uuid = UuidOrNil(held.provider_uuid());
    allocation.consumer_uuid = UuidOrNil(wire.uuid());
    allocation.consumer_type = wire.consumer_type();
    allocation.consumer_generation = wire.generation();
    for (const auto& [name, amount] : held.resources()) {
      allocation.amounts[name] = std::clamp<int64_t>(amount, 0, kRecordAmountMax);
    }
    records->allocations.push_back(std::move(allocation));
  }
}

// Removes those elements of `list` whose `key` a push removes or replaces.
template <typename Element, typename Removed, typename Replaced>
void Erase(const Removed& removed, const Replaced& replaced, Uuid Element::*key,
           std::vector<Element>* list) {
  std::set<Uuid> uuids;
  for (const std::string& uuid : removed) uuids.insert(UuidOrNil(uuid));
  for (const auto& one : replaced) uuids.insert(UuidOrNil(one.uuid()));
  std::erase_if(*list, [&](const Element& one) { return uuids.count(one.*key) != 0; });
}

void ApplyTree(const v1::Push& push, Records* records) {
  if (push.complete()) {
    records->tree.clear();
    records->allocations.clear();
  }
  Erase(push.removed_provider_uuids(), push.providers(), &KnownProvider::uuid, &records->tree);
  for (KnownProvider& provider : ReadProviders(push.providers(), UuidOrNil(push.node_uuid()))) {
    records->tree.push_back(std::move(provider));
  }
  Erase(push.removed_consumer_uuids(), push.consumers(), &KnownAllocation::consumer_uuid,
        &records->allocations);
  for (const v1::Consumer& consumer : push.consumers()) ReadConsumer(consumer, records);
  for (const v1::Migration& wire : push.migrations()) {
    const Migration migration = ReadMigration(wire);
    for (KnownAllocation& allocation : records->allocations) {
      if (allocation.consumer_uuid == migration.uuid) {
        allocation.instance_uuid = migration.instance_uuid;
      }
    }
  }
}

// Returns whether the account got another record. `Message`: a Push or a RecordAnswer.
template <typename Message>
bool ApplyRecords(const Message& push, NodeAccount* account) {
  bool changed = false;
  for (const v1::Instance& wire : push.instances()) {
    if (account->HasInstance(UuidOrNil(wire.uuid()), wire.generation())) continue;
    account->PutInstance(ReadInstance(wire));
    changed = true;
  }
  for (const v1::Migration& wire : push.migrations()) {
    if (account->HasMigration(UuidOrNil(wire.uuid()), wire.generation())) continue;
    account->PutMigration(ReadMigration(wire));
    changed = true;
  }
  for (const std::string& uuid : push.removed_instance_uuids()) {
    changed = account->DropInstance(UuidOrNil(uuid)) || changed;
  }
  for (const std::string& uuid : push.removed_migration_uuids()) {
    changed = account->DropMigration(UuidOrNil(uuid)) || changed;
  }
  return changed;
}

void ReplaceRecords(const v1::Push& push, NodeAccount* account) {
  std::vector<Instance> instances;
  for (const v1::Instance& wire : push.instances()) instances.push_back(ReadInstance(wire));
  std::vector<Migration> migrations;
  for (const v1::Migration& wire : push.migrations()) migrations.push_back(ReadMigration(wire));
  account->ReplaceRecords(std::move(instances), std::move(migrations));
}

}  // namespace

bool ApplyPush(const v1::Push& push, const v1::Revision& revision, Records* records,
               NodeAccount* account) {
  // While recovery is required, the database has gone back to an earlier state, so later changes
  // cannot be based on this revision.
  const bool usable = revision.number() > 0 && !revision.recovery_required();
  if (usable && (push.complete() || records->told_up_to)) {
    records->told_up_to = LedgerRevision{revision.epoch(), revision.number(), revision.batch()};
  } else {
    records->told_up_to.reset();
  }
  bool changed = push.complete() || push.has_service() || push.providers_size() > 0 ||
                 push.removed_provider_uuids_size() > 0 || push.consumers_size() > 0 ||
                 push.removed_consumer_uuids_size() > 0;
  ApplyTree(push, records);
  if (push.complete()) {
    ReplaceRecords(push, account);
  } else {
    changed = ApplyRecords(push, account) || changed;
  }
  if (push.has_service()) records->service_disabled = push.service().disabled();
  return changed;
}

bool ApplyAnswer(const v1::RecordAnswer& answer, NodeAccount* account) {
  return ApplyRecords(answer, account);
}

}  // namespace berth::tracker
