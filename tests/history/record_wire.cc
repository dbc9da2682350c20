#include "tests/history/record_wire.h"

#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "berth/placement/v1/instance.pb.h"

namespace berth::history {
namespace {

namespace pb = ::berth::placement::v1;

constexpr char kHostPrefix[] = "history-host";
// More than there are records.
constexpr int kPageSize = 1000;

std::string HostName(uint16_t host) { return absl::StrCat(kHostPrefix, host); }

const Part& PartOf(const ClientLog& log, const Operation& operation) {
  return log.parts[operation.first_part];
}
const Row& RowOfPart(const ClientLog& log, const Part& part) { return log.rows[part.first_row]; }

Call SetInstanceCall(const Part& part, const Row& row, const std::string& id) {
  auto request = std::make_unique<pb::SetInstanceRequest>();
  request->set_request_id(id);
  if (part.expected != kNew) request->set_expected_generation(part.expected);
  pb::Instance* const instance = request->mutable_instance();
  instance->set_uuid(ConsumerUuid(part.consumer));
  instance->set_project_id("project");
  instance->set_user_id("user");
  instance->set_host(HostName(row.provider));
  instance->set_vm_state(absl::StrCat(row.amount));
  instance->mutable_flavor()->set_vcpus(row.amount);
  instance->mutable_fault()->set_code(row.amount);
  return {"InstanceService/SetInstance", std::move(request),
          std::make_unique<pb::SetInstanceResponse>()};
}

Call DeleteInstanceCall(const Part& part, const std::string& id) {
  auto request = std::make_unique<pb::DeleteInstanceRequest>();
  request->set_request_id(id);
  request->set_instance_uuid(ConsumerUuid(part.consumer));
  if (part.expected != kAny) request->set_expected_generation(part.expected);
  return {"InstanceService/DeleteInstance", std::move(request),
          std::make_unique<pb::DeleteInstanceResponse>()};
}

Call CreateMigrationCall(const Part& part, const Row& row, const std::string& id) {
  auto request = std::make_unique<pb::CreateMigrationRequest>();
  request->set_request_id(id);
  pb::Migration* const migration = request->mutable_migration();
  migration->set_uuid(ConsumerUuid(part.consumer));
  migration->set_instance_uuid(ConsumerUuid(InstanceOf(part.consumer)));
  migration->set_type(pb::MIGRATION_TYPE_COLD);
  migration->set_source_host(HostName(row.provider));
  migration->set_status(absl::StrCat(row.amount));
  return {"InstanceService/CreateMigration", std::move(request),
          std::make_unique<pb::CreateMigrationResponse>()};
}

Call UpdateMigrationCall(const Part& part, const Row& row, const std::string& id) {
  auto request = std::make_unique<pb::UpdateMigrationRequest>();
  request->set_request_id(id);
  request->set_migration_uuid(ConsumerUuid(part.consumer));
  request->set_expected_status(absl::StrCat(part.expected));
  request->set_status(absl::StrCat(row.amount));
  return {"InstanceService/UpdateMigration", std::move(request),
          std::make_unique<pb::UpdateMigrationResponse>()};
}

template <typename Request, typename Response>
Call ListCall(const std::string& method, const Operation& operation) {
  auto request = std::make_unique<Request>();
  request->set_page_size(kPageSize);
  request->set_host(HostName(operation.provider));
  if (operation.minimum > 0) {
    request->mutable_minimum_revision()->set_epoch(operation.epoch);
    request->mutable_minimum_revision()->set_number(operation.minimum);
  }
  return {method, std::move(request), std::make_unique<Response>()};
}

void TakeRevision(const pb::Revision& revision, Operation* operation) {
  operation->revision = revision.number();
  operation->epoch = static_cast<uint8_t>(revision.epoch());
}

// The record that a write was answered with has the generation of the answer and, since a write
// replaces the record, the state that was asked for.
template <typename Record>
void TakeRecord(const Record& record, ClientLog* log, const Operation& operation) {
  Part& part = log->parts[operation.first_part];
  part.generation = record.generation();
  if (part.rows > 0 && RowOf(record).amount != RowOfPart(*log, part).amount) part.generation = -1;
}

template <typename Records>
void TakeList(const Records& records, ClientLog* log, Operation* operation) {
  operation->first_part = static_cast<uint32_t>(log->parts.size());
  operation->parts = static_cast<uint16_t>(records.size());
  operation->first_row = static_cast<uint32_t>(log->rows.size());
  for (const auto& record : records) {
    const auto uuid = placement::Uuid::Parse(record.uuid());
    const uint64_t number = (uuid ? ConsumerOf(*uuid) : std::nullopt).value_or(0);
    log->parts.push_back(
        {number, kAny, record.generation(), static_cast<uint32_t>(log->rows.size()), 1});
    log->rows.push_back(RowOf(record));
  }
}

}  // namespace

Row StateRow(absl::string_view host, absl::string_view state) {
  Row row = {0, kStateClass, -1};
  int number = 0;
  int amount = 0;
  if (!absl::ConsumePrefix(&host, kHostPrefix) || !absl::SimpleAtoi(host, &number) ||
      !absl::SimpleAtoi(state, &amount)) {
    return row;
  }
  row.provider = static_cast<uint16_t>(number);
  row.amount = amount;
  return row;
}

Row RowOf(const pb::Instance& instance) {
  Row row = StateRow(instance.host(), instance.vm_state());
  if (instance.flavor().vcpus() != row.amount || instance.fault().code() != row.amount) {
    row.amount = -1;
  }
  return row;
}

Row RowOf(const pb::Migration& migration) {
  Row row = StateRow(migration.source_host(), migration.status());
  const auto uuid = placement::Uuid::Parse(migration.uuid());
  const auto number = uuid ? ConsumerOf(*uuid) : std::nullopt;
  if (!number || migration.instance_uuid() != ConsumerUuid(InstanceOf(*number))) row.amount = -1;
  return row;
}

Call RecordCall(const ClientLog& log, const Operation& operation, const std::string& id) {
  if (operation.kind == Kind::kListInstances) {
    return ListCall<pb::ListInstancesRequest, pb::ListInstancesResponse>(
        "InstanceService/ListInstances", operation);
  }
  if (operation.kind == Kind::kListMigrations) {
    return ListCall<pb::ListMigrationsRequest, pb::ListMigrationsResponse>(
        "InstanceService/ListMigrations", operation);
  }
  const Part& part = PartOf(log, operation);
  if (operation.kind == Kind::kDeleteInstance) return DeleteInstanceCall(part, id);
  const Row& row = RowOfPart(log, part);
  if (operation.kind == Kind::kSetInstance) return SetInstanceCall(part, row, id);
  if (operation.kind == Kind::kCreateMigration) return CreateMigrationCall(part, row, id);
  return UpdateMigrationCall(part, row, id);
}

bool TakeRecords(const google::protobuf::Message& response, ClientLog* log, Operation* operation) {
  if (const auto* set = dynamic_cast<const pb::SetInstanceResponse*>(&response)) {
    TakeRevision(set->revision(), operation);
    TakeRecord(set->instance(), log, *operation);
  } else if (const auto* deleted = dynamic_cast<const pb::DeleteInstanceResponse*>(&response)) {
    TakeRevision(deleted->revision(), operation);
  } else if (const auto* made = dynamic_cast<const pb::CreateMigrationResponse*>(&response)) {
    TakeRevision(made->revision(), operation);
    TakeRecord(made->migration(), log, *operation);
  } else if (const auto* updated = dynamic_cast<const pb::UpdateMigrationResponse*>(&response)) {
    TakeRevision(updated->revision(), operation);
    TakeRecord(updated->migration(), log, *operation);
  } else if (const auto* instances = dynamic_cast<const pb::ListInstancesResponse*>(&response)) {
    TakeRevision(instances->revision(), operation);
    TakeList(instances->instances(), log, operation);
  } else if (const auto* migrations = dynamic_cast<const pb::ListMigrationsResponse*>(&response)) {
    TakeRevision(migrations->revision(), operation);
    TakeList(migrations->migrations(), log, operation);
  } else {
    return false;
  }
  return true;
}

}  // namespace berth::history
