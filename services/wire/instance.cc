#include "services/wire/instance.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "placement/ground/check.h"
#include "placement/values/faults.h"

namespace berth::services {

using placement::Generation;
using placement::InstanceId;
using placement::InstanceRecord;
using placement::MigrationId;
using placement::MigrationRecord;
using placement::ProviderId;
using placement::ServerGroup;
using placement::ServerGroupId;

namespace {

absl::Status ReadNode(absl::string_view field, const std::string& text,
                      std::optional<ProviderId>* to) {
  if (text.empty()) return absl::OkStatus();
  BERTH_ASSIGN_OR_RETURN(*to, ParseId<ProviderId>(field, text));
  return absl::OkStatus();
}

constexpr int kIdMax = 65535;        // of host cells, host CPUs and virtual CPUs
constexpr int kPageSizeMin = -3;     // -1, -2 and -3 are words for sizes
constexpr int kPciRequestMax = 256;  // devices of one request

absl::Status InRange(const std::string& field, int64_t value, int64_t min, int64_t max) {
  if (value >= min && value <= max) return absl::OkStatus();
  return InvalidField(field, absl::StrCat("must be ", min, " to ", max, ", but is ", value));
}

absl::Status IsAmount(const std::string& field, int64_t value) {
  return InRange(field, value, 0, placement::kAmountMax);
}

template <typename Ids>
absl::Status AreIds(const std::string& field, const Ids& ids) {
  for (const int id : ids) BERTH_RETURN_IF_ERROR(InRange(field, id, 0, kIdMax));
  return absl::OkStatus();
}

template <typename Cells>
absl::Status CheckCells(const std::string& path, const Cells& cells) {
  for (int i = 0; i < cells.size(); ++i) {
    const pb::GuestCell& cell = cells[i];
    const std::string at = absl::StrCat(path, "[", i, "]");
    if (cell.has_host_cell()) {
      BERTH_RETURN_IF_ERROR(InRange(at + ".host_cell", cell.host_cell(), 0, kIdMax));
    }
    BERTH_RETURN_IF_ERROR(AreIds(at + ".shared_cpus", cell.shared_cpus()));
    BERTH_RETURN_IF_ERROR(AreIds(at + ".pinned_cpus", cell.pinned_cpus()));
    BERTH_RETURN_IF_ERROR(AreIds(at + ".reserved_cpus", cell.reserved_cpus()));
    for (const auto& [vcpu, cpu] : cell.pinning()) {
      BERTH_RETURN_IF_ERROR(InRange(at + ".pinning", vcpu, 0, kIdMax));
      BERTH_RETURN_IF_ERROR(InRange(at + ".pinning", cpu, 0, kIdMax));
    }
    BERTH_RETURN_IF_ERROR(IsAmount(at + ".memory_mib", cell.memory_mib()));
    BERTH_RETURN_IF_ERROR(
        InRange(at + ".page_size_kib", cell.page_size_kib(), kPageSizeMin, placement::kAmountMax));
  }
  return absl::OkStatus();
}

template <typename Requests>
absl::Status CheckRequests(const std::string& path, const Requests& requests) {
  for (int i = 0; i < requests.size(); ++i) {
    const std::string at = absl::StrCat(path, "[", i, "]");
    BERTH_RETURN_IF_ERROR(InRange(at + ".count", requests[i].count(), 1, kPciRequestMax));
    if (requests[i].provider_uuids_size() <= requests[i].count()) continue;
    return InvalidField(at + ".provider_uuids", "must name no more providers than devices");
  }
  return absl::OkStatus();
}

absl::Status CheckFlavor(const std::string& path, const pb::Flavor& flavor) {
  BERTH_RETURN_IF_ERROR(IsAmount(path + ".vcpus", flavor.vcpus()));
  BERTH_RETURN_IF_ERROR(IsAmount(path + ".memory_mib", flavor.memory_mib()));
  BERTH_RETURN_IF_ERROR(IsAmount(path + ".root_disk_gib", flavor.root_disk_gib()));
  BERTH_RETURN_IF_ERROR(IsAmount(path + ".ephemeral_disk_gib", flavor.ephemeral_disk_gib()));
  return IsAmount(path + ".swap_mib", flavor.swap_mib());
}

absl::Status CheckContext(const std::string& path, const pb::MigrationContext& context) {
  BERTH_RETURN_IF_ERROR(CheckFlavor(path + ".old_flavor", context.old_flavor()));
  BERTH_RETURN_IF_ERROR(CheckFlavor(path + ".new_flavor", context.new_flavor()));
  BERTH_RETURN_IF_ERROR(CheckCells(path + ".old_numa_cells", context.old_numa_cells()));
  BERTH_RETURN_IF_ERROR(CheckCells(path + ".new_numa_cells", context.new_numa_cells()));
  BERTH_RETURN_IF_ERROR(CheckRequests(path + ".old_pci_requests", context.old_pci_requests()));
  return CheckRequests(path + ".new_pci_requests", context.new_pci_requests());
}

// Fill in the record that the command has put, if it has put one.
template <typename Response>
void FillPutInstance(const WriteAnswer& answer, Response* response) {
  for (const placement::Change& change : *answer.decision.changes) {
    const auto* put = std::get_if<placement::InstancePut>(&change);
    if (put != nullptr) FillInstance(*put->instance, response->mutable_instance());
  }
}
template <typename Response>
void FillPutMigration(const WriteAnswer& answer, Response* response) {
  for (const placement::Change& change : *answer.decision.changes) {
    const auto* put = std::get_if<placement::MigrationPut>(&change);
    if (put != nullptr) FillMigration(*put->migration, response->mutable_migration());
  }
}

template <typename Kind>
void SetIdentifiedIn(placement::CommandBody* body) {
  auto* const command = std::get_if<Kind>(body);
  if (command != nullptr && command->tracker) command->tracker->identified = true;
}

// The tracker process that the request names; none if it names none.
template <typename Request>
absl::StatusOr<std::optional<placement::TrackerProcess>> TrackerOf(const Request& request) {
  std::optional<placement::TrackerProcess> tracker;
  if (!request.has_tracker()) return tracker;
  const std::optional<placement::Uuid> incarnation =
      placement::Uuid::Parse(request.tracker().incarnation());
  if (!incarnation) return InvalidField("tracker.incarnation", "is not a uuid");
  tracker = placement::TrackerProcess{request.tracker().host(), *incarnation};
  return tracker;
}

template <typename Texts>
absl::StatusOr<std::vector<InstanceId>> InstancesOf(const char* list, const Texts& texts) {
  std::vector<InstanceId> ids;
  for (int i = 0; i < texts.size(); ++i) {
    BERTH_ASSIGN_OR_RETURN(ids.emplace_back(),
                           ParseId<InstanceId>(absl::StrCat(list, "[", i, "]"), texts[i]));
  }
  return ids;
}

}  // namespace

absl::Status CheckNumbers(const std::string& path, const pb::Instance& instance) {
  BERTH_RETURN_IF_ERROR(CheckCells(path + ".numa_cells", instance.numa_cells()));
  BERTH_RETURN_IF_ERROR(CheckRequests(path + ".pci_requests", instance.pci_requests()));
  BERTH_RETURN_IF_ERROR(IsAmount(path + ".retry.attempts", instance.retry().attempts()));
  return CheckContext(path + ".migration_context", instance.migration_context());
}

absl::StatusOr<InstanceRecord> InstanceOf(const std::string& path, const pb::Instance& from) {
  BERTH_RETURN_IF_ERROR(ParseId<InstanceId>(path + ".uuid", from.uuid()).status());
  if (!from.has_flavor()) return InvalidField(path + ".flavor", "is required");
  pb::Instance instance = from;
  BERTH_RETURN_IF_ERROR(MakeUuidsCanonical(path, &instance));
  BERTH_RETURN_IF_ERROR(CheckNumbers(path, instance));
  return placement::InstanceFrom(std::move(instance));
}

absl::StatusOr<MigrationRecord> MigrationOf(const pb::Migration& from) {
  const std::string path = "migration";
  BERTH_RETURN_IF_ERROR(ParseId<MigrationId>(path + ".uuid", from.uuid()).status());
  BERTH_RETURN_IF_ERROR(
      ParseId<InstanceId>(path + ".instance_uuid", from.instance_uuid()).status());
  pb::Migration migration = from;
  BERTH_RETURN_IF_ERROR(MakeUuidsCanonical(path, &migration));
  return placement::MigrationFrom(std::move(migration));
}

absl::StatusOr<placement::CommandBody> SetInstanceCommand(const pb::SetInstanceRequest& request) {
  if (!request.has_instance()) return InvalidField("instance", "is required");
  BERTH_ASSIGN_OR_RETURN(auto record, InstanceOf("instance", request.instance()));
  BERTH_ASSIGN_OR_RETURN(auto tracker, TrackerOf(request));
  return placement::SetInstance{std::move(record), ExpectedGeneration(request), std::move(tracker),
                                request.reason()};
}

absl::StatusOr<placement::CommandBody> DeleteInstanceCommand(
    const pb::DeleteInstanceRequest& request) {
  BERTH_ASSIGN_OR_RETURN(const auto id,
                         ParseId<InstanceId>("instance_uuid", request.instance_uuid()));
  return placement::DeleteInstance{id, ExpectedGeneration(request), request.reason(),
                                   request.release()};
}

absl::StatusOr<placement::CommandBody> CreateMigrationCommand(
    const pb::CreateMigrationRequest& request) {
  if (!request.has_migration()) return InvalidField("migration", "is required");
  BERTH_ASSIGN_OR_RETURN(auto record, MigrationOf(request.migration()));
  BERTH_ASSIGN_OR_RETURN(auto tracker, TrackerOf(request));
  return placement::CreateMigration{std::move(record), std::move(tracker), request.reason()};
}

absl::StatusOr<placement::CommandBody> UpdateMigrationCommand(
    const pb::UpdateMigrationRequest& request) {
  BERTH_ASSIGN_OR_RETURN(const auto id,
                         ParseId<MigrationId>("migration_uuid", request.migration_uuid()));
  BERTH_ASSIGN_OR_RETURN(auto tracker, TrackerOf(request));
  placement::UpdateMigration command{id, request.expected_status(), request.status(), {},
                                     {}, std::move(tracker),        request.reason()};
  if (request.has_destination_host()) command.destination_host = request.destination_host();
  if (request.has_destination_node_uuid()) {
    BERTH_RETURN_IF_ERROR(ReadNode("destination_node_uuid", request.destination_node_uuid(),
                                   &command.destination_node.emplace()));
  }
  return command;
}

absl::StatusOr<placement::CommandBody> EndMoveCommand(const pb::EndMoveRequest& request) {
  placement::EndMove command;
  BERTH_ASSIGN_OR_RETURN(command.migration,
                         ParseId<MigrationId>("migration_uuid", request.migration_uuid()));
  command.end = static_cast<placement::MoveEnd>(request.end());
  command.expected_generation = ExpectedGeneration(request);
  if (request.has_instance()) {
    BERTH_ASSIGN_OR_RETURN(auto record, InstanceOf("instance", request.instance()));
    command.instance = std::make_shared<const InstanceRecord>(std::move(record));
  }
  if (request.has_expected_instance_generation()) {
    command.expected_instance_generation = Generation{request.expected_instance_generation()};
  }
  if (request.has_expected_instance_consumer_generation()) {
    command.expected_instance_consumer =
        Generation{request.expected_instance_consumer_generation()};
  }
  if (request.has_expected_migration_consumer_generation()) {
    command.expected_migration_consumer =
        Generation{request.expected_migration_consumer_generation()};
  }
  BERTH_ASSIGN_OR_RETURN(command.tracker, TrackerOf(request));
  command.reason = request.reason();
  return command;
}

void SetIdentified(placement::CommandBody* command) {
  SetIdentifiedIn<placement::SetInstance>(command);
  SetIdentifiedIn<placement::CreateMigration>(command);
  SetIdentifiedIn<placement::UpdateMigration>(command);
  SetIdentifiedIn<placement::EndMove>(command);
}

void FillSetInstance(const WriteAnswer& answer, pb::SetInstanceResponse* response) {
  FillPutInstance(answer, response);
}

void FillCreateMigration(const WriteAnswer& answer, pb::CreateMigrationResponse* response) {
  FillPutMigration(answer, response);
}

void FillUpdateMigration(const WriteAnswer& answer, pb::UpdateMigrationResponse* response) {
  FillPutMigration(answer, response);
}

void FillEndMove(const WriteAnswer& answer, pb::EndMoveResponse* response) {
  FillPutMigration(answer, response);
  FillPutInstance(answer, response);
  // The migration's consumer holds nothing now, so it is not among these.
  for (const auto& [consumer, generation] : answer.decision.result.consumers) {
    response->set_instance_consumer_generation(generation.value);
  }
}

absl::StatusOr<ServerGroup> ServerGroupOf(const std::string& path, const pb::ServerGroup& from) {
  BERTH_RETURN_IF_ERROR(ParseId<ServerGroupId>(path + ".uuid", from.uuid()).status());
  pb::ServerGroup message = from;
  message.clear_generation();
  message.clear_created_at();
  message.clear_updated_at();
  std::optional<ServerGroup> group = placement::ServerGroupFrom(message);
  BERTH_CHECK(group.has_value());  // its uuid has been parsed
  return *std::move(group);
}

absl::StatusOr<placement::CommandBody> SetServerGroupCommand(
    const pb::SetServerGroupRequest& request) {
  if (!request.has_group()) return InvalidField("group", "is required");
  BERTH_ASSIGN_OR_RETURN(ServerGroup group, ServerGroupOf("group", request.group()));
  return placement::SetServerGroup{std::move(group), ExpectedGeneration(request)};
}

absl::StatusOr<placement::CommandBody> UpdateServerGroupMembersCommand(
    const pb::UpdateServerGroupMembersRequest& request) {
  placement::UpdateServerGroupMembers command;
  BERTH_ASSIGN_OR_RETURN(command.group, ParseId<ServerGroupId>("group_uuid", request.group_uuid()));
  BERTH_ASSIGN_OR_RETURN(command.add,
                         InstancesOf("add_instance_uuids", request.add_instance_uuids()));
  BERTH_ASSIGN_OR_RETURN(command.remove,
                         InstancesOf("remove_instance_uuids", request.remove_instance_uuids()));
  return command;
}

absl::StatusOr<placement::CommandBody> DeleteServerGroupCommand(
    const pb::DeleteServerGroupRequest& request) {
  BERTH_ASSIGN_OR_RETURN(const auto id, ParseId<ServerGroupId>("group_uuid", request.group_uuid()));
  return placement::DeleteServerGroup{id, ExpectedGeneration(request)};
}

void FillSetServerGroup(const WriteAnswer& answer, pb::SetServerGroupResponse* response) {
  for (const placement::Change& change : *answer.decision.changes) {
    const auto* put = std::get_if<placement::ServerGroupPut>(&change);
    if (put != nullptr) FillServerGroup(*put->group, response->mutable_group());
  }
}

}  // namespace berth::services
