#include "tests/history/record_wire.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "berth/placement/v1/instance.pb.h"

namespace berth::history {
namespace {

namespace pb = ::berth::placement::v1;
using google::protobuf::Message;

constexpr char kHostPrefix[] = "history-host";
// More than there are records.
constexpr int kPageSize = 1000;

std::string HostName(uint16_t host) { return absl::StrCat(kHostPrefix, host); }
// The number of the host with this name; none: it is not of a history.
std::optional<uint16_t> NumberOf(absl::string_view host) {
  int number = 0;
  if (!absl::ConsumePrefix(&host, kHostPrefix) || !absl::SimpleAtoi(host, &number)) {
    return std::nullopt;
  }
  return static_cast<uint16_t>(number);
}

// The first row of a record on `host` in `state`. The amount is -1 if one of them is not of a
// history.
Row StateRow(absl::string_view host, absl::string_view state) {
  const auto number = NumberOf(host);
  int amount = 0;
  if (!number || !absl::SimpleAtoi(state, &amount)) return {0, kStateClass, -1};
  return {*number, kStateClass, amount};
}

const Part& PartOf(const ClientLog& log, const Operation& operation) {
  return log.parts[operation.first_part];
}
const Row& RowOfPart(const ClientLog& log, const Part& part) { return log.rows[part.first_row]; }
// The name of the host that a migration goes to; empty: `part` has none.
std::string DestinationOf(const ClientLog& log, const Part& part) {
  return part.rows < 2 ? "" : HostName(log.rows[part.first_row + 1].provider);
}

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

Call CreateMigrationCall(const ClientLog& log, const Part& part, const std::string& id) {
  const Row& row = RowOfPart(log, part);
  auto request = std::make_unique<pb::CreateMigrationRequest>();
  request->set_request_id(id);
  pb::Migration* const migration = request->mutable_migration();
  migration->set_uuid(ConsumerUuid(part.consumer));
  migration->set_instance_uuid(ConsumerUuid(InstanceOf(part.consumer)));
  migration->set_type(pb::MIGRATION_TYPE_COLD);
  migration->set_source_host(HostName(row.provider));
  migration->set_status(absl::StrCat(row.amount));
  migration->set_destination_host(DestinationOf(log, part));
  return {"InstanceService/CreateMigration", std::move(request),
          std::make_unique<pb::CreateMigrationResponse>()};
}

Call UpdateMigrationCall(const ClientLog& log, const Part& part, const std::string& id) {
  auto request = std::make_unique<pb::UpdateMigrationRequest>();
  request->set_request_id(id);
  request->set_migration_uuid(ConsumerUuid(part.consumer));
  request->set_expected_status(absl::StrCat(part.expected));
  request->set_status(absl::StrCat(RowOfPart(log, part).amount));
  if (part.rows == 2) request->set_destination_host(DestinationOf(log, part));
  return {"InstanceService/UpdateMigration", std::move(request),
          std::make_unique<pb::UpdateMigrationResponse>()};
}

template <typename Request, typename Response>
Call ListCall(const std::string& method, const Operation& operation) {
  auto request = std::make_unique<Request>();
  request->set_page_size(operation.limit == 0 ? kPageSize : operation.limit);
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

// Takes the generation of the record that the answer to a write holds; -1 if the record does not have
// the state, or the destination, that was asked for. A part without rows is not compared.
template <typename Record>
void TakeRecord(const Record& record, ClientLog* log, const Operation& operation) {
  Part& part = log->parts[operation.first_part];
  part.generation = record.generation();
  if (part.rows == 0) return;
  const std::vector<Row> rows = RowsOf(record);
  const bool same_state = rows[0].amount == RowOfPart(*log, part).amount;
  const bool same_destination =
      part.rows < 2 || (rows.size() == 2 && rows[1] == log->rows[part.first_row + 1]);
  if (!same_state || !same_destination) part.generation = -1;
}

template <typename Records>
void TakeList(const Records& records, ClientLog* log, Operation* operation) {
  operation->first_part = static_cast<uint32_t>(log->parts.size());
  operation->parts = static_cast<uint16_t>(records.size());
  operation->first_row = static_cast<uint32_t>(log->rows.size());
  for (const auto& record : records) {
    const auto uuid = placement::Uuid::Parse(record.uuid());
    const uint64_t number = (uuid ? ConsumerOf(*uuid) : std::nullopt).value_or(0);
    const std::vector<Row> rows = RowsOf(record);
    log->parts.push_back({number, kAny, record.generation(),
                          static_cast<uint32_t>(log->rows.size()),
                          static_cast<uint32_t>(rows.size())});
    log->rows.insert(log->rows.end(), rows.begin(), rows.end());
  }
}

}  // namespace

std::vector<Row> InstanceRows(absl::string_view host, absl::string_view state, int64_t vcpus,
                              int64_t fault) {
  Row row = StateRow(host, state);
  if (vcpus != row.amount || fault != row.amount) row.amount = -1;
  return {row};
}

std::vector<Row> MigrationRows(absl::string_view source, absl::string_view status,
                               absl::string_view destination) {
  std::vector<Row> rows = {StateRow(source, status)};
  if (destination.empty()) return rows;
  const auto host = NumberOf(destination);
  if (!host) rows[0].amount = -1;
  rows.push_back({host.value_or(0), kDestinationClass, 0});
  return rows;
}

std::vector<Row> RowsOf(const pb::Instance& instance) {
  return InstanceRows(instance.host(), instance.vm_state(), instance.flavor().vcpus(),
                      instance.fault().code());
}

std::vector<Row> RowsOf(const pb::Migration& migration) {
  std::vector<Row> rows =
      MigrationRows(migration.source_host(), migration.status(), migration.destination_host());
  const auto uuid = placement::Uuid::Parse(migration.uuid());
  const auto number = uuid ? ConsumerOf(*uuid) : std::nullopt;
  if (!number || migration.instance_uuid() != ConsumerUuid(InstanceOf(*number))) {
    rows[0].amount = -1;
  }
  return rows;
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
  if (operation.kind == Kind::kSetInstance) return SetInstanceCall(part, RowOfPart(log, part), id);
  if (operation.kind == Kind::kCreateMigration) return CreateMigrationCall(log, part, id);
  return UpdateMigrationCall(log, part, id);
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

std::string PageTokenOf(const Message& response) {
  const auto* const field = response.GetDescriptor()->FindFieldByName("next_page_token");
  return field == nullptr ? "" : response.GetReflection()->GetString(response, field);
}

void SetPageToken(const std::string& token, Message* request) {
  const auto* const field = request->GetDescriptor()->FindFieldByName("page_token");
  request->GetReflection()->SetString(request, field, token);
}

}  // namespace berth::history
