#include "tests/history/record_wire.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "berth/placement/v1/instance.pb.h"
#include "tests/history/checker/move.h"

namespace berth::history {
namespace {

namespace pb = ::berth::placement::v1;
using google::protobuf::Message;

constexpr char kHostPrefix[] = "history-host";
// By the number of an End.
constexpr const char* kEndWords[kEnds + 1] = {"",     "confirmed", "reverted", "completed",
                                              "done", "failed",    "cancelled"};
// More than there are records.
constexpr int kPageSize = 1000;

// The number of the host with this name; none: it is not of a history.
std::optional<uint16_t> NumberOf(absl::string_view host) {
  int number = 0;
  if (!absl::ConsumePrefix(&host, kHostPrefix) || !absl::SimpleAtoi(host, &number)) {
    return std::nullopt;
  }
  return static_cast<uint16_t>(number);
}

std::string StatusText(int32_t status) {
  const std::optional<End> end = EndIn(status);
  return end ? kEndWords[static_cast<int>(*end)] : absl::StrCat(status);
}

// The first row of a record on `host`, whose node is `node`, in `state`. The amount is -1 if one of
// them is not of a history, or if the node is not that of the host.
Row StateRow(absl::string_view host, absl::string_view node, absl::string_view state) {
  const auto number = NumberOf(host);
  const auto amount = StatusOf(state);
  if (!number || !amount || node != ProviderUuid(*number)) return {0, kStateClass, -1};
  return {*number, kStateClass, *amount};
}

uint64_t NumberOfRecord(const std::string& text) {
  const auto uuid = placement::Uuid::Parse(text);
  return (uuid ? RecordOf(*uuid) : std::nullopt).value_or(0);
}

const Part& PartOf(const ClientLog& log, const Operation& operation) {
  return log.parts[operation.first_part];
}
const Row& RowOfPart(const ClientLog& log, const Part& part) { return log.rows[part.first_row]; }
// Sets the host that a migration goes to, if `part` has one.
template <typename Message>
void FillDestination(const ClientLog& log, const Part& part, Message* to) {
  if (part.rows < 2) return;
  const uint16_t host = log.rows[part.first_row + 1].provider;
  to->set_destination_host(HostName(host));
  to->set_destination_node_uuid(ProviderUuid(host));
}

void FillInstance(const Part& part, const Row& row, pb::Instance* instance) {
  instance->set_uuid(ConsumerUuid(part.consumer));
  instance->set_project_id("project");
  instance->set_user_id("user");
  instance->set_host(HostName(row.provider));
  instance->set_node_uuid(ProviderUuid(row.provider));
  instance->set_vm_state(absl::StrCat(row.amount));
  instance->mutable_flavor()->set_vcpus(row.amount);
  instance->mutable_fault()->set_code(row.amount);
}

Call SetInstanceCall(const Part& part, const Row& row, const std::string& id) {
  auto request = std::make_unique<pb::SetInstanceRequest>();
  request->set_request_id(id);
  if (part.expected != kNew) request->set_expected_generation(part.expected);
  FillInstance(part, row, request->mutable_instance());
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
  migration->set_type(static_cast<pb::MigrationType>(TypeOf(part.consumer)));
  migration->set_source_host(HostName(row.provider));
  migration->set_source_node_uuid(ProviderUuid(row.provider));
  migration->set_status(StatusText(row.amount));
  FillDestination(log, part, migration);
  return {"InstanceService/CreateMigration", std::move(request),
          std::make_unique<pb::CreateMigrationResponse>()};
}

Call UpdateMigrationCall(const ClientLog& log, const Part& part, const std::string& id) {
  auto request = std::make_unique<pb::UpdateMigrationRequest>();
  request->set_request_id(id);
  request->set_migration_uuid(ConsumerUuid(part.consumer));
  request->set_expected_status(StatusText(static_cast<int32_t>(part.expected)));
  request->set_status(StatusText(RowOfPart(log, part).amount));
  FillDestination(log, part, request.get());
  return {"InstanceService/UpdateMigration", std::move(request),
          std::make_unique<pb::UpdateMigrationResponse>()};
}

Call EndMoveCall(const ClientLog& log, const Operation& operation, const std::string& id) {
  const auto first = log.parts.begin() + operation.first_part;
  const std::vector<Part> parts(first, first + operation.parts);
  auto request = std::make_unique<pb::EndMoveRequest>();
  request->set_request_id(id);
  request->set_migration_uuid(ConsumerUuid(parts[0].consumer));
  request->set_end(static_cast<pb::MoveEnd>(*EndIn(RowOfPart(log, parts[0]).amount)));
  request->set_expected_generation(parts[0].expected);
  request->set_expected_instance_generation(parts[1].expected);
  if (parts[1].rows > 0) {
    FillInstance(parts[1], RowOfPart(log, parts[1]), request->mutable_instance());
  }
  if (parts[2].expected != kAny) {
    request->set_expected_instance_consumer_generation(parts[2].expected);
  }
  if (parts[3].expected != kAny) {
    request->set_expected_migration_consumer_generation(parts[3].expected);
  }
  return {"InstanceService/EndMove", std::move(request), std::make_unique<pb::EndMoveResponse>()};
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

// Takes the generation of the record that the answer to a write holds for part `p`; -1 if the record
// does not have the state, or the destination, that was asked for. A part without rows is not
// compared.
template <typename Record>
void TakeRecord(const Record& record, ClientLog* log, const Operation& operation, uint32_t p = 0) {
  Part& part = log->parts[operation.first_part + p];
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
    const std::vector<Row> rows = RowsOf(record);
    log->parts.push_back({NumberOfRecord(record.uuid()), kAny, record.generation(),
                          static_cast<uint32_t>(log->rows.size()),
                          static_cast<uint32_t>(rows.size())});
    log->rows.insert(log->rows.end(), rows.begin(), rows.end());
  }
}

}  // namespace

std::string HostName(uint16_t host) { return absl::StrCat(kHostPrefix, host); }

std::optional<int32_t> StatusOf(absl::string_view words) {
  for (int end = 1; end <= kEnds; ++end) {
    if (words == kEndWords[end]) return StatusAfter(static_cast<End>(end));
  }
  int32_t number = 0;
  return absl::SimpleAtoi(words, &number) ? std::optional<int32_t>(number) : std::nullopt;
}

std::vector<Row> RowsOf(const InstanceFields& fields) {
  Row row = StateRow(fields.host, fields.node, fields.state);
  if (fields.vcpus != row.amount || fields.fault != row.amount) row.amount = -1;
  return {row};
}

std::vector<Row> RowsOf(const MigrationFields& fields) {
  std::vector<Row> rows = {StateRow(fields.source, fields.source_node, fields.status)};
  const bool is_own = IsMigration(fields.number) && InstanceOf(fields.number) == fields.instance &&
                      static_cast<MoveType>(fields.type) == TypeOf(fields.number);
  if (!is_own) rows[0].amount = -1;
  if (fields.destination.empty() && fields.destination_node.empty()) return rows;
  const auto host = NumberOf(fields.destination);
  if (!host || fields.destination_node != ProviderUuid(*host)) rows[0].amount = -1;
  rows.push_back({host.value_or(0), kDestinationClass, 0});
  return rows;
}

std::vector<Row> RowsOf(const pb::Instance& instance) {
  return RowsOf(InstanceFields{instance.host(), instance.node_uuid(), instance.vm_state(),
                               instance.flavor().vcpus(), instance.fault().code()});
}

std::vector<Row> RowsOf(const pb::Migration& migration) {
  return RowsOf(MigrationFields{
      NumberOfRecord(migration.uuid()), NumberOfRecord(migration.instance_uuid()), migration.type(),
      migration.status(), migration.source_host(), migration.source_node_uuid(),
      migration.destination_host(), migration.destination_node_uuid()});
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
  if (operation.kind == Kind::kEndMove) return EndMoveCall(log, operation, id);
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
  } else if (const auto* ended = dynamic_cast<const pb::EndMoveResponse*>(&response)) {
    TakeRevision(ended->revision(), operation);
    TakeRecord(ended->migration(), log, *operation);
    if (ended->has_instance()) TakeRecord(ended->instance(), log, *operation, 1);
    log->parts[operation->first_part + 2].generation = ended->instance_consumer_generation();
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
