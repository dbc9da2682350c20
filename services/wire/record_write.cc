#include "services/wire/record_write.h"

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "berth/placement/v1/record.pb.h"
#include "placement/values/faults.h"
#include "services/wire/instance.h"

namespace berth::services {

using placement::InstanceId;
using placement::MigrationId;
using placement::ProviderId;

namespace {

absl::StatusOr<std::optional<ProviderId>> NodeIn(absl::string_view field, const std::string& text) {
  if (text.empty()) return std::optional<ProviderId>();
  BERTH_ASSIGN_OR_RETURN(const auto node, ParseId<ProviderId>(field, text));
  return std::optional<ProviderId>(node);
}

// The path of the first field of `message` that is set and is none of `allowed`; nothing if there
// is no such field. A field that this release does not know counts as set.
std::optional<std::string> OtherField(const std::string& path,
                                      const google::protobuf::Message& message,
                                      std::initializer_list<int> allowed) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const google::protobuf::FieldDescriptor* field : fields) {
    if (std::find(allowed.begin(), allowed.end(), field->number()) != allowed.end()) continue;
    return absl::StrCat(path, ".", field->name());
  }
  if (reflection.GetUnknownFields(message).empty()) return std::nullopt;
  return path;
}

// INVALID_FIELD if a withdrawal says more than which records it concerns, and their generations.
absl::Status CheckWithdrawal(const pb::RecordWrite& from) {
  using Write = pb::RecordWrite;
  std::optional<std::string> other = OtherField(
      "record_write", from,
      {Write::kWriteIdFieldNumber, Write::kNodeUuidFieldNumber, Write::kInstanceFieldNumber,
       Write::kMigrationFieldNumber, Write::kWithdrawFieldNumber});
  if (!other) {
    other = OtherField("record_write.instance", from.instance(),
                       {pb::Instance::kUuidFieldNumber, pb::Instance::kGenerationFieldNumber});
  }
  if (!other) {
    other = OtherField("record_write.migration", from.migration(),
                       {pb::Migration::kUuidFieldNumber, pb::Migration::kGenerationFieldNumber});
  }
  if (!other) return absl::OkStatus();
  return InvalidField(*other, "must not be set in a withdrawal");
}

// INVALID_FIELD if a message in the write has more bytes than any record.
absl::Status CheckSizes(const pb::RecordWrite& from) {
  const auto is_larger = [](const google::protobuf::Message& message) {
    return message.ByteSizeLong() > 2 * placement::kRecordBytesMax;
  };
  if (is_larger(from.instance())) {
    return InvalidField("record_write.instance", "is larger than any record");
  }
  if (!is_larger(from.migration())) return absl::OkStatus();
  return InvalidField("record_write.migration", "is larger than any record");
}

absl::StatusOr<placement::MigrationEdit> MigrationEditOf(const pb::RecordWrite& from) {
  const pb::Migration& migration = from.migration();
  placement::MigrationEdit edit;
  BERTH_ASSIGN_OR_RETURN(edit.migration,
                         ParseId<MigrationId>("record_write.migration.uuid", migration.uuid()));
  edit.expected_generation = placement::Generation{migration.generation()};
  if (from.end() != pb::MOVE_END_UNSPECIFIED) {
    edit.end = static_cast<placement::MoveEnd>(from.end());
  }
  edit.status = migration.status();
  edit.destination_host = migration.destination_host();
  BERTH_ASSIGN_OR_RETURN(
      edit.destination_node,
      NodeIn("record_write.migration.destination_node_uuid", migration.destination_node_uuid()));
  return edit;
}

}  // namespace

absl::StatusOr<placement::WriteRecords> WriteRecordsOf(const pb::RecordWrite& from,
                                                       placement::TrackerProcess tracker) {
  BERTH_RETURN_IF_ERROR(CheckSizes(from));
  placement::WriteRecords command;
  command.tracker = std::move(tracker);
  BERTH_ASSIGN_OR_RETURN(command.node,
                         ParseId<ProviderId>("record_write.node_uuid", from.node_uuid()));
  BERTH_ASSIGN_OR_RETURN(command.instance,
                         ParseId<InstanceId>("record_write.instance.uuid", from.instance().uuid()));
  command.expected_generation = placement::Generation{from.instance().generation()};
  if (from.has_migration()) {
    BERTH_ASSIGN_OR_RETURN(command.migration, MigrationEditOf(from));
  } else if (from.end() != pb::MOVE_END_UNSPECIFIED) {
    return InvalidField("record_write.end", "needs a migration");
  }
  if (from.withdraw()) {
    BERTH_RETURN_IF_ERROR(CheckWithdrawal(from));
    return command;
  }
  auto written = std::make_shared<pb::Instance>(from.instance());
  BERTH_RETURN_IF_ERROR(MakeUuidsCanonical("record_write.instance", written.get()));
  BERTH_RETURN_IF_ERROR(CheckNumbers("record_write.instance", *written));
  command.written = std::move(written);
  return command;
}

}  // namespace berth::services
