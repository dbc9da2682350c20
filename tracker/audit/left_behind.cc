#include "tracker/audit/left_behind.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "tracker/account/leftovers.h"

namespace berth::tracker {
namespace {

constexpr char kInstanceType[] = "INSTANCE";
constexpr char kMigrationType[] = "MIGRATION";
constexpr char kDeletedInstanceType[] = "DELETED_INSTANCE";

std::string SentenceOf(const EvacuatedGuest& evacuated, const NodeAccount& account) {
  const std::string guest =
      absl::StrCat("the guest of instance ", evacuated.instance_uuid.ToString());
  const std::string evacuation = absl::StrCat("evacuation ", evacuated.migration_uuid.ToString());
  if (evacuated.cleanup == EvacuationCleanup::kKeepAndFail) {
    return absl::StrCat(guest, " must stay, because the instance is still on this host, but ",
                        evacuation, " has not ended: end it as failed");
  }
  const auto instance = account.instances().find(evacuated.instance_uuid);
  const std::string where = evacuated.instance_gone
                                ? ", and the instance is gone"
                                : absl::StrCat(" to host ", instance->second.on.host);
  return absl::StrCat(guest, " was left behind by ", evacuation, where, ": destroy the guest");
}

// The guests, in no order.
std::vector<LeftBehind> FindGuests(const NodeAccount& account, const std::vector<Guest>& guests) {
  std::vector<LeftBehind> found;
  std::set<Uuid> uuids;
  for (const Guest& guest : guests) {
    uuids.insert(guest.uuid);
    const auto instance = account.instances().find(guest.uuid);
    if (instance == account.instances().end()) continue;
    if (!instance->second.deleted || instance->second.hidden) continue;
    found.push_back({guest.uuid, absl::StrCat("guest ", guest.name, " (", guest.uuid.ToString(),
                                              ") exists, but its instance is deleted")});
  }
  for (const EvacuatedGuest& evacuated :
       FindEvacuated(account.self().host, {account.self().node_uuid}, uuids, account.migrations(),
                     account.instances())) {
    found.push_back({evacuated.instance_uuid, SentenceOf(evacuated, account)});
  }
  return found;
}

std::string SentenceOf(const JudgedConsumer& consumer, const NodeAccount& account) {
  const auto instance = [&](const std::string& what) {
    return absl::StrCat("instance ", consumer.uuid.ToString(), " ", what,
                        ", and still has allocations on this node");
  };
  switch (consumer.verdict) {
    case ConsumerVerdict::kDeleted:
      if (account.instances().contains(consumer.uuid)) return instance("is deleted");
      // There may be a new record, of another node.
      return absl::StrCat(
          "consumer ", consumer.uuid.ToString(),
          " has allocations on this node from before the record of its instance was "
          "deleted");
    case ConsumerVerdict::kElsewhere:
      return instance(absl::StrCat("is on host ", account.instances().at(consumer.uuid).on.host));
    case ConsumerVerdict::kUntracked:
      return instance(absl::StrCat("is ", account.instances().at(consumer.uuid).vm_state));
    default:
      return absl::StrCat("consumer ", consumer.uuid.ToString(),
                          " has allocations on this node, and no record of an instance or a "
                          "migration on this node has its uuid");
  }
}

}  // namespace

std::vector<LeftBehind> FindLeftBehind(const NodeAccount& account, const Records& records,
                                       const std::vector<Guest>& guests) {
  std::vector<LeftBehind> found = FindGuests(account, guests);
  std::sort(found.begin(), found.end(),
            [](const LeftBehind& a, const LeftBehind& b) { return a.uuid < b.uuid; });
  std::set<Uuid> consumers;
  std::set<Uuid> with_record;  // those consumers whose type says that they have a record
  std::set<Uuid> deleted;      // those whose type says that their record was deleted
  for (const KnownAllocation& allocation : records.allocations) {
    if (allocation.amounts.empty()) continue;
    consumers.insert(allocation.consumer_uuid);
    if (allocation.consumer_type == kInstanceType || allocation.consumer_type == kMigrationType) {
      with_record.insert(allocation.consumer_uuid);
    }
    if (allocation.consumer_type == kDeletedInstanceType) deleted.insert(allocation.consumer_uuid);
  }
  for (JudgedConsumer& consumer : JudgeConsumers(account, account.instances(), consumers)) {
    const bool has_record = consumer.verdict != ConsumerVerdict::kUnknown;
    if (!has_record && deleted.contains(consumer.uuid)) {
      consumer.verdict = ConsumerVerdict::kDeleted;
    }
    const bool unknown = consumer.verdict == ConsumerVerdict::kUnknown &&
                         with_record.contains(consumer.uuid) && !account.instances().empty();
    if (unknown || consumer.warn || consumer.verdict == ConsumerVerdict::kDeleted) {
      found.push_back({consumer.uuid, SentenceOf(consumer, account), unknown});
    }
  }
  return found;
}

}  // namespace berth::tracker
