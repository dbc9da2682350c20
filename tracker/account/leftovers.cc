#include "tracker/account/leftovers.h"

#include <algorithm>

#include "tracker/account/gates.h"
#include "tracker/account/migration_status.h"

namespace berth::tracker {
namespace {

const Instance* FindRecord(const std::map<std::string, Instance>& records,
                           const std::string& uuid) {
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

ConsumerJudgement JudgeConsumers(const NodeAccount& account,
                                 const std::map<std::string, Instance>& records,
                                 const std::set<std::string>& consumers,
                                 const UnknownConsumers& before, absl::Time now,
                                 absl::Duration leak_age) {
  std::set<std::string> migrations;
  for (const auto& [instance, migration] : account.tracked_migrations()) {
    migrations.insert(migration);
  }
  ConsumerJudgement judgement;
  for (const std::string& uuid : consumers) {
    JudgedConsumer consumer{uuid, ConsumerVerdict::kTracked, false};
    if (!account.IsTracked(uuid)) {
      const Instance* record = FindRecord(records, uuid);
      consumer.verdict = migrations.count(uuid) != 0 ? ConsumerVerdict::kMigration
                                                     : VerdictOf(account.self(), record);
      consumer.warn =
          consumer.verdict == ConsumerVerdict::kElsewhere ||
          (consumer.verdict == ConsumerVerdict::kUntracked && record->task_state.empty());
    }
    if (consumer.verdict == ConsumerVerdict::kUnknown) {
      const auto seen = before.find(uuid);
      const absl::Time since = seen == before.end() ? now : seen->second;
      judgement.unknown.emplace(uuid, since);
      if (seen != before.end() && now >= since + leak_age) {
        judgement.leak_candidates.push_back(uuid);
      }
    }
    judgement.consumers.push_back(std::move(consumer));
  }
  return judgement;
}

std::vector<EvacuatedGuest> FindEvacuated(const std::string& host,
                                          const std::set<std::string>& nodes,
                                          const std::set<std::string>& guests,
                                          const std::vector<Migration>& migrations,
                                          const std::map<std::string, Instance>& records) {
  std::vector<EvacuatedGuest> evacuated;
  for (const Migration& migration : migrations) {
    if (migration.type != MigrationType::kEvacuation || migration.source.host != host ||
        !StatusOf(migration.status).leaves_guest || guests.count(migration.instance_uuid) == 0) {
      continue;
    }
    const Instance* instance = FindRecord(records, migration.instance_uuid);
    EvacuatedGuest guest{migration.uuid, migration.instance_uuid, EvacuationCleanup::kDestroy,
                         instance == nullptr || instance->deleted};
    if (!guest.instance_gone && instance->on.host == host) {
      guest.cleanup = EvacuationCleanup::kKeepAndFail;
    } else if (!guest.instance_gone && nodes.count(migration.source.node_uuid) == 0) {
      guest.cleanup = EvacuationCleanup::kDestroyOnly;
    }
    evacuated.push_back(std::move(guest));
  }
  std::sort(evacuated.begin(), evacuated.end(),
            [](const EvacuatedGuest& a, const EvacuatedGuest& b) {
              return a.migration_uuid < b.migration_uuid;
            });
  return evacuated;
}

std::vector<std::string> FindUntouched(const std::vector<Migration>& migrations, absl::Time now,
                                       absl::Duration age) {
  std::vector<std::string> untouched;
  for (const Migration& migration : migrations) {
    if (StatusOf(migration.status).progress != Progress::kInProgress) continue;
    if (migration.status == "finished") continue;
    if (now - migration.updated_at.value_or(migration.created_at) > age) {
      untouched.push_back(migration.uuid);
    }
  }
  std::sort(untouched.begin(), untouched.end());
  return untouched;
}

}  // namespace berth::tracker
