#include "placement/reads/record_query.h"

#include <algorithm>

#include "placement/values/faults.h"
#include "placement/values/migration_status.h"

namespace berth::placement {
namespace {

// Whether `word` is one of `words`. Without words, every word is.
bool IsOneOf(const std::vector<std::string>& words, const std::string& word) {
  return words.empty() || std::find(words.begin(), words.end(), word) != words.end();
}

bool Passes(const InstanceFilter& filter, const InstanceRecord& instance) {
  return (!filter.host || instance.host == *filter.host) &&
         (!filter.node || instance.node == *filter.node) &&
         (!filter.project || instance.project == *filter.project) &&
         IsOneOf(filter.vm_states, instance.vm_state) &&
         (filter.include_deleted || !instance.deleted_at);
}

bool Passes(const MigrationFilter& filter, const MigrationRecord& migration) {
  if (filter.host && migration.source_host != *filter.host &&
      migration.destination_host != *filter.host) {
    return false;
  }
  if (filter.node && migration.source_node != *filter.node &&
      migration.destination_node != *filter.node) {
    return false;
  }
  if (filter.instance && migration.instance != *filter.instance) return false;
  if (filter.in_progress && IsInProgress(migration.status) != *filter.in_progress) return false;
  return IsOneOf(filter.statuses, migration.status);
}

// Adds the record to the page if it passes. If the page is full, sets `more` and returns false.
template <typename Filter, typename Pointer>
bool Add(const Filter& filter, const Pointer& record, int limit, RecordPage<Pointer>& page) {
  if (!Passes(filter, *record)) return true;
  page.more = static_cast<int>(page.records.size()) == limit;
  if (page.more) return false;
  page.records.push_back(record);
  return true;
}

// One page of the records in `some` that pass the filter. `some` is in order of id.
template <typename Filter, typename Pointer, typename IdType>
RecordPage<Pointer> ListSome(const std::vector<Pointer>& some, const Filter& filter,
                             std::optional<IdType> after, int limit) {
  RecordPage<Pointer> page;
  for (const Pointer& record : some) {
    if (after && record->id <= *after) continue;
    if (!Add(filter, record, limit, page)) break;
  }
  return page;
}

// One page of the records in `map` that pass the filter.
template <typename Filter, typename Pointer, typename IdType>
RecordPage<Pointer> ListAll(const PersistentMap<IdType, Pointer>& map, const Filter& filter,
                            std::optional<IdType> after, int limit) {
  RecordPage<Pointer> page;
  const auto add = [&](const IdType&, const Pointer& record) {
    return Add(filter, record, limit, page);
  };
  after ? map.ForEachFrom(*after, add) : map.ForEach(add);
  return page;
}

}  // namespace

absl::Status CheckSize(const InstanceFilter& filter) {
  Faults faults;
  AtMostField(faults, "vm_states", filter.vm_states.size(), kTermsMax);
  return faults.status();
}

absl::Status CheckSize(const MigrationFilter& filter) {
  Faults faults;
  AtMostField(faults, "statuses", filter.statuses.size(), kTermsMax);
  return faults.status();
}

RecordPage<InstancePtr> ListInstances(const Records& records, const InstanceFilter& filter,
                                      std::optional<InstanceId> after, int limit) {
  if (filter.host && !filter.host->empty()) {
    return ListSome(records.InstancesOf(*filter.host), filter, after, limit);
  }
  return ListAll(records.instances(), filter, after, limit);
}

RecordPage<MigrationPtr> ListMigrations(const Records& records, const MigrationFilter& filter,
                                        std::optional<MigrationId> after, int limit) {
  if (filter.instance) {
    return ListSome(records.MigrationsOf(*filter.instance), filter, after, limit);
  }
  if (filter.host && !filter.host->empty()) {
    // What is in progress may hold resources.
    const auto some = filter.in_progress == true ? records.MovesOf(*filter.host)
                                                 : records.MigrationsOf(*filter.host);
    return ListSome(some, filter, after, limit);
  }
  return ListAll(records.migrations(), filter, after, limit);
}

}  // namespace berth::placement
