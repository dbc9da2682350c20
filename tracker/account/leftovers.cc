#include "tracker/account/leftovers.h"

#include "tracker/account/migration_status.h"

namespace berth::tracker {
namespace {

const Instance* FindRecord(const std::map<Uuid, Instance>& records, const Uuid& uuid) {
  const auto found = records.find(uuid);
  return found == records.end() ? nullptr : &found->second;
}

ConsumerVerdict VerdictOf(const HostAndNode& self, const Instance* instance) {
  if (instance == nullptr) return ConsumerVerdict::kUnknown;
  if (instance->deleted) {
    return instance->hidden ? ConsumerVerdict::kHidden : ConsumerVerdict::kDeleted;
  }
  if (instance->on.host.empty()) return ConsumerVerdict::kUnplaced;
  return instance->on == self ? ConsumerVerdict::kUntracked : ConsumerVerdict::kElsewhere;
}

}  // namespace

std::vector<JudgedConsumer> JudgeConsumers(const NodeAccount& account,
                                           const std::map<Uuid, Instance>& records,
                                           const std::set<Uuid>& consumers) {
  std::set<Uuid> migrations;
  for (const auto& [instance, migration] : account.tracked_migrations()) {
    migrations.insert(migration);
  }
  std::vector<JudgedConsumer> judged;
  for (const Uuid& uuid : consumers) {
    JudgedConsumer consumer{uuid, ConsumerVerdict::kTracked, false};
    if (!account.IsTracked(uuid)) {
      const Instance* record = FindRecord(records, uuid);
      consumer.verdict = migrations.count(uuid) != 0 ? ConsumerVerdict::kMigration
                                                     : VerdictOf(account.self(), record);
      consumer.warn =
          consumer.verdict == ConsumerVerdict::kElsewhere ||
          (consumer.verdict == ConsumerVerdict::kUntracked && record->task_state.empty());
    }
    judged.push_back(consumer);
  }
  return judged;
}

std::vector<EvacuatedGuest> FindEvacuated(const std::string& host, const std::set<Uuid>& nodes,
                                          const std::set<Uuid>& guests,
                                          const std::map<Uuid, Migration>& migrations,
                                          const std::map<Uuid, Instance>& records) {
  std::vector<EvacuatedGuest> evacuated;
  for (const auto& [uuid, migration] : migrations) {
    if (migration.type != MigrationType::kEvacuation || migration.source.host != host ||
        !StatusOf(migration.status).leaves_guest || guests.count(migration.instance_uuid) == 0) {
      continue;
    }
    const Instance* instance = FindRecord(records, migration.instance_uuid);
    EvacuatedGuest guest{uuid, migration.instance_uuid, EvacuationCleanup::kDestroy,
                         instance == nullptr || instance->deleted};
    if (!guest.instance_gone && instance->on.host == host) {
      guest.cleanup = EvacuationCleanup::kKeepAndFail;
    } else if (!guest.instance_gone && nodes.count(migration.source.node_uuid) == 0) {
      guest.cleanup = EvacuationCleanup::kDestroyOnly;
    }
    evacuated.push_back(guest);
  }
  return evacuated;
}

}  // namespace berth::tracker
