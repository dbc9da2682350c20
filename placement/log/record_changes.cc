#include "placement/log/record_changes.h"

#include <utility>

#include "placement/log/id_messages.h"
#include "placement/records/aggregate_message.h"
#include "placement/records/group_message.h"
#include "placement/records/message.h"

namespace berth::placement {
namespace {

// The change that puts the record; none if its bytes could not be read.
template <typename Put, typename RecordPtr>
std::optional<Change> PutOf(RecordPtr record) {
  if (record == nullptr) return std::nullopt;
  return Put{std::move(record)};
}

}  // namespace

std::optional<Change> DecodeRecordChange(const ledger::v1::Change& in) {
  if (in.has_aggregate_put()) return PutOf<AggregatePut>(StoredAggregateIn(in.aggregate_put()));
  if (in.has_aggregate_removed()) {
    return AggregateRemoved{AggregateId{DecodeId(in.aggregate_removed())}};
  }
  if (in.has_server_group_put()) {
    return PutOf<ServerGroupPut>(StoredServerGroupIn(in.server_group_put()));
  }
  if (in.has_server_group_removed()) {
    return ServerGroupRemoved{ServerGroupId{DecodeId(in.server_group_removed())}};
  }
  if (in.has_instance_put()) return PutOf<InstancePut>(StoredInstanceIn(in.instance_put()));
  if (in.has_migration_put()) return PutOf<MigrationPut>(StoredMigrationIn(in.migration_put()));
  if (in.has_instance_removed()) {
    return InstanceRemoved{InstanceId{DecodeId(in.instance_removed())}};
  }
  return MigrationRemoved{MigrationId{DecodeId(in.migration_removed())}};
}

}  // namespace berth::placement
