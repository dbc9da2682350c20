// Conversion of the records of instances and migrations, and of server groups, between proto messages and domain types.
// Pure.
#ifndef BERTH_SERVICES_WIRE_INSTANCE_H_
#define BERTH_SERVICES_WIRE_INSTANCE_H_

#include <string>

#include "absl/status/statusor.h"
#include "berth/placement/v1/instance.pb.h"
#include "berth/placement/v1/record.pb.h"
#include "berth/placement/v1/server_group.pb.h"
#include "placement/commands/command.h"
#include "placement/records/group_message.h"
#include "placement/records/message.h"
#include "services/wire/form.h"
#include "services/wire/write_answer.h"

namespace berth::services {

using placement::FillInstance;
using placement::FillMigration;
using placement::FillServerGroup;

// INVALID_FIELD if a number in the cells, PCI requests or retries of `instance`, or in its migration
// context, is outside of the range that record.proto gives it. `path`: of the instance.
absl::Status CheckNumbers(const std::string& path, const pb::Instance& instance);

// Return the record that a message holds, without its generation and times. Fail with INVALID_FIELD
// for a misspelled uuid or, in an instance, a missing flavor or what CheckNumbers refuses. `path`: of
// the instance in the request. The fields of a migration are named `migration.uuid` and so on.
absl::StatusOr<placement::InstanceRecord> InstanceOf(const std::string& path,
                                                     const pb::Instance& from);
absl::StatusOr<placement::MigrationRecord> MigrationOf(const pb::Migration& from);

absl::StatusOr<placement::CommandBody> SetInstanceCommand(const pb::SetInstanceRequest&);
absl::StatusOr<placement::CommandBody> DeleteInstanceCommand(const pb::DeleteInstanceRequest&);
absl::StatusOr<placement::CommandBody> CreateMigrationCommand(const pb::CreateMigrationRequest&);
absl::StatusOr<placement::CommandBody> UpdateMigrationCommand(const pb::UpdateMigrationRequest&);
absl::StatusOr<placement::CommandBody> EndMoveCommand(const pb::EndMoveRequest&);

// The group that a message describes, without its generation and times. INVALID_FIELD for a
// misspelled uuid. `path`: of the group in the request.
absl::StatusOr<placement::ServerGroup> ServerGroupOf(const std::string& path,
                                                     const pb::ServerGroup& from);

absl::StatusOr<placement::CommandBody> SetServerGroupCommand(const pb::SetServerGroupRequest&);
absl::StatusOr<placement::CommandBody> UpdateServerGroupMembersCommand(
    const pb::UpdateServerGroupMembersRequest&);
absl::StatusOr<placement::CommandBody> DeleteServerGroupCommand(
    const pb::DeleteServerGroupRequest&);

// Says in the command, if it names a tracker process (TrackerProcess), that the caller is the tracker
// that its certificate names. REQUIRES: the certificate names the host of the process.
void SetIdentified(placement::CommandBody* command);

// Fill `response` with the records as the command left them.
void FillSetInstance(const WriteAnswer& answer, pb::SetInstanceResponse* response);
void FillCreateMigration(const WriteAnswer& answer, pb::CreateMigrationResponse* response);
void FillUpdateMigration(const WriteAnswer& answer, pb::UpdateMigrationResponse* response);
void FillEndMove(const WriteAnswer& answer, pb::EndMoveResponse* response);
void FillSetServerGroup(const WriteAnswer& answer, pb::SetServerGroupResponse* response);

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_INSTANCE_H_
